"""What players want when an opponent runs out of time: the win, or a game that is aborted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client
from pytest_django.asserts import assertContains

from accounts.models import User
from games import away, play, sweep
from games.models import Game, Notice
from tests.world import BLUE_BY_STONE, fresh, person, running

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture
def alice() -> User:
    return person("alice", away=False)


@pytest.fixture
def bob() -> User:
    return person("bob", away=False)


def prefer(player: User, wanted: str) -> None:
    User.objects.filter(pk=player.pk).update(out_of_time=wanted)


def run_out(game: Game) -> Game:
    assert game.deadline is not None
    sweep.sweep(game.deadline)
    return fresh(game)


def results(game: Game) -> list[tuple[str, str, int]]:
    return list(game.seats.order_by("colour").values_list("result", "termination", "plies"))


@pytest.mark.parametrize(
    ("waiting", "mover", "termination", "winner"),
    [
        ("win", "win", "time", "r"),
        ("win", "abort", "time", "r"),
        ("abort", "win", "aborted", ""),
        ("abort", "abort", "aborted", ""),
    ],
)
def test_it_is_the_waiting_player_s_wish_that_counts(
    alice: User, bob: User, waiting: str, mover: str, termination: str, winner: str
) -> None:
    prefer(bob, waiting)
    prefer(alice, mover)
    over = run_out(running(alice, bob, BLUE_BY_STONE[:2], now=NOW))
    assert (over.termination, over.winner, over.status) == (termination, winner, "over")
    both = [("lost", "time", 2), ("won", "time", 2)]
    assert results(over) == ([("aborted", "aborted", 2)] * 2 if waiting == "abort" else both)
    assert not over.rated
    for player in (alice, bob):
        assert Notice.objects.filter(player=player, key=f"over:g{over.pk}").exists()


def test_it_is_read_when_the_flag_falls(alice: User, bob: User) -> None:
    game = running(alice, bob, BLUE_BY_STONE[:2], now=NOW)
    play.offer_draw(game.pk, bob, 3, now=NOW)
    prefer(bob, "abort")
    assert run_out(game).termination == "aborted"


def test_a_deed_after_the_flag_meets_it_too(alice: User, bob: User) -> None:
    prefer(bob, "abort")
    game = running(alice, bob, BLUE_BY_STONE[:2], now=NOW)
    assert game.deadline is not None
    with pytest.raises(play.GameOver):
        play.resign(game.pk, alice, now=game.deadline)
    assert fresh(game).termination == "aborted"


@pytest.mark.parametrize("plies", [0, 1])
def test_who_never_moved_loses_nothing_whatever_the_other_wants(
    alice: User, bob: User, plies: int
) -> None:
    over = run_out(running(alice, bob, BLUE_BY_STONE[:plies], now=NOW))
    assert (over.termination, over.winner) == ("aborted", "")


def test_games_aborted_for_time_count_as_no_absence(alice: User, bob: User) -> None:
    prefer(bob, "abort")
    for _ in range(3):
        game = running(alice, bob, BLUE_BY_STONE[:2], now=NOW)
        assert game.deadline is not None
        play.settle(game.pk, game.deadline)
    assert not away.is_absent(alice)


@pytest.mark.parametrize("plies", [0, 2])
def test_it_stays_visible_to_everybody(client: Client, alice: User, bob: User, plies: int) -> None:
    prefer(alice, "abort")
    prefer(bob, "abort")
    over = run_out(running(alice, bob, BLUE_BY_STONE[:plies], now=NOW))
    assertContains(client.get(f"/games/{over.pk}/"), "Game aborted")
    assertContains(client.get("/players/alice/"), f'href="/games/{over.pk}/"')
    client.force_login(alice)
    assertContains(client.get("/archive/"), "Aborted")
