"""How good a position is by itself: what stands where, weighed by who holds which card.

The value is a sum over the pieces. What a piece is worth on its square depends on the phase (how
many students are left) and on each of the five cards: in the mover's hand, in the opponent's, or
at the side. That one table holds what a player would call mobility by card, a hand against the
other hand and the side card, the race to the temple and the safety of the master. `tuning` makes
it from games of the engine against itself.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from games.engine.bitboard import ARRANGEMENTS, HANDS, SQUARES
from games.onitama.cards import CARDS

WEIGHTS = Path(__file__).parent / "weights.npz"
NAMES = tuple(CARDS)
# Own student, own master, the other's student, the other's master.
PIECES = 4
# A card in the mover's hand, in the opponent's, at the side.
OWN_HAND, OTHER_HAND, SIDE = range(3)
ROLES = 3
# Weights for a board without students and for a full one; between them by their number.
PHASES = 2
MOST_STUDENTS = 8
# Which role the five places of bitboard.HANDS play.
ROLE = (OWN_HAND, OWN_HAND, OTHER_HAND, OTHER_HAND, SIDE)


class Weights(NamedTuple):
    """In hundredths of a student, seen by the mover.

    `common[phase, piece, square]`, `by_card[phase, role, card, piece, square]`,
    `balance[phase, role, card]`, `tempo[phase]`.
    """

    common: npt.NDArray[np.float32]
    by_card: npt.NDArray[np.float32]
    balance: npt.NDArray[np.float32]
    tempo: npt.NDArray[np.float32]

    @classmethod
    def plain(cls) -> Weights:
        """Students, forward and to the middle; the master too: where tuning begins."""
        file, rank = np.arange(SQUARES) % 5, np.arange(SQUARES) // 5
        middle = 2 - abs(file - 2)
        student = 100 + 2 * middle * (rank > 0) + 2 * np.minimum(rank, 2)
        master = 2 * middle + 3 * rank
        common = np.stack([student, master, -student[::-1], -master[::-1]])
        return cls(
            np.stack([common, common]).astype(np.float32),
            np.zeros((PHASES, ROLES, len(NAMES), PIECES, SQUARES), np.float32),
            np.zeros((PHASES, ROLES, len(NAMES)), np.float32),
            np.zeros(PHASES, np.float32),
        )

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> Weights:
        with np.load(path) as kept:
            loaded = cls(*(kept[name].astype(np.float32) for name in cls._fields))
        for name, part, model in zip(cls._fields, loaded, cls.plain(), strict=True):
            if part.shape != model.shape or not np.isfinite(part).all():
                raise ValueError(f"{name} is not {model.shape} finite numbers")
        return loaded

    def save(self, path: Path) -> None:
        np.savez_compressed(
            path, **{name: part.astype(np.float16) for name, part in self._asdict().items()}
        )


class Tables(NamedTuple):
    """One deal's weights added up: what search.evaluate reads.

    `squares[students, arrangement, piece, square]` and `balance[students, arrangement]`, with the
    number of students on the board, 0 to 8.
    """

    squares: npt.NDArray[np.int16]
    balance: npt.NDArray[np.int16]


def tables(names: tuple[str, ...], weights: Weights) -> Tables:
    """For five cards in alphabetical order."""
    number = [NAMES.index(name) for name in names]
    squares = np.repeat(weights.common[:, None], ARRANGEMENTS, axis=1)
    balance = np.repeat(weights.tempo[:, None], ARRANGEMENTS, axis=1)
    for arrangement, hands in enumerate(HANDS):
        for role, card in zip(ROLE, hands, strict=True):
            squares[:, arrangement] += weights.by_card[:, role, number[card]]
            balance[:, arrangement] += weights.balance[:, role, number[card]]
    full = np.arange(MOST_STUDENTS + 1) / MOST_STUDENTS
    return Tables(_between(squares, full), _between(balance, full))


def _between(ends: npt.NDArray[np.float32], full: npt.NDArray[np.float64]) -> npt.NDArray[np.int16]:
    share = full.reshape(-1, *([1] * (ends.ndim - 1)))
    return np.ascontiguousarray(np.rint(ends[0] * (1 - share) + ends[1] * share).astype(np.int16))


@lru_cache(maxsize=1)
def tuned() -> Weights:
    return Weights.load()


@lru_cache(maxsize=64)
def tuned_tables(names: tuple[str, ...]) -> Tables:
    return tables(names, tuned())
