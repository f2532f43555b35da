"""Settled by many at once, the hours add up, and nobody waits for somebody who waits for them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import pytest
from django.db import connections

from accounts.models import AWAY_AT_START, User
from games import away_hours, play, sweep
from games.models import Game, Notice
from tests.test_away import END, HOUR, MINUTE, assert_it_adds_up, due, holder, hours_of, used
from tests.world import fresh

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = range(3)


def at_once(*deeds: Callable[[], object]) -> list[object]:
    """What each gives that all start together, each by its own thread and connection."""
    start = Barrier(len(deeds))

    def run(deed: Callable[[], object]) -> object:
        start.wait(30)
        try:
            return deed()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(deeds)) as pool:
        return list(pool.map(run, deeds))


@pytest.mark.parametrize("round_", ROUNDS)
def test_five_games_of_one_player_settled_ten_times_cost_one_hour(round_: int) -> None:
    alice, bob = holder("alice"), holder("bob")
    games = [due(alice, bob, END + n * MINUTE) for n in range(5)]
    # The last first: whoever comes, the hour begins with the earliest deadline.
    order = [game.pk for game in reversed(games)] * 2
    at_once(*(partial(play.settle, pk, END + 10 * MINUTE) for pk in order))
    assert hours_of(alice) == AWAY_AT_START - 1
    for n, game in enumerate(games):
        assert fresh(game).deadline == END + HOUR + n * MINUTE
    assert_it_adds_up(alice, bob)
    assert Notice.objects.filter(kind="away").count() == 2 * len(games)


@pytest.mark.parametrize("round_", ROUNDS)
def test_two_who_meet_in_two_games_wait_for_each_other_in_none(round_: int) -> None:
    alice, bob = holder("alice"), holder("bob")
    games = [
        *(due(alice, bob, END), due(bob, alice, END)),
        *(due(alice, bob, END + MINUTE), due(bob, alice, END + MINUTE)),
    ]
    now = END + 5 * HOUR
    settles = [partial(play.settle, game.pk, now) for game in games]
    at_once(
        *settles,
        *reversed(settles),
        partial(sweep.sweep, now),
        partial(away_hours.credit_months, now),
    )
    for player in (alice, bob):
        assert hours_of(player) == AWAY_AT_START - 6
    assert [used(game) for game in games] == [6, 6, 6, 6]
    assert_it_adds_up(alice, bob)


def move(player: User, game: Game) -> bool:
    """Whether the move counted."""
    action = fresh(game).current.legal_moves()[0]
    try:
        play.play_move(game.pk, player, 3, action, now=END + MINUTE)
    except play.Refused:
        return False
    return True


@pytest.mark.parametrize("round_", ROUNDS)
def test_moves_among_the_settling_count(round_: int) -> None:
    alice, bob = holder("alice"), holder("bob")
    games = [due(alice, bob, END + n) for n in (0 * MINUTE, MINUTE, MINUTE)]
    settles = [partial(play.settle, game.pk, END + MINUTE) for game in games]
    moved = at_once(*settles, *(partial(move, alice, game) for game in games), *settles)
    assert moved[3:6] == [True, True, True]
    assert [fresh(game).plies for game in games] == [3, 3, 3]
    assert hours_of(alice) == AWAY_AT_START - 1
    assert_it_adds_up(alice, bob)


@pytest.mark.parametrize("round_", ROUNDS)
def test_the_last_hour_is_taken_once(round_: int) -> None:
    alice, bob = holder("alice", 1), holder("bob")
    first, second = due(alice, bob, END), due(alice, bob, END + 2 * HOUR)
    at_once(*(partial(play.settle, g.pk, END + 2 * HOUR) for g in (first, second) * 5))
    assert fresh(first).is_over
    assert fresh(second).is_over
    assert (hours_of(alice), used(first), used(second)) == (0, 1, 0)
    for game in (first, second):
        assert Notice.objects.filter(key=f"over:g{game.pk}").count() == 2
