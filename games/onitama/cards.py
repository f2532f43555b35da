"""The move cards: one table of 34, the decks made from it, and the deal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from types import MappingProxyType


class Colour(StrEnum):
    BLUE = "b"
    RED = "r"

    @property
    def other(self) -> Colour:
        return Colour.RED if self is Colour.BLUE else Colour.BLUE

    @property
    def word(self) -> str:
        return self.name.lower()

    @classmethod
    def from_word(cls, word: str) -> Colour:
        for colour in cls:
            if colour.word == word:
                return colour
        raise ValueError(f"{word!r} is not a colour")


Step = tuple[int, int]
Deal = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Card:
    """Each move is (files to the right, ranks forward), seen from the mover's side."""

    name: str
    moves: tuple[Step, ...]
    stamp: Colour
    set: str

    def moves_for(self, colour: Colour) -> tuple[Step, ...]:
        """The moves as (files, ranks) on the board, which is named from Blue's side."""
        if colour is Colour.BLUE:
            return self.moves
        return tuple((-files, -ranks) for files, ranks in self.moves)


BLUE, RED = Colour.BLUE, Colour.RED

# fmt: off
_TABLE = (
    ("tiger", "base", BLUE, ((0, 2), (0, -1))),
    ("dragon", "base", RED, ((-2, 1), (2, 1), (-1, -1), (1, -1))),
    ("frog", "base", RED, ((-1, 1), (-2, 0), (1, -1))),
    ("rabbit", "base", BLUE, ((1, 1), (2, 0), (-1, -1))),
    ("crab", "base", BLUE, ((0, 1), (-2, 0), (2, 0))),
    ("elephant", "base", RED, ((-1, 1), (1, 1), (-1, 0), (1, 0))),
    ("goose", "base", BLUE, ((-1, 1), (-1, 0), (1, 0), (1, -1))),
    ("rooster", "base", RED, ((1, 1), (-1, 0), (1, 0), (-1, -1))),
    ("monkey", "base", BLUE, ((-1, 1), (1, 1), (-1, -1), (1, -1))),
    ("mantis", "base", RED, ((-1, 1), (1, 1), (0, -1))),
    ("horse", "base", RED, ((0, 1), (-1, 0), (0, -1))),
    ("ox", "base", BLUE, ((0, 1), (1, 0), (0, -1))),
    ("crane", "base", BLUE, ((0, 1), (-1, -1), (1, -1))),
    ("boar", "base", RED, ((0, 1), (-1, 0), (1, 0))),
    ("eel", "base", BLUE, ((-1, 1), (1, 0), (-1, -1))),
    ("cobra", "base", RED, ((1, 1), (-1, 0), (1, -1))),
    ("fox", "senseis_path", RED, ((1, 1), (1, 0), (1, -1))),
    ("dog", "senseis_path", BLUE, ((-1, 1), (-1, 0), (-1, -1))),
    ("giraffe", "senseis_path", BLUE, ((-2, 1), (2, 1), (0, -1))),
    ("panda", "senseis_path", RED, ((0, 1), (1, 1), (-1, -1))),
    ("bear", "senseis_path", BLUE, ((-1, 1), (0, 1), (1, -1))),
    ("kirin", "senseis_path", RED, ((-1, 2), (1, 2), (0, -2))),
    ("sea_snake", "senseis_path", BLUE, ((0, 1), (2, 0), (-1, -1))),
    ("viper", "senseis_path", RED, ((0, 1), (-2, 0), (1, -1))),
    ("phoenix", "senseis_path", BLUE, ((-1, 1), (1, 1), (-2, 0), (2, 0))),
    ("mouse", "senseis_path", BLUE, ((0, 1), (1, 0), (-1, -1))),
    ("rat", "senseis_path", RED, ((0, 1), (-1, 0), (1, -1))),
    ("turtle", "senseis_path", RED, ((-2, 0), (2, 0), (-1, -1), (1, -1))),
    ("tanuki", "senseis_path", BLUE, ((0, 1), (2, 1), (-1, -1))),
    ("iguana", "senseis_path", RED, ((-2, 1), (0, 1), (1, -1))),
    ("sable", "senseis_path", BLUE, ((1, 1), (-2, 0), (-1, -1))),
    ("otter", "senseis_path", RED, ((-1, 1), (2, 0), (1, -1))),
    ("goat", "promo", RED, ((1, 1), (-1, 0), (0, -1))),
    ("sheep", "promo", BLUE, ((-1, 1), (1, 0), (0, -1))),
)
# fmt: on

CARDS: Mapping[str, Card] = MappingProxyType(
    {name: Card(name, moves, stamp, set_) for name, set_, stamp, moves in _TABLE}
)

DECKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "base": tuple(name for name, card in CARDS.items() if card.set == "base"),
        "all34": tuple(CARDS),
    }
)


def deal(deck: str, rng: Random) -> Deal:
    """Two cards for Blue, two for Red, then the side card."""
    blue_1, blue_2, red_1, red_2, side = rng.sample(DECKS[deck], 5)
    return blue_1, blue_2, red_1, red_2, side
