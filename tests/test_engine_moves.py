"""Whose move the computer makes first, for how long it thinks, and when it moves without it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from games import engine_moves, engine_room, sweep, thinking
from games.models import Game, Level
from games.onitama.position import Action, Position
from tests import world

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
database = pytest.mark.django_db


def waits(player: User, level: str, since: datetime = NOW) -> Game:
    """A game in which the computer has been to move since then."""
    return world.against_level(player, level, colour="r", now=since)


def order(now: datetime) -> list[str]:
    return [row.level for row in engine_moves.waiting(now)]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float | None]]:
    """The levels that were asked for a move, with the seconds each was given."""
    asked: list[tuple[str, float | None]] = []

    def choose(history: list[Position], level: str, *, seconds: float | None, **_: Any) -> Action:
        asked.append((level, seconds))
        return history[-1].legal_moves()[0]

    monkeypatch.setattr(engine_room, "choose", choose)
    return asked


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """What the room's clock shows: the last of these."""
    shown = [NOW]
    monkeypatch.setattr("games.engine_room.timezone.now", lambda: shown[-1])
    return shown


# --- whose first ----------------------------------------------------------------------------


@database
def test_least_time_goes_first_then_the_longest_wait(alice: User) -> None:
    for level in ("grandmaster", "black-belt", "white-belt", "brown-belt"):
        waits(alice, level)
    older = waits(alice, "brown-belt", NOW - SECOND)
    assert order(NOW) == [
        *("white-belt", "brown-belt", "brown-belt", "black-belt", "grandmaster"),
    ]
    assert engine_moves.waiting(NOW)[1].game == older.pk


@database
def test_who_has_waited_long_goes_before_all(alice: User) -> None:
    waits(alice, "white-belt")
    waits(alice, "grandmaster", NOW - engine_moves.HASTE)
    waits(alice, "black-belt", NOW - engine_moves.HASTE - SECOND)
    assert order(NOW) == ["black-belt", "grandmaster", "white-belt"]
    assert order(NOW - SECOND) == ["black-belt", "grandmaster"]


@database
def test_a_move_somebody_makes_does_not_wait(alice: User, bob: User) -> None:
    game = waits(alice, "white-belt")
    world.running(alice, bob)
    assert engine_moves.claim(game.pk, NOW) is not None
    assert engine_moves.claim(game.pk, NOW) is None
    assert engine_moves.claim_next(NOW) is None
    [row] = engine_moves.waiting(NOW + 30 * SECOND)
    assert (row.game, row.tries) == (game.pk, 1)


@database
def test_a_game_that_was_taken_meanwhile_is_passed_over(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, free = waits(alice, "white-belt"), waits(alice, "blue-belt")
    rows = engine_moves.waiting(NOW)
    engine_moves.claim(taken.pk, NOW)
    monkeypatch.setattr(engine_moves, "waiting", lambda now: rows)
    claim = engine_moves.claim_next(NOW)
    assert claim is not None
    assert (claim.game.pk, claim.level) == (free.pk, "blue-belt")


@database
def test_finding_the_first_costs_the_same_for_many(alice: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert engine_moves.claim_next(NOW)
        return len(captured)

    for _ in range(2):
        waits(alice, "white-belt")
    few = queries()
    for level in Level.values:
        waits(alice, level)
    assert queries() == few == 3


# --- a task ---------------------------------------------------------------------------------


@database
def test_one_task_makes_all_that_is_due(
    alice: User, made: list[tuple[str, float | None]], frozen: list[datetime]
) -> None:
    games = [waits(alice, level) for level in reversed(Level.values)]
    assert engine_room.work() is False
    assert {level for level, _seconds in made} == set(Level.values)
    needed = [thinking.seconds(level) for level, _seconds in made]
    assert needed == sorted(needed)
    assert {world.fresh(game).plies for game in games} == {1}
    assert dict(made)["grandmaster"] == thinking.seconds("grandmaster")
    assert {seconds for level, seconds in made if level != "grandmaster"} == {None}


@database
def test_a_task_hands_on_before_its_time_is_over(
    alice: User,
    made: list[tuple[str, float | None]],
    frozen: list[datetime],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for _ in range(3):
        waits(alice, "white-belt")
    ticks = chain([0.0, 1.0, 4.9], repeat(5.1))
    monkeypatch.setattr("games.engine_room.time.monotonic", lambda: next(ticks))
    assert engine_room.work() is True
    assert len(made) == 2


@database
def test_a_second_try_is_made_without_the_engine(
    alice: User, made: list[tuple[str, float | None]], frozen: list[datetime]
) -> None:
    game = waits(alice, "grandmaster")
    engine_moves.claim(game.pk, NOW)
    frozen.append(NOW + 30 * SECOND)
    assert engine_room.work() is False
    assert not made
    assert world.fresh(game).plies == 1


# --- how long -------------------------------------------------------------------------------


def test_alone_the_grandmaster_has_its_whole_time() -> None:
    assert thinking.share("grandmaster", ["grandmaster"], workers=1, waited=0) == 5
    few = ["grandmaster"] * 6 + ["white-belt"] * 6
    assert thinking.share("grandmaster", few, workers=2, waited=0) == 5


def test_levels_with_a_node_budget_get_no_seconds() -> None:
    for level in ("white-belt", "black-belt", *world.OLD_LEVELS):
        assert thinking.share(level, [level] * 50, workers=1, waited=50) is None


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("crowd", [1, 6, 12, 20, 40, 80])
def test_a_crowd_is_served_within_the_window(crowd: int, workers: int) -> None:
    """Simulated: all wait from the same moment on; each worker takes the next when it is free."""
    waiting = ["grandmaster"] * crowd
    free, longest = [0.0] * workers, 0.0
    while waiting:
        free.sort()
        given = thinking.share("grandmaster", waiting, workers=workers, waited=free[0])
        assert given is not None
        waiting.pop()
        free[0] += given
        longest = max(longest, free[0])
    assert longest <= thinking.WINDOW + 5 if crowd * 0.3 / workers < 20 else longest < 60


@pytest.mark.parametrize(("waited", "given"), [(0, 3), (15, 1.5), (29, 0.3), (45, 0.3)])
def test_whoever_waited_shortens_the_thinking(waited: float, given: float) -> None:
    found = thinking.share("grandmaster", ["grandmaster"] * 20, workers=2, waited=waited)
    assert found == pytest.approx(given)


@database
def test_a_long_outage_hurries_nobody(alice: User) -> None:
    waits(alice, "grandmaster", NOW - timedelta(hours=1))
    claim = engine_moves.claim_next(NOW)
    assert claim is not None
    assert claim.seconds == thinking.seconds("grandmaster")


# --- without the engine ---------------------------------------------------------------------


def plies_after_sweeps(game: Game, seconds: range) -> dict[int, int]:
    """How far the game is after each sweep, at so many seconds of waiting."""
    found = {}
    for after in seconds:
        sweep.sweep(game.turn_began + after * SECOND)
        found[after] = world.fresh(game).plies
    return found


@database
@pytest.mark.parametrize("first", [1, 15])
def test_where_no_worker_comes_a_move_is_made_within_the_minute(alice: User, first: int) -> None:
    game = waits(alice, "white-belt")
    found = plies_after_sweeps(game, range(first, first + 45, 15))
    assert list(found.values()) == [0, 0, 1]


@database
@pytest.mark.parametrize("first", [1, 15])
def test_while_workers_are_busy_the_engine_has_its_time(alice: User, first: int) -> None:
    game = waits(alice, "grandmaster")
    moves = {}
    for after in range(first, 61, 15):
        # Somebody has just taken another game.
        other = waits(alice, "white-belt", NOW + after * SECOND)
        engine_moves.claim(other.pk, NOW + after * SECOND)
        sweep.sweep(NOW + after * SECOND)
        moves[after] = world.fresh(game).plies
    assert moves == {after: int(after >= 42) for after in moves}


@database
def test_the_lease_of_a_dead_worker_keeps_others_from_help_no_longer_than_itself(
    alice: User,
) -> None:
    held, behind = waits(alice, "grandmaster"), waits(alice, "grandmaster")
    engine_moves.claim(held.pk, NOW + SECOND)
    found = plies_after_sweeps(behind, range(14, 60, 15))
    assert found == {14: 0, 29: 0, 44: 1, 59: 1}
    assert world.fresh(held).plies == 1


@database
def test_after_an_outage_the_engine_is_asked_first(
    alice: User, made: list[tuple[str, float | None]], frozen: list[datetime]
) -> None:
    game = waits(alice, "green-belt", NOW - timedelta(hours=3))
    assert sweep.sweep(NOW) == [game.pk]
    assert engine_room.work() is False
    assert made == [("green-belt", None)]
