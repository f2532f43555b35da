"""The endgame tables say of a position what playing it out says, whatever the cards."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator

import numpy as np
import pytest

from games.engine.bitboard import ARRANGEMENTS, encode
from games.engine.table_building import build
from games.engine.tables import DIGITS, EMPTY, LONG, Table, long_list, placement, probe
from games.onitama.cards import BLUE, Deal
from games.onitama.position import Pass, Position

KNOWN: Deal = ("horse", "elephant", "ox", "boar", "crab")
# Two cards without a move, for a master alone in a corner or with a student.
PASSING: Deal = ("fox", "iguana", "crab", "phoenix", "bear")
# Blue's men, the master first, that have no move by two of these.
STUCK = (
    ("fox", "bear", (24,)),
    ("fox", "iguana", (24,)),
    ("bear", "iguana", (24,)),
    ("crab", "phoenix", (21, 23)),
    ("crab", "phoenix", (23, 21)),
    ("fox", "bear", (24, 19, 23)),
    ("crab", "phoenix", (20, 24, 22)),
)
six_men = pytest.mark.skipif(
    os.environ.get("SIX_MEN") != "1", reason="a minute and 2 GB for each: SIX_MEN=1"
)


@pytest.fixture(scope="module")
def known() -> Table:
    return build(KNOWN, 4).table()


@pytest.fixture(scope="module")
def passing() -> Table:
    return build(PASSING, 4).table()


def by_its_children(table: Table, position: Position) -> int:
    """What the values of the positions after it make of a position."""
    after = [position.after(action) for action in position.legal_moves()]
    if any(child.outcome() for child in after):
        return 1
    values = [table.value(child) for child in after]
    lost = [plies for plies in values if plies and plies % 2 == 0]
    if lost:
        return 1 + min(lost)
    return 0 if 0 in values else 1 + max(values)


def board(blue: list[int], red: list[int]) -> str:
    """Each side's master first."""
    squares = ["0"] * 25
    for (master, *students), (own, student) in ((blue, "21"), (red, "43")):
        squares[master] = own
        for square in students:
            squares[square] = student
    return "".join(squares)


def random_position(names: tuple[str, ...], students: int, rng: random.Random) -> Position:
    """Not over, with up to so many students a side."""
    while True:
        blue, red = rng.randint(0, students), rng.randint(0, students)
        squares = rng.sample(range(25), 2 + blue + red)
        cards = rng.sample(names, 5)
        text = f"{board(squares[: 1 + blue], squares[1 + blue :])} {','.join(cards)} "
        position = Position.parse(text + rng.choice("br"))
        if position.outcome() is None:
            return position


def stuck_positions(students: int, number: int) -> Iterator[Position]:
    """Positions in which Blue has to pass."""
    rng = random.Random(2)
    cases = [case for case in STUCK if len(case[2]) <= 1 + students]
    for turn in range(number):
        first, second, blue = cases[turn % len(cases)]
        free = [square for square in range(25) if square not in blue and square != 2]
        red = rng.sample(free, rng.randint(1, 1 + students))
        rest = rng.sample([card for card in PASSING if card not in (first, second)], 3)
        cards = (first, second, rest[0], rest[1], rest[2])
        position = Position(board(list(blue), red), cards, BLUE)
        assert isinstance(position.legal_moves()[0], Pass)
        yield position


def masters_alone(names: Deal) -> Iterator[Position]:
    """Every position with two masters and Blue to move."""
    for blue, red in itertools.permutations(range(25), 2):
        placed = board([blue], [red])
        for side in names:
            others = [card for card in names if card != side]
            for hand in itertools.combinations(others, 2):
                rest = [card for card in others if card not in hand]
                position = Position(placed, (*hand, rest[0], rest[1], side), BLUE)
                if position.outcome() is None:
                    yield position


def played_out(names: Deal) -> dict[Position, int]:
    """The values of all positions with two masters, from nothing but the rules."""
    after: dict[Position, list[Position]] = {}
    values: dict[Position, int] = {}
    for position in masters_alone(names):
        children = [position.after(action) for action in position.legal_moves()]
        if any(child.outcome() for child in children):
            values[position] = 1
        else:
            after[position] = [child.turned() for child in children]
    while True:
        new = {}
        for position, children in after.items():
            known = [values.get(child) for child in children]
            lost = [plies for plies in known if plies and plies % 2 == 0]
            won = [plies for plies in known if plies and plies % 2]
            if lost:
                new[position] = 1 + min(lost)
            elif len(won) == len(children):
                new[position] = 1 + max(won)
        if not new:
            return values | dict.fromkeys(after, 0)
        values |= new
        for position in new:
            del after[position]


def agrees_with_its_children(table: Table, number: int) -> None:
    rng = random.Random(1)
    seen = set()
    for _ in range(number):
        position = random_position(table.names, table.most, rng)
        plies = table.value(position)
        assert plies == by_its_children(table, position), position
        assert table.value(position.turned()) == plies
        seen.add(plies)
    assert len(seen) > 15


def test_it_counts_what_others_have_counted(known: Table) -> None:
    assert known.tally.sum() == 9_174_270
    assert known.tally[1::2].sum() == 6_752_579
    assert known.tally[0] == 2_168


def test_it_holds_what_it_counts(known: Table) -> None:
    words = known.words.reshape(-1, DIGITS)
    everything = np.uint32((1 << ARRANGEMENTS) - 1)
    for distance, states in enumerate(known.tally):
        code = distance + 1 if distance else 0
        right = np.full(len(words), everything)
        for digit in range(DIGITS):
            right &= words[:, digit] if code >> digit & 1 else ~words[:, digit]
        assert int(np.bitwise_count(right).sum()) == states


def test_it_agrees_with_playing_two_masters_out(passing: Table) -> None:
    expected = played_out(PASSING)
    assert len(expected) == 553 * ARRANGEMENTS
    assert max(expected.values()) > 12
    for position, plies in expected.items():
        assert passing.value(position) == plies, position


@pytest.mark.parametrize("names", [KNOWN, PASSING])
def test_it_agrees_with_its_own_children(names: Deal, request: pytest.FixtureRequest) -> None:
    table = request.getfixturevalue("known" if names == KNOWN else "passing")
    agrees_with_its_children(table, 3000)


def test_it_agrees_about_passes(passing: Table) -> None:
    for position in stuck_positions(1, 300):
        assert passing.value(position) == by_its_children(passing, position), position


def test_it_says_when_it_does_not_know(known: Table) -> None:
    rng = random.Random(3)
    for students in (2, 3):
        position = random_position(KNOWN, students, rng)
        while max(position.board.count("1"), position.board.count("3")) < students:
            position = random_position(KNOWN, students, rng)
        assert known.value(position) == -1
    assert probe(EMPTY.words, EMPTY.long, EMPTY.most, 1, 1 << 20, 0, 20, 0) == -1
    with pytest.raises(ValueError, match="does not know"):
        known.value(next(masters_alone(PASSING)))


def test_it_finds_long_distances_in_the_list(known: Table) -> None:
    """Four men hardly need it. Here a placement has all its bits, but for the lowest digit."""
    position = next(masters_alone(KNOWN))
    seen = encode(position)
    place = placement(1, seen.own, seen.other, seen.master, seen.prey)
    words = np.zeros_like(known.words)
    words[place * DIGITS + 1 : (place + 1) * DIGITS] = (1 << ARRANGEMENTS) - 1
    bit = 1 << seen.arrangement
    notes = {
        61: [place - 1 << ARRANGEMENTS | bit, place << ARRANGEMENTS | bit - 1],
        63: [place << ARRANGEMENTS | bit],
        65: [place << ARRANGEMENTS | bit << 1, place + 1 << ARRANGEMENTS | bit],
    }
    long = long_list({plies: np.array(noted) for plies, noted in notes.items()})
    assert Table(known.names, words, long, 1, known.tally).value(position) == 63


@six_men
def test_it_counts_six_men() -> None:
    table = build(KNOWN, 6).table()
    assert table.tally.sum() == 1_075_280_850
    assert table.tally[1::2].sum() == 831_344_251
    assert table.tally[0] == 89_506
    assert len(table.long) == table.tally[LONG - 1 :].sum()
    agrees_with_its_children(table, 20_000)


@six_men
def test_it_agrees_about_passes_of_three_men() -> None:
    table = build(PASSING, 6).table()
    agrees_with_its_children(table, 20_000)
    for position in stuck_positions(2, 3000):
        assert table.value(position) == by_its_children(table, position), position
