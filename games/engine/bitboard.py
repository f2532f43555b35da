"""A position as machine words, always seen by the side to move, and the move tables of a deal.

The mover sits at the bottom: square 0 is a1 for Blue and e5 for Red, the own temple is square 2,
the enemy's 22. A ply turns the board round. Cards are numbered 0 to 4 in the order of their names,
and an arrangement, 0 to 29, says which of them the mover, the opponent and the side hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit
from numba.extending import intrinsic

from games.onitama.cards import BLUE, CARDS, Step
from games.onitama.position import SIZE, Action, Move, Pass, Position

SQUARES = SIZE * SIZE
TEMPLE, GOAL = 2, 22
ALL = (1 << SQUARES) - 1
ARRANGEMENTS = 30
# A move is origin, target and card in 5 + 5 + 3 bits; a pass says so in place of the squares.
PASS = (1 << 10) - 1

Array = npt.NDArray[Any]


def _arrangements() -> list[tuple[int, int, int, int, int]]:
    """Own hand, the other hand, side card: by side card, then the mover's hand in order."""
    found = []
    for side in range(5):
        others = [card for card in range(5) if card != side]
        for hand in combinations(others, 2):
            first, second = (card for card in others if card not in hand)
            found.append((*hand, first, second, side))
    return found


_ARRANGED = _arrangements()
_INDEX = {arranged: index for index, arranged in enumerate(_ARRANGED)}
# HANDS[arrangement] = own card, own card, other's, other's, side card.
HANDS = np.array(_ARRANGED, dtype=np.int64)
# NEXT[arrangement, card] = the opponent's arrangement once the mover has played that card.
NEXT = np.full((ARRANGEMENTS, 5), -1, dtype=np.int64)
for _index, (_own1, _own2, _other1, _other2, _side) in enumerate(_ARRANGED):
    for _played, _kept in ((_own1, _own2), (_own2, _own1)):
        _low, _high = sorted((_kept, _side))
        NEXT[_index, _played] = _INDEX[_other1, _other2, _low, _high, _played]


@intrinsic
def lowest(typing_context: Any, bits: Any) -> Any:
    """The number of the lowest bit that is set; undefined for 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return bits(bits), generate


@intrinsic
def count(typing_context: Any, bits: Any) -> Any:
    """How many bits are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return bits(bits), generate


@intrinsic
def _reversed_bits(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitreverse(arguments[0])

    return bits(bits), generate


@njit("int64(int64)", cache=True, inline="always")
def turned(squares: int) -> int:
    """The same squares with the board turned round."""
    return (_reversed_bits(squares) >> 39) & ALL


class Deal(NamedTuple):
    """The move tables of five cards; squares are bits, seen by the mover.

    `reach[card, square]`: where the mover's piece goes. `back[card, square]`: from where the
    mover gets to that square; where the opponent's piece goes from it, too.
    """

    names: tuple[str, ...]
    reach: Array
    back: Array


def move_tables(names: tuple[str, ...], unseen: Mapping[str, frozenset[Step]]) -> Deal:
    """For five card names in alphabetical order; `unseen` steps of a card are left out."""
    reach = np.zeros((5, SQUARES), dtype=np.int64)
    back = np.zeros((5, SQUARES), dtype=np.int64)
    for number, name in enumerate(names):
        for files, ranks in CARDS[name].moves:
            if (files, ranks) in unseen.get(name, ()):
                continue
            for origin in range(SQUARES):
                file, rank = origin % SIZE + files, origin // SIZE + ranks
                if 0 <= file < SIZE and 0 <= rank < SIZE:
                    target = file + SIZE * rank
                    reach[number, origin] |= 1 << target
                    back[number, target] |= 1 << origin
    return Deal(names, reach, back)


@lru_cache(maxsize=64)
def deal(names: tuple[str, ...]) -> Deal:
    """For five card names in alphabetical order."""
    return move_tables(names, {})


@dataclass(frozen=True, slots=True)
class Words:
    """A running position: the squares of both sides as bits, their masters' squares, the cards."""

    own: int
    other: int
    master: int
    prey: int
    arrangement: int


def deal_of(position: Position) -> Deal:
    return deal(tuple(sorted(position.cards)))


def encode(position: Position) -> Words:
    """The words of a position that is not over. Raises ValueError where a master is missing."""
    seen = position if position.turn is BLUE else position.turned()
    names = sorted(position.cards)
    own1, own2, other1, other2, side = (names.index(card) for card in seen.cards)
    return Words(
        own=sum(1 << square for square, piece in enumerate(seen.board) if piece in "12"),
        other=sum(1 << square for square, piece in enumerate(seen.board) if piece in "34"),
        master=seen.board.index("2"),
        prey=seen.board.index("4"),
        arrangement=_INDEX[
            min(own1, own2), max(own1, own2), min(other1, other2), max(other1, other2), side
        ],
    )


def decode_move(code: int, position: Position) -> Action:
    """The action that a move's number stands for in that position."""
    card = sorted(position.cards)[code >> 10]
    if code & PASS == PASS:
        return Pass(card)
    origin, target = code & 31, code >> 5 & 31
    if position.turn is BLUE:
        return Move(card, origin, target)
    return Move(card, SQUARES - 1 - origin, SQUARES - 1 - target)


def encode_move(action: Action, position: Position) -> int:
    card = sorted(position.cards).index(action.card) << 10
    if isinstance(action, Pass):
        return card | PASS
    origin, target = action.origin, action.target
    if position.turn is not BLUE:
        origin, target = SQUARES - 1 - origin, SQUARES - 1 - target
    return card | target << 5 | origin


@njit("int64(int64, int64, int64, int64, int64)", cache=True, inline="always")
def key(own: int, other: int, master: int, prey: int, arrangement: int) -> int:
    """The whole position in 61 bits, never 0: a table that keeps it is never mistaken.

    Of a master it is enough to say how many of its own side stand on lower squares.
    """
    above = count(own & ((1 << master) - 1)) << 50 | count(other & ((1 << prey) - 1)) << 53
    return own | other << 25 | above | arrangement << 56
