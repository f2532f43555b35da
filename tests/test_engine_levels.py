"""The computer answers legally, quickly and alike each time, and plays as well as it says."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.engine.levels import choose
from games.engine.plain import LEVELS, evaluate
from games.onitama.cards import BLUE, DECKS, Colour, Deal, deal
from games.onitama.fallback import fallback
from games.onitama.position import Action, Pass, Position
from tests.strategies import positions

SEARCHING = tuple(level for level in LEVELS if level != "random")
SEEDS = range(40)

STUCK = Position.parse("0000200001003010300130401 tiger,ox,mantis,goose,monkey b")
WON = Position.parse("0020000000000000000000000 tiger,ox,crab,goose,rooster r")
STEPS_IN = Position.parse("0000100030030000020004000 mantis,ox,crab,monkey,boar b")
# Blue can take a student on a3, and more moves than that.
HANGING = Position.parse("1020000000300000000000400 tiger,crab,monkey,crane,dragon b")
DEAL: Deal = ("horse", "ox", "crab", "goose", "rooster")


def worth(position: Position, depth: int) -> int:
    """The mover's value by looking at every line, without any cutting."""
    if depth == 0:
        return evaluate(position)
    legal = position.legal_moves()
    if position.winning(legal):
        return 10_000 + depth
    return max(-worth(position.after(action), depth - 1) for action in legal)


def values(position: Position, depth: int) -> dict[Action, int]:
    return {action: -worth(position.after(action), depth - 1) for action in position.legal_moves()}


def highest(values_: dict[Action, int]) -> set[Action]:
    return {action for action, value in values_.items() if value == max(values_.values())}


def middle_games(count: int, rng: random.Random) -> list[Position]:
    """Positions of games that a level plays against itself, with some slips."""
    found: list[Position] = []
    while len(found) < count:
        position = Position.start(deal(rng.choice(sorted(DECKS)), rng))
        for ply in range(40):
            legal = position.legal_moves()
            if not legal:
                break
            if ply > 3 and ply % 4 == 0:
                found.append(position)
            slip = rng.random() < 0.15
            seed = rng.randrange(1_000_000)
            action = rng.choice(legal) if slip else choose(position, "two-ply", seed=seed)
            position = position.play(action)
    return found[:count]


def play_out(first: str, second: str, seed: int) -> str | None:
    """The level that wins, each having each colour in turn, or None for a draw."""
    rng = random.Random(seed)
    position = Position.start(deal(rng.choice(sorted(DECKS)), rng))
    levels = [first, second] if seed % 2 else [second, first]
    players = dict(zip(Colour, levels, strict=True))
    history: list[Position] = []
    while (outcome := position.outcome()) is None:
        history.append(position)
        if history.count(position) == 3:
            return None
        level = players[position.turn]
        position = position.play(choose(position, level, seed=seed, history=history))
    return players[outcome.winner]


def test_it_has_three_levels() -> None:
    assert LEVELS == ("random", "two-ply", "four-ply")


@given(positions(), st.sampled_from(LEVELS), st.integers())
def test_it_answers_with_a_legal_action_and_always_the_same(
    position: Position, level: str, seed: int
) -> None:
    legal = position.legal_moves()
    if not legal:
        with pytest.raises(ValueError, match="over"):
            choose(position, level, seed=seed, nodes=300)
        return
    action = choose(position, level, seed=seed, nodes=300)
    assert action in legal
    assert choose(position, level, seed=seed, nodes=300) == action


@pytest.mark.parametrize("level", LEVELS)
def test_the_order_within_a_hand_changes_nothing(level: str) -> None:
    one = Position.parse("1121100000000000000033433 tiger,crab,monkey,crane,dragon b")
    two = Position.parse("1121100000000000000033433 crab,tiger,crane,monkey,dragon b")
    for seed in SEEDS:
        assert choose(one, level, seed=seed) == choose(two, level, seed=seed)


def test_it_answers_alike_in_another_process() -> None:
    code = (
        "from games.engine.plain import *; from games.onitama.position import Position;"
        "p = Position.parse('1121100000000000000033433 tiger,crab,monkey,crane,dragon b');"
        "[print(choose(p, level, seed=s)) for level in LEVELS for s in range(10)]"
    )
    start = Position.parse("1121100000000000000033433 tiger,crab,monkey,crane,dragon b")
    expected = [str(choose(start, level, seed=seed)) for level in LEVELS for seed in range(10)]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == expected


def test_random_plays_everything_and_evenly() -> None:
    position = Position.start(DEAL, BLUE)
    legal = position.legal_moves()
    chosen = Counter(choose(position, "random", seed=seed) for seed in range(200 * len(legal)))
    assert set(chosen) == set(legal)
    assert all(130 < count < 270 for count in chosen.values())


def test_one_seed_does_not_always_mean_the_same_place_in_the_list() -> None:
    rng = random.Random(5)
    places: Counter[int] = Counter()
    for position in middle_games(60, rng):
        legal = position.legal_moves()
        places[4 * legal.index(choose(position, "random", seed=1)) // len(legal)] += 1
    assert set(places) == {0, 1, 2, 3}


@pytest.mark.parametrize("level", LEVELS)
def test_it_passes_when_it_must(level: str) -> None:
    chosen = {choose(STUCK, level, seed=seed) for seed in SEEDS}
    assert chosen <= {Pass("tiger"), Pass("ox")}


@pytest.mark.parametrize("level", LEVELS)
def test_it_refuses_a_finished_game(level: str) -> None:
    with pytest.raises(ValueError, match="the game is over"):
        choose(WON, level, seed=1)


@pytest.mark.parametrize("level", ["", "Random", "white", "four_ply"])
def test_it_refuses_an_unknown_level(level: str) -> None:
    with pytest.raises(ValueError, match="is not a level"):
        choose(STUCK, level, seed=1)


@pytest.mark.parametrize("level", SEARCHING)
def test_it_takes_a_win(level: str) -> None:
    for position in (STEPS_IN, STEPS_IN.turned()):
        winning = set(position.winning(position.legal_moves()))
        assert winning
        assert {choose(position, level, seed=seed) for seed in SEEDS} == winning


@pytest.mark.parametrize("level", SEARCHING)
def test_it_parries_a_win(level: str) -> None:
    parried = 0
    for position in middle_games(60, random.Random(3)):
        legal = position.legal_moves()
        safe = []
        for action in legal:
            after = position.play(action)
            if not after.winning(after.legal_moves()):
                safe.append(action)
        if safe and len(safe) < len(legal) and not position.winning(legal):
            parried += 1
            assert choose(position, level, seed=1) in safe
    assert parried > 10


@pytest.mark.parametrize(("level", "depth", "count"), [("two-ply", 2, 60), ("four-ply", 4, 8)])
def test_cutting_loses_nothing(level: str, depth: int, count: int) -> None:
    several = drawn = 0
    for position in middle_games(count, random.Random(11)):
        if position.winning(position.legal_moves()):
            continue
        known = values(position, depth)
        best = highest(known)
        several += len(best) > 1
        chosen = {choose(position, level, seed=seed) for seed in range(12)}
        assert chosen <= best
        assert len(chosen) > 1 or len(best) == 1
        # Now each of some actions leads to what has been there twice: a draw.
        for action in [*best, *list(known)[:2]]:
            there = position.play(action)
            best_with_draw = highest({**known, action: 0})
            drawn += best_with_draw != best
            for history in ([there, there], [there, there, position]):
                assert choose(position, level, seed=1, history=history) in best_with_draw
            assert choose(position, level, seed=1, history=[there, position]) in best
    assert several > 0
    assert drawn > 0


def test_a_sooner_win_goes_before_a_later_one() -> None:
    checked = 0
    for position in middle_games(100, random.Random(2)):
        if position.winning(position.legal_moves()):
            continue
        # Three plies win: whatever the other side does, the next move ends it.
        values = {a: -worth(position.after(a), 2) for a in position.legal_moves()}
        sure = {action for action, value in values.items() if value == 10_001}
        if sure:
            checked += 1
            assert choose(position, "four-ply", seed=1) in sure
    assert checked > 3


LOST = [
    "0001001002000000000031004 bear,kirin,monkey,crane,turtle r",
    "0020000003400000030000000 ox,monkey,mantis,crab,eel b",
    "0000002000030400000000000 mantis,rooster,goose,tiger,crab b",
    "0000101000001200000004000 dragon,elephant,rabbit,frog,ox r",
    "0020000300004000300000000 giraffe,sheep,rabbit,dog,dragon b",
]


@pytest.mark.parametrize("text", LOST)
def test_a_later_loss_goes_before_a_sooner_one(text: str) -> None:
    position = Position.parse(text)
    known = values(position, 4)
    assert set(known.values()) == {-10_001, -10_003}  # after four plies, after two
    assert {choose(position, "four-ply", seed=seed) for seed in SEEDS} == highest(known)


def test_few_nodes_are_enough_for_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[str] = Counter()
    after = Position.after

    def counted(self: Position, action: Action) -> Position:
        made["positions"] += 1
        return after(self, action)

    monkeypatch.setattr(Position, "after", counted)
    for position in middle_games(10, random.Random(4)):
        legal = position.legal_moves()
        if position.winning(legal) or len(legal) == 1:
            continue
        for nodes in (0, 1, 10, 100, 1000):
            made.clear()
            assert choose(position, "four-ply", seed=1, nodes=nodes) in legal
            # One more is made, and not looked at.
            assert made["positions"] <= nodes + 1
        free = choose(position, "four-ply", seed=1)
        assert choose(position, "four-ply", seed=1, nodes=1_000_000) == free
        assert choose(position, "two-ply", seed=1, nodes=0) in legal


def test_more_nodes_play_better_than_none() -> None:
    position = HANGING
    assert {choose(position, "two-ply", seed=seed, nodes=0) for seed in SEEDS} == set(
        position.legal_moves()
    )
    one_ply = len(position.legal_moves())
    chosen = {choose(position, "two-ply", seed=seed, nodes=one_ply) for seed in SEEDS}
    assert chosen <= set(position.capturing(position.legal_moves()))


def test_each_level_beats_the_one_below() -> None:
    for better, worse in zip(LEVELS[1:], LEVELS, strict=False):
        won = [play_out(better, worse, seed) for seed in range(10)]
        assert won.count(better) > won.count(worse) + 4


def test_four_plies_are_quick() -> None:
    times = []
    for position in middle_games(40, random.Random(23)):
        began = time.process_time()
        choose(position, "four-ply", seed=1)
        times.append(time.process_time() - began)
    assert sorted(times)[37] < 0.7


# Without the engine


def test_the_fallback_wins_if_it_can() -> None:
    winning = set(STEPS_IN.winning(STEPS_IN.legal_moves()))
    assert {fallback(STEPS_IN, seed) for seed in SEEDS} == winning


def test_the_fallback_is_any_legal_action_else() -> None:
    position = Position.start(DEAL, BLUE)
    chosen = {fallback(position, seed) for seed in range(300)}
    assert chosen == set(position.legal_moves())
    assert all(fallback(position, seed) == fallback(position, seed) for seed in SEEDS)
    assert {fallback(STUCK, seed) for seed in SEEDS} == {Pass("tiger"), Pass("ox")}


def test_the_fallback_refuses_a_finished_game() -> None:
    with pytest.raises(ValueError, match="the game is over"):
        fallback(WON, 1)


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("games.onitama.fallback", ("games.engine", "django")),
        ("games.onitama.record", ("games.engine", "django")),
        ("games.onitama.perft", ("games.engine", "django")),
        ("games.engine.levels", ("django",)),
    ],
)
def test_it_needs_nothing_from_above(module: str, without: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*(name for name in {without} if name in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == ""
