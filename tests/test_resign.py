"""Resigning: behind More and a second press, by a player of the game, once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertRedirects

from accounts.models import User
from games.models import Game, Notice
from tests import world

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    return world.running(alice, bob, world.BLUE_BY_STONE[:2])


def resign(client: Client, game: Game, *, htmx: bool = True) -> Any:
    return client.post(f"/games/{game.pk}/resign/", headers=HTMX if htmx else {})


def test_it_takes_a_second_press(client: Client, alice: User, game: Game) -> None:
    client.force_login(alice)
    html = client.get(f"/games/{game.pk}/").content.decode()
    more = html[html.index("<details>") :]
    assert f'href="/games/{game.pk}/?ask=resign"' in more
    assert f'action="/games/{game.pk}/resign/"' not in html
    html = client.get(f"/games/{game.pk}/?ask=resign").content.decode()
    assert "Resign this game?" in html
    assert f'action="/games/{game.pk}/resign/"' in html
    assert re.search(r'<a id="undo"[^>]*>Keep playing', html)
    assert world.fresh(game).status == "running"


def test_the_first_press_works_as_a_part_too(client: Client, alice: User, game: Game) -> None:
    client.force_login(alice)
    answer = client.get(f"/games/{game.pk}/board/?ask=resign", headers=HTMX)
    assertContains(answer, "Resign this game?")
    assertContains(answer, "ask=resign", html=False)


def test_the_opponent_wins_and_is_told(client: Client, alice: User, bob: User, game: Game) -> None:
    client.force_login(alice)
    answer = resign(client, game)
    assertContains(answer, "You lost")
    assertContains(answer, "You resigned")
    client.force_login(bob)
    assertContains(client.get(f"/games/{game.pk}/"), "alice resigned")
    row = world.fresh(game)
    assert (row.termination, row.winner) == ("resignation", "r")
    assert Notice.objects.filter(player=bob, key=f"over:g{game.pk}").exists()
    assert not Notice.objects.filter(player=alice, key=f"over:g{game.pk}").exists()


def test_one_may_resign_out_of_turn(client: Client, bob: User, game: Game) -> None:
    client.force_login(bob)
    assertRedirects(resign(client, game, htmx=False), f"/games/{game.pk}/", status_code=303)
    assert world.fresh(game).winner == "b"


@pytest.mark.parametrize("htmx", [True, False])
def test_twice_is_once(client: Client, alice: User, game: Game, *, htmx: bool) -> None:
    client.force_login(alice)
    resign(client, game)
    assertContains(resign(client, game, htmx=htmx), "The game is over", status_code=409)
    assert world.fresh(game).winner == "r"


def test_a_game_against_the_computer_can_be_resigned_while_it_thinks(
    client: Client, alice: User
) -> None:
    game = world.against_level(alice, actions=["tiger:b1b3"])
    client.force_login(alice)
    assert resign(client, game).status_code == 200
    row = world.fresh(game)
    assert row.termination == "resignation"
    assert row.engine_due is None


def test_it_rejects_get(client: Client, alice: User, game: Game) -> None:
    client.force_login(alice)
    assert client.get(f"/games/{game.pk}/resign/").status_code == 405
    assert world.fresh(game).status == "running"


def test_it_requires_a_player_of_the_game(client: Client, game: Game) -> None:
    client.force_login(world.person("carol"))
    assert resign(client, game).status_code == 403
    assert world.fresh(game).status == "running"


def test_a_private_game_is_missing_for_others(client: Client, alice: User, bob: User) -> None:
    game = world.running(alice, bob, private=True)
    client.force_login(world.person("carol"))
    assert resign(client, game).status_code == 404


def test_logged_out_it_leads_to_the_login(client: Client, game: Game) -> None:
    assert resign(client, game, htmx=False).status_code == 302
    assert "HX-Redirect" in resign(client, game).headers
    assert world.fresh(game).status == "running"
