"""How good a position is by itself: what stands where, weighed by who holds which card.

The value is a sum over the pieces, and one over a few units. What a piece is worth on its square
depends on the phase (how many students are left) and on each of the five cards: in the mover's
hand, in the opponent's, or at the side. A unit is such a sum as well, cut off below 0 and above 1:
it can tell what pieces are worth together. Only what a whole one is worth depends on the phase.
Both hold what a player would call mobility by card, a hand against the other hand and the side
card, the race to the temple and the safety of the master. `tuning` makes them from games of the
engine against itself.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from games.engine.bitboard import ARRANGEMENTS, HANDS, SQUARES, Array, count, lowest
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
# The second half of the units are the first half with the board mirrored: the value is the same for
# a position and its mirror image.
UNITS = 16
# Of a unit that is 1; four of them are added up in one word, each from HALF on, so that none of
# them is ever below 0.
WHOLE, HALF, LANE_MASK = 256, 1 << 14, (1 << 16) - 1
WORDS = UNITS // 4
# A piece's share of a unit, and what a unit begins with, are cut off here: ten shares and the
# beginning then stay within a quarter word.
MOST_SHARE = 1_400
# A proven win is worth more than any position may be; and what is kept in 16 bits must not wrap.
MOST_WORTH = 19_000
# Which role the five places of bitboard.HANDS play.
ROLE = (OWN_HAND, OWN_HAND, OTHER_HAND, OTHER_HAND, SIDE)


class Weights(NamedTuple):
    """Seen by the mover, in hundredths of a student, but for what a unit adds up.

    `common[phase, piece, square]`, `by_card[phase, role, card, piece, square]`,
    `balance[phase, role, card]`, `tempo[phase]`; and `worth[phase, unit]`, of a unit that is 1.

    What a unit adds up, in wholes: `unit_common[piece, square, unit]`,
    `unit_by_card[role, card, piece, square, unit]`, `unit_balance[role, card, unit]`,
    `unit_tempo[unit]`.
    """

    common: npt.NDArray[np.float32]
    by_card: npt.NDArray[np.float32]
    balance: npt.NDArray[np.float32]
    tempo: npt.NDArray[np.float32]
    worth: npt.NDArray[np.float32]
    unit_common: npt.NDArray[np.float32]
    unit_by_card: npt.NDArray[np.float32]
    unit_balance: npt.NDArray[np.float32]
    unit_tempo: npt.NDArray[np.float32]

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
            np.zeros((PHASES, UNITS), np.float32),
            np.zeros((PIECES, SQUARES, UNITS), np.float32),
            np.zeros((ROLES, len(NAMES), PIECES, SQUARES, UNITS), np.float32),
            np.zeros((ROLES, len(NAMES), UNITS), np.float32),
            np.zeros(UNITS, np.float32),
        )

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> Weights:
        """Raises OSError, ValueError, and for damaged files whatever NumPy raises."""
        with np.load(path) as file:
            kept = {name: file[name] for name in cls._fields}
        for (name, part), model in zip(kept.items(), cls.plain(), strict=True):
            if part.shape != model.shape or part.dtype != np.float16 or not np.isfinite(part).all():
                raise ValueError(f"{name} is not {model.shape} finite numbers of 16 bits")
        loaded = cls(**{name: part.astype(np.float32) for name, part in kept.items()})
        if loaded._most() > MOST_WORTH:
            raise ValueError(f"a position could be worth more than {MOST_WORTH}")
        return loaded

    def _most(self) -> float:
        """What no position's worth exceeds: ten pieces, each with five cards; and the rest."""
        common, by_card, balance, tempo = (float(abs(part).max()) for part in self[:4])
        pieces = 10 * (common + 5 * by_card)
        return pieces + 5 * balance + tempo + float(abs(self.worth).max(axis=0).sum())

    def save(self, path: Path) -> None:
        np.savez_compressed(
            path, **{name: part.astype(np.float16) for name, part in self._asdict().items()}
        )


class Tables(NamedTuple):
    """One deal's weights added up: what `evaluate` reads.

    `squares[students, arrangement, piece, square]`, `balance[students, arrangement]` and
    `worth[students, unit]`, with the number of students on the board, 0 to 8;
    `units[arrangement, piece, square, word]` and `biases[arrangement, word]`, four units a word.
    """

    squares: npt.NDArray[np.int16]
    balance: npt.NDArray[np.int16]
    units: npt.NDArray[np.int64]
    biases: npt.NDArray[np.int64]
    worth: npt.NDArray[np.int16]


def tables(names: tuple[str, ...], weights: Weights) -> Tables:
    """For five cards in alphabetical order."""
    number = [NAMES.index(name) for name in names]
    squares = np.repeat(weights.common[:, None], ARRANGEMENTS, axis=1)
    balance = np.repeat(weights.tempo[:, None], ARRANGEMENTS, axis=1)
    units = np.repeat(weights.unit_common[None], ARRANGEMENTS, axis=0)
    biases = np.repeat(weights.unit_tempo[None], ARRANGEMENTS, axis=0)
    for arrangement, hands in enumerate(HANDS):
        for role, card in zip(ROLE, hands, strict=True):
            squares[:, arrangement] += weights.by_card[:, role, number[card]]
            balance[:, arrangement] += weights.balance[:, role, number[card]]
            units[arrangement] += weights.unit_by_card[role, number[card]]
            biases[arrangement] += weights.unit_balance[role, number[card]]
    return Tables(
        _by_students(squares),
        _by_students(balance),
        _packed(units, 0),
        _packed(biases, HALF),
        _by_students(weights.worth),
    )


def _by_students(ends: npt.NDArray[np.float32]) -> npt.NDArray[np.int16]:
    full = np.arange(MOST_STUDENTS + 1).reshape(-1, *([1] * (ends.ndim - 1))) / MOST_STUDENTS
    return np.ascontiguousarray(np.rint(ends[0] * (1 - full) + ends[1] * full).astype(np.int16))


def _packed(shares: npt.NDArray[np.float32], begin: int) -> npt.NDArray[np.int64]:
    """Four units a word, the first in the lowest quarter; negative ones borrow from the next, and
    give it back when all are added up."""
    parts = np.clip(np.rint(shares * WHOLE), -MOST_SHARE, MOST_SHARE).astype(np.int64) + begin
    quarters = parts.reshape(*parts.shape[:-1], WORDS, 4) << np.arange(0, 64, 16)
    return np.ascontiguousarray(quarters.sum(axis=-1))


@njit("int64(int64, int16[::1], int64)", cache=True, boundscheck=False)
def _weighed(word: int, worth: Array, first: int) -> int:
    total = min(max((word & LANE_MASK) - HALF, 0), WHOLE) * worth[first]
    total += min(max((word >> 16 & LANE_MASK) - HALF, 0), WHOLE) * worth[first + 1]
    total += min(max((word >> 32 & LANE_MASK) - HALF, 0), WHOLE) * worth[first + 2]
    total += min(max((word >> 48 & LANE_MASK) - HALF, 0), WHOLE) * worth[first + 3]
    return total


@njit(
    "int64(int64, int64, int64, int64, int64, int16[:, :, :, ::1], int16[:, ::1], "
    "int64[:, :, :, ::1], int64[:, ::1], int16[:, ::1])",
    cache=True,
    boundscheck=False,
)
def evaluate(
    own: int,
    other: int,
    master: int,
    prey: int,
    arrangement: int,
    squares: Array,
    balance: Array,
    units: Array,
    biases: Array,
    worth: Array,
) -> int:
    """How the mover stands, in hundredths of a student."""
    students = count(own) + count(other) - 2
    table = squares[students, arrangement]
    shares = units[arrangement]
    total = balance[students, arrangement] + table[1, master] + table[3, prey]
    # Written out, so that the words stay in registers.
    word0 = biases[arrangement, 0] + shares[1, master, 0] + shares[3, prey, 0]
    word1 = biases[arrangement, 1] + shares[1, master, 1] + shares[3, prey, 1]
    word2 = biases[arrangement, 2] + shares[1, master, 2] + shares[3, prey, 2]
    word3 = biases[arrangement, 3] + shares[1, master, 3] + shares[3, prey, 3]
    left = own & ~(1 << master)
    while left:
        at = lowest(left)
        left &= left - 1
        total += table[0, at]
        word0 += shares[0, at, 0]
        word1 += shares[0, at, 1]
        word2 += shares[0, at, 2]
        word3 += shares[0, at, 3]
    left = other & ~(1 << prey)
    while left:
        at = lowest(left)
        left &= left - 1
        total += table[2, at]
        word0 += shares[2, at, 0]
        word1 += shares[2, at, 1]
        word2 += shares[2, at, 2]
        word3 += shares[2, at, 3]
    row = worth[students]
    summed = _weighed(word0, row, 0) + _weighed(word1, row, 4)
    summed += _weighed(word2, row, 8) + _weighed(word3, row, 12)
    return total + summed // WHOLE


@lru_cache(maxsize=1)
def tuned() -> Weights:
    return Weights.load()


@lru_cache(maxsize=64)
def tuned_tables(names: tuple[str, ...]) -> Tables:
    return tables(names, tuned())
