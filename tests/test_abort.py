"""Aborting: until both have moved, after a second press."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import User
from games.models import Game, Notice
from tests import world

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    """Only Alice has moved."""
    return world.running(alice, bob, world.BLUE_BY_STONE[:1])


def abort(client: Client, game: Game, *, htmx: bool = True) -> Any:
    return client.post(f"/games/{game.pk}/abort/", headers=HTMX if htmx else {})


def test_it_takes_a_second_press(client: Client, bob: User, game: Game) -> None:
    client.force_login(bob)
    assertContains(client.get(f"/games/{game.pk}/"), f'href="/games/{game.pk}/?ask=abort"')
    answer = client.get(f"/games/{game.pk}/?ask=abort")
    assertContains(answer, "Abort this game?")
    assertContains(answer, f'action="/games/{game.pk}/abort/"')
    assert world.fresh(game).status == "running"


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_either_may(client: Client, game: Game, name: str) -> None:
    client.force_login(User.objects.get(username=name))
    assertContains(abort(client, game), "Game aborted")
    row = world.fresh(game)
    assert (row.termination, row.winner) == ("aborted", "")


def test_the_other_is_told(client: Client, alice: User, bob: User, game: Game) -> None:
    client.force_login(alice)
    assertRedirects(abort(client, game, htmx=False), f"/games/{game.pk}/", status_code=303)
    assert Notice.objects.filter(player=bob, key=f"over:g{game.pk}").exists()


@pytest.mark.parametrize("htmx", [True, False])
def test_not_once_both_have_moved(client: Client, alice: User, bob: User, *, htmx: bool) -> None:
    game = world.running(alice, bob, world.BLUE_BY_STONE[:2])
    client.force_login(alice)
    assertNotContains(client.get(f"/games/{game.pk}/?ask=abort"), "abort/")
    assertContains(abort(client, game, htmx=htmx), "Both have moved", status_code=409)
    assert world.fresh(game).status == "running"


def test_twice_is_once(client: Client, alice: User, game: Game) -> None:
    client.force_login(alice)
    abort(client, game)
    assertContains(abort(client, game), "The game is over", status_code=409)


def test_it_stays_visible(client: Client, alice: User, game: Game) -> None:
    client.force_login(alice)
    abort(client, game)
    client.logout()
    assertContains(client.get(f"/games/{game.pk}/"), "Game aborted")


def test_it_rejects_get(client: Client, alice: User, game: Game) -> None:
    client.force_login(alice)
    assert client.get(f"/games/{game.pk}/abort/").status_code == 405


def test_it_requires_a_player_of_the_game(client: Client, game: Game) -> None:
    client.force_login(world.person("carol"))
    assert abort(client, game).status_code == 403
    assert world.fresh(game).status == "running"


def test_a_private_game_is_missing_for_others(client: Client, alice: User, bob: User) -> None:
    game = world.running(alice, bob, private=True)
    client.force_login(world.person("carol"))
    assert abort(client, game).status_code == 404


def test_logged_out_it_leads_to_the_login(client: Client, game: Game) -> None:
    assert abort(client, game, htmx=False).status_code == 302
    assert "HX-Redirect" in abort(client, game).headers
