"""Making a move: with HTMX and without, by whom, when, and what is answered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import User
from games import play
from games.models import Game, Notice
from tests import world

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
TIGER = {"ply": "1", "card": "tiger", "from": "b1", "to": "b3"}


@pytest.fixture
def alice() -> User:
    return world.person("alice", away=False)


@pytest.fixture
def bob() -> User:
    return world.person("bob", away=False)


@pytest.fixture
def at_home(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[Game]:
    """The games whose workers were nudged."""
    games: list[Game] = []
    monkeypatch.setattr("games.views.game.wake", games.append)
    return games


def move(client: Client, game: Game, fields: dict[str, str], *, htmx: bool = True) -> Any:
    return client.post(f"/games/{game.pk}/move/", fields, headers=HTMX if htmx else {})


class TestMove:
    def test_htmx_gets_the_part(self, at_home: Client, game: Game, woken: list[Game]) -> None:
        answer = move(at_home, game, TIGER)
        assert answer.status_code == 200
        game = world.fresh(game)
        assert game.plies == 1
        assert game.position == "1021100000010000000033433 ox,crab,mantis,crane,tiger r"
        assertContains(answer, "Waiting for bob")
        assertContains(answer, "You played Tiger b1–b3")
        assertNotContains(answer, "<html")
        assert [row.pk for row in woken] == [game.pk]

    def test_others_are_sent_back_to_the_game(self, at_home: Client, game: Game) -> None:
        answer = move(at_home, game, TIGER, htmx=False)
        assert answer.status_code == 303
        assertRedirects(answer, f"/games/{game.pk}/", status_code=303)
        assert world.fresh(game).plies == 1

    def test_focus_goes_to_what_is_said_now(self, at_home: Client, game: Game) -> None:
        assertContains(move(at_home, game, TIGER), 'tabindex="-1" data-focus>Waiting for bob')

    def test_the_opponent_is_told(self, at_home: Client, game: Game, bob: User) -> None:
        move(at_home, game, TIGER)
        assert Notice.objects.filter(player=bob, key=f"turn:g{game.pk}:p2").exists()

    def test_it_ends_the_game(self, at_home: Client, alice: User, bob: User) -> None:
        game = world.running(alice, bob, world.BLUE_BY_STREAM[:-1])
        fields = {"ply": "5", "card": "tiger", "from": "c3", "to": "c5"}
        answer = move(at_home, game, fields)
        assertContains(answer, "You won")
        assertContains(answer, "By the Way of the Stream")
        assertNotContains(answer, 'id="poll"')

    def test_a_pass_carries_its_card_alone(self, at_home: Client, alice: User, bob: User) -> None:
        game = world.running(alice, bob, world.FORCED_PASS[:-1], deal=world.PASS_DEAL)
        assert move(at_home, game, {"ply": "8", "card": "dog"}).status_code == 200
        assert world.fresh(game).record.get(number=8).action == "dog:pass"

    def test_a_whole_game_goes_by_forms(self, client: Client, alice: User, bob: User) -> None:
        game = world.running(alice, bob)
        for number, token in enumerate(world.RED_BY_STREAM, 1):
            client.force_login((bob, alice)[number % 2])
            card, squares = token.split(":")
            fields = {"ply": str(number), "card": card, "from": squares[:2], "to": squares[2:]}
            assert move(client, game, fields, htmx=False).status_code == 303
        assert world.fresh(game).winner == "r"

    def test_it_needs_eighteen_queries_at_most(
        self, at_home: Client, game: Game, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        with django_assert_max_num_queries(18):
            assert move(at_home, game, TIGER).status_code == 200

    def test_the_computer_is_asked(self, at_home: Client, alice: User, woken: list[Game]) -> None:
        game = world.against_level(alice)
        answer = move(at_home, game, TIGER)
        assertContains(answer, "The computer answers within seconds")
        assertContains(answer, 'hx-trigger="every 1s"')
        assert woken[0].engine_due is not None


class TestStale:
    @pytest.mark.parametrize("htmx", [True, False])
    def test_twice_is_once(self, at_home: Client, game: Game, *, htmx: bool) -> None:
        move(at_home, game, TIGER)
        answer = move(at_home, game, TIGER, htmx=htmx)
        assertContains(answer, "The game has moved on", status_code=409)
        assertContains(answer, 'id="square-b3"', status_code=409)
        assert world.fresh(game).plies == 1

    def test_an_old_page_cannot_move_in_the_new_position(
        self, at_home: Client, game: Game, woken: list[Game]
    ) -> None:
        world.played(game, ["crab:a1a2", "mantis:b5c4"])
        fields = {"ply": "1", "card": "tiger", "from": "c1", "to": "c3"}
        answer = move(at_home, game, fields)
        assert answer.status_code == 409
        assertContains(answer, "Mantis b5–c4", status_code=409)
        assert world.fresh(game).plies == 2
        assert not woken

    def test_out_of_turn(self, client: Client, game: Game, bob: User) -> None:
        client.force_login(bob)
        fields = {"ply": "1", "card": "mantis", "from": "b5", "to": "c4"}
        assertContains(move(client, game, fields), "not your turn", status_code=409)

    def test_after_the_end(self, at_home: Client, alice: User, bob: User) -> None:
        game = world.finished(alice, bob)
        fields = {"ply": "6", "card": "crab", "from": "a1", "to": "a2"}
        assertContains(move(at_home, game, fields), "The game is over", status_code=409)

    @pytest.mark.parametrize("htmx", [True, False])
    def test_after_the_deadline(
        self, at_home: Client, alice: User, bob: User, *, htmx: bool
    ) -> None:
        game = world.running(
            alice, bob, world.BLUE_BY_STONE[:2], now=timezone.now() - timedelta(days=5)
        )
        fields = {"ply": "3", "card": "tiger", "from": "b2", "to": "b4"}
        answer = move(at_home, game, fields, htmx=htmx)
        assertContains(answer, "You lost", status_code=409)
        assert world.fresh(game).termination == "time"


class TestRefused:
    @pytest.mark.parametrize("htmx", [True, False])
    @pytest.mark.parametrize(
        "fields",
        [
            TIGER | {"to": "b4"},
            TIGER | {"from": "b5", "to": "b3"},
            TIGER | {"card": "mantis"},
            TIGER | {"card": "ox"},
            {"ply": "1", "card": "tiger"},
        ],
    )
    def test_illegal(
        self, at_home: Client, game: Game, fields: dict[str, str], *, htmx: bool
    ) -> None:
        answer = move(at_home, game, fields, htmx=htmx)
        assertContains(answer, "not legal here", status_code=422)
        assertContains(answer, 'id="square-b1"', status_code=422)
        assert world.fresh(game).plies == 0

    @pytest.mark.parametrize("htmx", [True, False])
    @pytest.mark.parametrize(
        "fields",
        [
            {},
            TIGER | {"ply": ""},
            TIGER | {"ply": "x"},
            TIGER | {"ply": "0"},
            TIGER | {"ply": "9" * 30},
            TIGER | {"card": "unicorn"},
            TIGER | {"from": "z9"},
            TIGER | {"from": ""},
            TIGER | {"to": ""},
            TIGER | {"to": "b33"},
        ],
    )
    def test_malformed(
        self, at_home: Client, game: Game, fields: dict[str, str], *, htmx: bool
    ) -> None:
        answer = move(at_home, game, fields, htmx=htmx)
        assertContains(answer, "That is not a move", status_code=422)
        assert world.fresh(game).plies == 0

    def test_the_page_says_so_in_place(self, at_home: Client, game: Game) -> None:
        answer = move(at_home, game, TIGER | {"to": "b4"}, htmx=False)
        assertContains(answer, '<p class="error">That move is not legal here.</p>', status_code=422)
        assertContains(answer, "<html", status_code=422)

    def test_get(self, at_home: Client, game: Game) -> None:
        assert at_home.get(f"/games/{game.pk}/move/").status_code == 405
        assert at_home.head(f"/games/{game.pk}/move/").status_code == 405

    def test_without_the_csrf_token(self, alice: User, game: Game) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(alice)
        assert move(client, game, TIGER).status_code == 403
        assert world.fresh(game).plies == 0


class TestOthers:
    def test_a_stranger_is_refused(self, client: Client, game: Game) -> None:
        client.force_login(world.person("carol"))
        assert move(client, game, TIGER).status_code == 403
        assert move(client, game, {}).status_code == 403
        assert world.fresh(game).plies == 0

    def test_a_private_game_is_missing(self, client: Client, alice: User, bob: User) -> None:
        game = world.running(alice, bob, private=True)
        client.force_login(world.person("carol"))
        assert move(client, game, TIGER).status_code == 404
        assert move(client, game, {}).status_code == 404

    def test_an_unknown_game_is_missing(self, at_home: Client) -> None:
        assert at_home.post("/games/1/move/", TIGER).status_code == 404
        assert at_home.post(f"/games/{10**30}/move/", TIGER).status_code == 404

    def test_logged_out_it_leads_to_the_login(self, client: Client, game: Game) -> None:
        answer: HttpResponse = move(client, game, TIGER, htmx=False)
        assertRedirects(
            answer,
            f"/accounts/login/?next=/games/{game.pk}/",
            fetch_redirect_response=False,
        )

    def test_logged_out_htmx_is_led_there_whole(self, client: Client, game: Game) -> None:
        answer = move(client, game, TIGER)
        assert answer.status_code == 200
        assert answer.headers["HX-Redirect"] == f"/accounts/login/?next=%2Fgames%2F{game.pk}%2F"
        assert answer.content == b""
        assert world.fresh(game).plies == 0

    def test_a_level_cannot_be_moved_for(self, at_home: Client, alice: User) -> None:
        game = world.against_level(alice, actions=["tiger:b1b3"])
        fields = {"ply": "2", "card": "mantis", "from": "b5", "to": "c4"}
        assert move(at_home, game, fields).status_code == 409


def test_what_a_deed_settled_stays_settled(at_home: Client, alice: User, bob: User) -> None:
    game = world.running(
        alice, bob, world.BLUE_BY_STONE[:2], now=timezone.now() - timedelta(days=5)
    )
    answer = at_home.post(f"/games/{game.pk}/resign/", headers=HTMX)
    assert answer.status_code == 409
    assert world.fresh(game).termination == "time"
    assert not play.can_abort(world.fresh(game))
