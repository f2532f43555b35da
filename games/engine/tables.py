"""The endgame table of a deal: the exact value of every position with few men, and how to ask it.

A side's squares are named from its own seat here: what was the other side's before a ply is the
mover's after it, and has not moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from games.engine.bitboard import ARRANGEMENTS, GOAL, SQUARES, Array, count, encode, lowest, turned
from games.onitama.position import Position

# A table holds two masters, and up to so many students a side.
STUDENTS = {4: 1, 6: 2}
FREE = SQUARES - 2
# So many words for a placement, each with a bit for every arrangement: the binary digits of the
# distance plus one, 0 where nobody can force a win.
DIGITS = 6
# The digits of a distance too long for them: won so, lost with one more. A list has the distance.
LONG = (1 << DIGITS) - 2
_LENGTH_BITS = 16


def _master_pairs() -> tuple[Array, Array]:
    """The number of each pair of masters of a game that is not over, and the pairs in order."""
    pairs = [
        (own, other)
        for own in range(SQUARES)
        for other in range(SQUARES)
        if GOAL not in (own, other) and own + other != SQUARES - 1
    ]
    numbers = np.full((SQUARES, SQUARES), -1, dtype=np.int64)
    for number, pair in enumerate(pairs):
        numbers[pair] = number
    return numbers, np.array(pairs, dtype=np.int64)


PAIR, PAIRS = _master_pairs()


def sets(students: int, squares: int) -> int:
    """In how many ways up to so many students, two at most, can stand on so many squares."""
    return [1, 1 + squares, 1 + squares + squares * (squares - 1) // 2][students]


def _starts() -> Array:
    """starts[students, row]: where a row begins in the block of a pair; the last is the end.

    A row is for a set of one side's students, and has a word for each set of the other's.
    """
    starts = np.zeros((3, sets(2, FREE) + 1), dtype=np.int64)
    for most in STUDENTS.values():
        standing = [0] + [1] * FREE + [2] * (sets(2, FREE) - sets(1, FREE))
        lengths = [sets(most, FREE - number) if number <= most else 0 for number in standing]
        starts[most, 1:] = np.cumsum(lengths)
    return starts


STARTS = _starts()


@njit("int64(uint32)", cache=True)
def signed(word: int) -> int:
    """The word as a number that mixes with others: unsigned ones make fractions."""
    return word


@njit("int64(int64, int64)", cache=True)
def slot(square: int, taken: int) -> int:
    """The square's number among those that are not taken."""
    return square - count(taken & ((1 << square) - 1))


@njit("int64(int64, int64, int64)", cache=True)
def set_number(students: int, taken: int, free: int) -> int:
    """The number of a set of up to two students: that of none, those of one, those of two."""
    if students == 0:
        return 0
    low = slot(lowest(students), taken)
    students &= students - 1
    if students == 0:
        return 1 + low
    high = slot(lowest(students), taken)
    return 1 + free + (high * (high - 1) >> 1) + low


@njit("int64(int64, int64, int64, int64, int64)", cache=True)
def placement(most: int, own: int, other: int, master: int, prey: int) -> int:
    """The number of a placement in a table with up to `most` students a side, or -1."""
    if count(own) - 1 > most or count(other) - 1 > most:
        return -1
    seat = SQUARES - 1 - prey
    pair = PAIR[master, seat]
    if pair < 0:
        return -1
    theirs = turned(other) & ~(1 << seat)
    row = set_number(theirs, 1 << seat | 1 << (SQUARES - 1 - master), FREE)
    mine = set_number(own & ~(1 << master), other | 1 << master, FREE - count(theirs))
    return pair * STARTS[most, -1] + STARTS[most, row] + mine


@njit("int64(int64[::1], int64)", cache=True)
def _length(long: Array, entry: int) -> int:
    low, high = 0, len(long)
    while low < high:
        middle = (low + high) >> 1
        if long[middle] >> _LENGTH_BITS < entry:
            low = middle + 1
        else:
            high = middle
    return long[low] & ((1 << _LENGTH_BITS) - 1)


@njit("int64(uint32[::1], int64[::1], int64, int64, int64, int64, int64, int64)", cache=True)
def probe(
    words: Array,
    long: Array,
    most: int,
    own: int,
    other: int,
    master: int,
    prey: int,
    arrangement: int,
) -> int:
    """In how many plies the game ends: odd, the mover wins, even, he loses; 0 is a draw.

    -1 where the table, or the empty one, does not know.
    """
    place = placement(most, own, other, master, prey)
    if place < 0:
        return -1
    digits = 0
    for digit in range(DIGITS):
        digits |= (signed(words[place * DIGITS + digit]) >> arrangement & 1) << digit
    if digits < LONG:
        return max(digits - 1, 0)
    return _length(long, place << 5 | arrangement)


def long_list(found: dict[int, Array]) -> Array:
    """The list from what was found at each distance: placement << 30 | arrangements' bits.

    Takes each from `found` as it goes: in some deals they are many.
    """
    every = (1 << ARRANGEMENTS) - 1
    entries = np.empty(
        sum(int(np.bitwise_count(notes & every).sum()) for notes in found.values()), np.int64
    )
    filled = 0
    while found:
        distance, notes = found.popitem()
        for arrangement in range(ARRANGEMENTS):
            places = notes[notes >> arrangement & 1 == 1] >> ARRANGEMENTS
            part = entries[filled : filled + len(places)]
            part[:] = (places << 5 | arrangement) << _LENGTH_BITS | distance
            filled += len(places)
    entries.sort()
    return entries


class Table(NamedTuple):
    """`probe` takes words, long and most; `tally[n]` says how many positions end in n plies."""

    names: tuple[str, ...]
    words: Array
    long: Array
    most: int
    tally: Array

    @property
    def men(self) -> int:
        return 2 * self.most + 2

    def value(self, position: Position) -> int:
        """What `probe` says of a position of this deal that is not over."""
        if tuple(sorted(position.cards)) != self.names:
            raise ValueError(f"the table of {','.join(self.names)} does not know {position}")
        seen = encode(position)
        return int(
            probe(
                self.words,
                self.long,
                self.most,
                seen.own,
                seen.other,
                seen.master,
                seen.prey,
                seen.arrangement,
            )
        )


# Knows nothing: for a search without a table.
EMPTY = Table((), np.zeros(0, np.uint32), np.zeros(0, np.int64), -1, np.zeros(0, np.int64))
