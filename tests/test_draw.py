"""Offering a draw, and the two answers to it."""

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
DEEDS = ("offer", "accept", "decline")


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    """Two plies in: Alice, Blue, is to move."""
    return world.running(alice, bob, world.BLUE_BY_STONE[:2])


def draw(client: Client, game: Game, deed: str, *, ply: str = "3", htmx: bool = True) -> Any:
    address = f"/games/{game.pk}/draw/{deed}/"
    return client.post(address, {"ply": ply}, headers=HTMX if htmx else {})


@pytest.fixture
def offered(client: Client, alice: User, game: Game) -> Game:
    """Alice has offered; the client is Alice's."""
    client.force_login(alice)
    assert draw(client, game, "offer").status_code == 200
    return world.fresh(game)


class TestOffer:
    def test_it_stands_and_is_told(self, offered: Game, bob: User) -> None:
        assert offered.draw_offer == "b"
        assert Notice.objects.filter(player=bob, key=f"draw:g{offered.pk}:o1").exists()

    def test_the_page_says_so(self, client: Client, offered: Game, bob: User) -> None:
        assertContains(client.get(f"/games/{offered.pk}/"), "You have offered a draw")
        client.force_login(bob)
        answer = client.get(f"/games/{offered.pk}/")
        assertContains(answer, "alice offers a draw")
        assertContains(answer, f'action="/games/{offered.pk}/draw/accept/"')
        assertContains(answer, f'action="/games/{offered.pk}/draw/decline/"')

    def test_strangers_are_offered_nothing(self, client: Client, offered: Game) -> None:
        client.force_login(world.person("carol"))
        answer = client.get(f"/games/{offered.pk}/")
        assertNotContains(answer, "/draw/")
        assertNotContains(answer, "offers a draw")

    def test_one_may_offer_out_of_turn(self, client: Client, bob: User, game: Game) -> None:
        client.force_login(bob)
        answer = draw(client, game, "offer", htmx=False)
        assertRedirects(answer, f"/games/{game.pk}/", status_code=303)
        assert world.fresh(game).draw_offer == "r"

    def test_twice_is_once(self, client: Client, offered: Game) -> None:
        assertContains(draw(client, offered, "offer"), "once between two moves", status_code=409)
        assert world.fresh(offered).draw_offers == 1

    def test_the_button_is_gone_until_the_next_own_move(
        self, client: Client, offered: Game
    ) -> None:
        assertNotContains(client.get(f"/games/{offered.pk}/"), "/draw/offer/")

    def test_the_computer_declines(self, client: Client, alice: User) -> None:
        game = world.against_level(alice)
        client.force_login(alice)
        answer = draw(client, game, "offer", ply="1")
        assertContains(answer, "Your draw offer was declined.")
        assert world.fresh(game).draw_offer == ""


class TestAnswer:
    def test_accepting_ends_the_game(self, client: Client, offered: Game, bob: User) -> None:
        client.force_login(bob)
        assertContains(draw(client, offered, "accept"), "Both agreed to a draw")
        assert world.fresh(offered).termination == "agreement"

    def test_declining_goes_on(self, client: Client, offered: Game, alice: User, bob: User) -> None:
        client.force_login(bob)
        assert draw(client, offered, "decline").status_code == 200
        row = world.fresh(offered)
        assert (row.draw_offer, row.status) == ("", "running")
        # Who offered is told; who declined knows.
        assertNotContains(client.get(f"/games/{offered.pk}/"), "was declined")
        client.force_login(alice)
        assertContains(client.get(f"/games/{offered.pk}/"), "Your draw offer was declined.")

    @pytest.mark.parametrize("deed", ["accept", "decline"])
    def test_others_go_back_to_the_game(
        self, client: Client, offered: Game, bob: User, deed: str
    ) -> None:
        client.force_login(bob)
        answer = draw(client, offered, deed, htmx=False)
        assertRedirects(answer, f"/games/{offered.pk}/", status_code=303)

    @pytest.mark.parametrize("deed", ["accept", "decline"])
    def test_ones_own_offer_cannot_be_answered(
        self, client: Client, offered: Game, deed: str
    ) -> None:
        assertContains(draw(client, offered, deed), "no draw offer", status_code=409)
        assert world.fresh(offered).draw_offer == "b"

    @pytest.mark.parametrize("deed", ["accept", "decline"])
    def test_there_must_be_one(self, client: Client, game: Game, bob: User, deed: str) -> None:
        client.force_login(bob)
        assert draw(client, game, deed).status_code == 409

    @pytest.mark.parametrize("deed", ["accept", "decline"])
    def test_twice_is_once(self, client: Client, offered: Game, bob: User, deed: str) -> None:
        client.force_login(bob)
        draw(client, offered, deed)
        assert draw(client, offered, deed).status_code == 409


class TestEveryDeed:
    @pytest.mark.parametrize("htmx", [True, False])
    @pytest.mark.parametrize("deed", DEEDS)
    def test_an_old_page_is_stale(
        self, client: Client, alice: User, game: Game, deed: str, *, htmx: bool
    ) -> None:
        client.force_login(alice)
        answer = draw(client, game, deed, ply="2", htmx=htmx)
        assertContains(answer, "The game has moved on", status_code=409)

    @pytest.mark.parametrize("htmx", [True, False])
    @pytest.mark.parametrize("ply", ["", "x", "0", "9" * 40])
    @pytest.mark.parametrize("deed", DEEDS)
    def test_it_must_say_its_ply(
        self, client: Client, alice: User, game: Game, deed: str, ply: str, *, htmx: bool
    ) -> None:
        client.force_login(alice)
        assert draw(client, game, deed, ply=ply, htmx=htmx).status_code == 422

    @pytest.mark.parametrize("deed", DEEDS)
    def test_after_the_end(self, client: Client, alice: User, bob: User, deed: str) -> None:
        game = world.finished(alice, bob)
        client.force_login(alice)
        assertContains(draw(client, game, deed, ply="6"), "The game is over", status_code=409)

    @pytest.mark.parametrize("deed", DEEDS)
    def test_it_rejects_get(self, client: Client, alice: User, game: Game, deed: str) -> None:
        client.force_login(alice)
        assert client.get(f"/games/{game.pk}/draw/{deed}/").status_code == 405

    @pytest.mark.parametrize("deed", DEEDS)
    def test_it_requires_a_player_of_the_game(
        self, client: Client, offered: Game, deed: str
    ) -> None:
        client.force_login(world.person("carol"))
        assert draw(client, offered, deed).status_code == 403
        assert world.fresh(offered).draw_offer == "b"

    @pytest.mark.parametrize("deed", DEEDS)
    def test_a_private_game_is_missing_for_others(
        self, client: Client, alice: User, bob: User, deed: str
    ) -> None:
        game = world.running(alice, bob, private=True)
        client.force_login(world.person("carol"))
        assert draw(client, game, deed, ply="1").status_code == 404

    @pytest.mark.parametrize("deed", DEEDS)
    def test_logged_out_it_leads_to_the_login(self, client: Client, game: Game, deed: str) -> None:
        assert draw(client, game, deed, htmx=False).status_code == 302
        assert "HX-Redirect" in draw(client, game, deed).headers
