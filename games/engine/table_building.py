"""Builds the endgame table of a deal.

Level by level: who can move to a position lost in n - 1 plies wins in n; who can only move to
positions won in n - 1 plies or fewer loses in n. A level of wins reads losses and writes wins, the
next one the reverse, so each level is exact although it writes where it reads.

A word holds all 30 arrangements of a placement. The cards that have a move decide which of a
child's bits may follow it, six by side card: so the words of the children are or-ed together as
they are, and their bits brought to the parent's places at the end, once.

Wins and losses are kept twice, since memory that lies far apart is what costs time here. `won` and
`lost` have a row for each set of the mover's students, in it a word for each of the other's: what
the children of a row of parents need stands together. `digits` is the table itself, but for its
lowest digit, and the parents stand together there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numba import njit

from games.engine.bitboard import (
    ALL,
    ARRANGEMENTS,
    GOAL,
    HANDS,
    NEXT,
    SQUARES,
    Array,
    Deal,
    count,
    deal,
    lowest,
    turned,
)
from games.engine.tables import (
    DIGITS,
    FREE,
    LONG,
    PAIR,
    PAIRS,
    STARTS,
    STUDENTS,
    Table,
    long_list,
    set_number,
    sets,
    signed,
    slot,
)

_EVERY = (1 << ARRANGEMENTS) - 1
_ROWS = sets(2, FREE)
# Where a student stands that there is not.
_ABSENT = SQUARES
# The squares and _ABSENT, made up to what a processor takes at once.
_LANES = 32


def _bits_before() -> Array:
    """By a byte's place and its value: the parents' bits for the bits of a child."""
    before = np.zeros((4, 256), dtype=np.int64)
    for arrangement in range(ARRANGEMENTS):
        for card in HANDS[arrangement, :2]:
            byte, bit = divmod(int(NEXT[arrangement, card]), 8)
            for value in range(256):
                if value >> bit & 1:
                    before[byte, value] |= 1 << arrangement
    return before


_BEFORE = _bits_before()


@njit("int64(int64)", cache=True)
def _before(word: int) -> int:
    """The parents' arrangements from which a child's are reached."""
    low = _BEFORE[0, word & 255] | _BEFORE[1, word >> 8 & 255]
    return low | _BEFORE[2, word >> 16 & 255] | _BEFORE[3, word >> 24]


@njit("int64(uint32[:, ::1], int64)", cache=True)
def _undecided(digits: Array, place: int) -> int:
    decided = digits[place, 0]
    for digit in range(1, DIGITS - 1):
        decided |= digits[place, digit]
    return _EVERY & ~signed(decided)


@njit("int64(int64, int64)", cache=True)
def _left(theirs: int, square: int) -> int:
    """The other's students that are left once the mover is on that square."""
    return theirs & ~(1 << (SQUARES - 1 - square))


@njit("int64(uint8[:, ::1], int64, int64)", cache=True)
def _changed(last: Array, seat: int, theirs: int) -> int:
    """The masters for which _read() would read what was decided in the last level."""
    changed = 0
    for master in range(SQUARES):
        pair = PAIR[seat, master]
        if pair < 0:
            continue
        masters = 1 << seat | 1 << (SQUARES - 1 - master)
        left = _left(theirs, master)
        new = last[pair, set_number(left, masters, FREE)]
        caught = left
        while caught:
            new |= last[pair, set_number(left & ~(caught & -caught), masters, FREE)]
            caught &= caught - 1
        changed |= signed(new) << master
    return changed


@njit("UniTuple(int64, 2)(int64, int64, int64, int64[::1], uint8[:, ::1])", cache=True)
def _due(known: int, seat: int, theirs: int, targets: Array, done: Array) -> tuple[int, int]:
    """The masters of parents that may be decided now, and the masters of all their children."""
    parents = children = 0
    for master in range(SQUARES):
        pair = PAIR[master, seat]
        if pair < 0 or turned(theirs) >> master & 1:
            continue
        reached = targets[master] | 1 << master
        row = set_number(theirs, 1 << seat | 1 << (SQUARES - 1 - master), FREE)
        if reached & known and not done[pair, row]:
            parents |= 1 << master
            children |= reached
    return parents, children


@njit("uint32[:, :, ::1](int64)", cache=True)
def _ends(prey: int) -> Array:
    """Boards of nothing but the wins: anybody on that square, or the master at the goal."""
    boards = np.zeros((SQUARES, _ABSENT + 1, _LANES), np.uint32)
    boards[:, prey] = _EVERY
    boards[prey] = _EVERY
    boards[GOAL] = _EVERY
    boards[GOAL, GOAL] = 0
    boards[GOAL, :, GOAL] = 0
    return boards


@njit(
    "void(uint32[:, :, ::1], int64, int64, int64, int64, uint32[::1], uint32, int64[::1])",
    cache=True,
)
def _read(
    boards: Array,
    master: int,
    seat: int,
    theirs: int,
    most: int,
    source: Array,
    flip: int,
    free: Array,
) -> None:
    """Fill boards[master] with the children of parents whose master gets there, or stays there.

    boards[master, square, square] is the word of the child with students on two squares, or with
    one _ABSENT. If the other's student was on a square, he has just been taken by the first.
    """
    board = boards[master]
    mine = 1 << master | 1 << (SQUARES - 1 - seat)
    masters = turned(mine)
    foes = turned(theirs)
    squares = 0
    for square in range(SQUARES):
        if (mine | foes) >> square & 1 == 0:
            free[squares] = square
            squares += 1
    for square in range(_ABSENT + 1):
        board[master, square] = 0
        board[square, master] = 0
    block = PAIR[seat, master] * STARTS[most, _ROWS]
    place = block + STARTS[most, set_number(theirs, masters, FREE)]
    board[_ABSENT, _ABSENT] = source[place] ^ flip
    for high in range(squares):
        place += 1
        word = source[place] ^ flip
        board[free[high], _ABSENT] = word
        board[_ABSENT, free[high]] = word
        board[free[high], free[high]] = 0
    if most == 2:
        for high in range(squares):
            for low in range(high):
                place += 1
                word = source[place] ^ flip
                board[free[high], free[low]] = word
                board[free[low], free[high]] = word
    caught = foes
    while caught:
        square = lowest(caught)
        caught &= caught - 1
        place = block + STARTS[most, set_number(_left(theirs, square), masters, FREE)] + 1
        taken = slot(square, mine | foes)
        board[square, _ABSENT] = source[place + taken] ^ flip
        if most == 2:
            place += squares + 1
            for other in range(squares):
                # Above the square that became free, numbers are one higher than before.
                low, high = (other, taken) if other < taken else (taken, other + 1)
                word = source[place + (high * (high - 1) >> 1) + low]
                board[square, free[other]] = word ^ flip


@njit("void(uint32[:, ::1], int64, uint32[:, :, ::1], int64, int64, uint32)", cache=True)
def _add(found: Array, row: int, boards: Array, master: int, square: int, groups: int) -> None:
    for lane in range(found.shape[1]):
        found[row, lane] |= boards[master, square, lane] & groups


@njit(
    "void(uint32[:, ::1], uint32[:, :, ::1], int64, int64, int64, int64, int64[::1],"
    " uint32[:, ::1])",
    cache=True,
)
def _follow(
    found: Array,
    boards: Array,
    master: int,
    taken: int,
    children: int,
    most: int,
    targets: Array,
    groups: Array,
) -> None:
    """Or together what the children say, for all parents with the master there.

    found[square, square], either way round, is then for the students on those squares.
    """
    found[:, :] = 0
    if children >> master & 1:
        for origin in range(SQUARES):
            if taken >> origin & 1 == 0:
                left = targets[origin] & ~(1 << master)
                while left:
                    target = lowest(left)
                    left &= left - 1
                    _add(found, origin, boards, master, target, groups[origin, target])
    left = targets[master] & children
    while left:
        target = lowest(left)
        left &= left - 1
        for row in range(0 if most == 2 else _ABSENT, _ABSENT + 1):
            _add(found, row, boards, target, row, groups[master, target])


@njit(
    "UniTuple(int64, 2)(int64, int64, int64, int64, int64, uint32[:, ::1], uint32[:, :, ::1],"
    " uint32[::1], uint8[:, ::1], int64[::1], int64, int64, int64[:, ::1], int64[:, ::1],"
    " uint32[:, ::1], uint8[:, ::1])",
    cache=True,
)
def _decide(
    level: int,
    master: int,
    seat: int,
    theirs: int,
    children: int,
    found: Array,
    boards: Array,
    decided: Array,
    fresh: Array,
    notes: Array,
    noted: int,
    most: int,
    standing: Array,
    stuck: Array,
    digits: Array,
    done: Array,
) -> tuple[int, int]:
    """Write down which parents with the master there the level decides; answers like _settle."""
    wins = level & 1
    code = level + 1 if level + 1 < LONG else LONG + 1 - wins
    mine = 1 << master | 1 << (SQUARES - 1 - seat)
    masters = turned(mine)
    taken = mine | turned(theirs)
    pair = PAIR[master, seat]
    row = set_number(theirs, masters, FREE)
    block = pair * STARTS[most, _ROWS]
    place = block + STARTS[most, row] - 1
    states = 0
    finished = True
    for number in range(len(standing)):
        low = standing[number, 0]
        high = standing[number, 1]
        students = (1 << low | 1 << high) & ALL
        if students & taken:
            continue
        place += 1
        undecided = _undecided(digits, place)
        if undecided == 0:
            continue
        hit = _before(signed(found[low, high] | found[high, low]))
        if stuck[master, number] and children >> master & 1:
            # A pass changes nothing but the cards.
            hit |= stuck[master, number] & _before(signed(boards[master, low, high]))
        new = undecided & (hit if wins else ~hit)
        if new != undecided:
            finished = False
        if new == 0:
            continue
        states += count(new)
        for digit in range(1, DIGITS):
            if code >> digit & 1:
                digits[place, digit - 1] |= np.uint32(new)
        own = set_number(students, mine, FREE)
        other = set_number(theirs, masters | turned(students), FREE - count(students))
        decided[block + STARTS[most, own] + other] |= np.uint32(new)
        fresh[pair, own] = 1
        if code >= LONG:
            notes[noted] = place << ARRANGEMENTS | new
            noted += 1
    done[pair, row] = finished
    return states, noted


# What changes from level to level comes first, then what the deal and the size of the table say.
@njit(
    "UniTuple(int64, 2)(int64, int64, uint32[::1], uint32[::1], uint8[:, ::1], uint8[:, ::1],"
    " int64[::1], int64, int64[:, ::1], int64[::1], uint32[:, ::1], int64[:, ::1],"
    " uint32[:, ::1], uint8[:, ::1])",
    cache=True,
    nogil=True,
)
def _settle(
    level: int,
    seat: int,
    source: Array,
    decided: Array,
    last: Array,
    fresh: Array,
    notes: Array,
    most: int,
    standing: Array,
    targets: Array,
    groups: Array,
    stuck: Array,
    digits: Array,
    done: Array,
) -> tuple[int, int]:
    """Decide a level's positions with the other's master on `seat`: how many, and how many notes.

    Reads losses, or wins, from `source`, where `last` says which are the last level's; writes the
    reverse to `decided`, and to `fresh` where. Rows of parents are `done` when all are decided.
    """
    wins = level & 1
    flip = np.uint32(0 if wins else _EVERY)
    boards = _ends(SQUARES - 1 - seat)
    found = np.zeros((_ABSENT + 1, _LANES), np.uint32)
    free = np.zeros(SQUARES, np.int64)
    states = noted = 0
    for number in range(len(standing)):
        theirs = (1 << standing[number, 0] | 1 << standing[number, 1]) & ALL
        if theirs >> seat & 1:
            continue
        # The first level knows the wins at once, and nothing else.
        known = _changed(last, seat, theirs) if level > 1 else ALL
        parents, children = _due(known, seat, theirs, targets, done)
        if wins:
            children &= known
        left = children if level > 1 else 0
        while left:
            master = lowest(left)
            left &= left - 1
            if PAIR[seat, master] < 0:
                children &= ~(1 << master)
            else:
                _read(boards, master, seat, _left(theirs, master), most, source, flip, free)
        while parents:
            master = lowest(parents)
            parents &= parents - 1
            taken = turned(theirs) | 1 << master | 1 << (SQUARES - 1 - seat)
            _follow(found, boards, master, taken, children, most, targets, groups)
            new, noted = _decide(
                level, master, seat, theirs, children, found, boards, decided, fresh,
                notes, noted, most, standing, stuck, digits, done,
            )  # fmt: skip
            states += new
    return states, noted


@njit("void(int64, int64, int64[:, ::1], uint32[::1], uint32[:, ::1], uint32[:, ::1])", cache=True)
def _write(pair: int, most: int, standing: Array, lost: Array, digits: Array, words: Array) -> None:
    """The table's words for a pair of masters: the lowest digit says who lost."""
    master, seat = PAIRS[pair]
    mine = 1 << master | 1 << (SQUARES - 1 - seat)
    masters = turned(mine)
    block = pair * STARTS[most, _ROWS]
    place = 0
    for theirs_number in range(len(standing)):
        theirs = (1 << standing[theirs_number, 0] | 1 << standing[theirs_number, 1]) & ALL
        if theirs & masters:
            continue
        for number in range(len(standing)):
            students = (1 << standing[number, 0] | 1 << standing[number, 1]) & ALL
            if students & (mine | turned(theirs)):
                continue
            own = set_number(students, mine, FREE)
            other = set_number(theirs, masters | turned(students), FREE - count(students))
            words[place, 0] = lost[block + STARTS[most, own] + other]
            for digit in range(1, DIGITS):
                words[place, digit] = digits[block + place, digit - 1]
            place += 1


def _standing(most: int) -> Array:
    """Every set of students on the whole board, in order: two squares, _ABSENT for none."""
    none = [(_ABSENT, _ABSENT)]
    one = [(_ABSENT, square) for square in range(SQUARES)]
    two = sorted(combinations(range(SQUARES), 2), key=lambda pair: (pair[1], pair[0]))
    return np.array(none + one + (two if most == 2 else []), dtype=np.int64)


def _groups(dealt: Deal) -> Array:
    """groups[origin, target]: the bits of children that may follow a move by any card."""
    groups = np.zeros((SQUARES, SQUARES), np.uint32)
    for card in range(5):
        for origin in range(SQUARES):
            for target in range(SQUARES):
                if int(dealt.reach[card, origin]) >> target & 1:
                    groups[origin, target] |= 0b111111 << 6 * card
    return groups


def _stuck(dealt: Deal, standing: Array) -> Array:
    """stuck[master, set of students]: the arrangements in which neither card has a move."""
    stuck = np.full((SQUARES, len(standing)), _EVERY, dtype=np.int64)
    for card in range(5):
        holding = sum(1 << index for index, hands in enumerate(HANDS) if card in hands[:2])
        reach = [int(squares) for squares in dealt.reach[card]]
        for master in range(SQUARES):
            for number, squares in enumerate(standing.tolist()):
                men = {master, *squares} - {_ABSENT}
                own = sum(1 << square for square in men)
                if any(reach[square] & ~own for square in men):
                    stuck[master, number] &= ~holding
    return stuck


@dataclass(frozen=True)
class Built:
    """A table as it comes out of the building, in parts that are made as they are asked for."""

    names: tuple[str, ...]
    most: int
    long: Array
    tally: Array
    parts: Iterator[Array]

    def table(self) -> Table:
        size = int(STARTS[self.most, _ROWS])
        words = np.empty((len(PAIRS), size * DIGITS), np.uint32)
        for pair, part in enumerate(self.parts):
            words[pair] = part.reshape(-1)
        return Table(self.names, words.reshape(-1), self.long, self.most, self.tally)


class _Building:
    def __init__(self, names: tuple[str, ...], most: int) -> None:
        dealt = deal(names)
        self.most = most
        self.size = int(STARTS[most, _ROWS])
        self.places = len(PAIRS) * self.size
        self.sides = [np.zeros(self.places, np.uint32) for _ in ("lost", "won")]
        self.fresh = [np.zeros((len(PAIRS), _ROWS), np.uint8) for _ in self.sides]
        self.standing = _standing(most)
        self.targets = np.bitwise_or.reduce(dealt.reach, axis=0)
        self.groups = _groups(dealt)
        self.stuck = _stuck(dealt, self.standing)
        self.digits = np.zeros((self.places, DIGITS - 1), np.uint32)
        self.done = np.zeros((len(PAIRS), _ROWS), np.uint8)
        self.tally = [0]
        self.long: dict[int, Array] = {}

    def next_level(self, pool: ThreadPoolExecutor) -> int:
        """How many positions it decided."""
        level = len(self.tally)
        self.fresh[level % 2].fill(0)
        found = list(pool.map(self.settle, (seat for seat in range(SQUARES) if seat != GOAL)))
        if level + 1 >= LONG:
            self.long[level] = np.concatenate([notes for _, notes in found])
        self.tally.append(sum(states for states, _ in found))
        return self.tally[-1]

    def settle(self, seat: int) -> tuple[int, Array]:
        level = len(self.tally)
        wins = level % 2
        # A note for each placement at most, and a seat has 24 pairs or fewer.
        notes = np.empty(24 * self.size if level + 1 >= LONG else 0, np.int64)
        states, noted = _settle(
            level, seat, self.sides[1 - wins], self.sides[wins], self.fresh[1 - wins],
            self.fresh[wins], notes, self.most, self.standing, self.targets, self.groups,
            self.stuck, self.digits, self.done,
        )  # fmt: skip
        return states, notes[:noted].copy()

    def parts(self) -> Iterator[Array]:
        for pair in range(len(PAIRS)):
            words = np.empty((self.size, DIGITS), np.uint32)
            _write(pair, self.most, self.standing, self.sides[0], self.digits, words)
            yield words


def build(names: tuple[str, ...], men: int) -> Built:
    """The table of five cards for 4 men or for 6, which take 1.2 GB of memory."""
    names = tuple(sorted(names))
    building = _Building(names, STUDENTS[men])
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        while building.next_level(pool):
            pass
    # The list may be long, and these have nothing more to say.
    del building.sides[1]
    tally = np.array(building.tally[:-1], np.int64)
    tally[0] = building.places * ARRANGEMENTS - tally.sum()
    return Built(names, building.most, long_list(building.long), tally, building.parts())
