"""The board that an open page asks for: for a choice, and again and again for news."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from games import play
from games.models import Game
from tests import world

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def at_home(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def board(client: Client, game: Game, query: str = "", **headers: str) -> tuple[int, str]:
    answer = client.get(f"/games/{game.pk}/board/{query}", headers={**HTMX, **headers})
    return answer.status_code, answer.content.decode()


def poll(html: str) -> tuple[str, str]:
    """Where the page asks next, as a query, and how often."""
    found = re.search(r'<div id="poll"[^>]*hx-get="[^"?]*(\?[^"]*)"[^>]*"every (\d+s)"', html)
    assert found is not None, "this page asks no more"
    return unescape(found[1]), found[2]


def page(client: Client, game: Game, query: str = "") -> str:
    return client.get(f"/games/{game.pk}/{query}").content.decode()


class TestPoll:
    def test_nothing_new_swaps_nothing(self, at_home: Client, game: Game) -> None:
        query, every = poll(page(at_home, game))
        assert every == "10s"
        assert board(at_home, game, query) == (204, "")

    def test_it_needs_three_queries(
        self, at_home: Client, game: Game, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        query, _every = poll(page(at_home, game))
        with django_assert_max_num_queries(3):
            assert board(at_home, game, query)[0] == 204

    def test_a_private_game_needs_three_too(
        self,
        at_home: Client,
        alice: User,
        bob: User,
        django_assert_max_num_queries: DjangoAssertNumQueries,
    ) -> None:
        game = world.running(alice, bob, private=True)
        query, _every = poll(page(at_home, game))
        with django_assert_max_num_queries(3):
            assert board(at_home, game, query)[0] == 204

    def test_a_move_brings_everything_in_one_answer(
        self, client: Client, game: Game, bob: User
    ) -> None:
        client.force_login(bob)
        query, _every = poll(page(client, game))
        world.played(game, ["tiger:b1b3"])
        status, html = board(client, game, query)
        assert status == 200
        for part in ('id="square-b3"', 'class="record-table"', "side-clock", "side-card"):
            assert part in html
        assert '<div hx-swap-oob="innerHTML:#status">alice played Tiger b1–b3. Your move.' in html
        assert '<div hx-swap-oob="innerHTML:#turn-count">1</div>' in html
        assert "<html" not in html

    def test_a_draw_offer_is_news(self, client: Client, game: Game, alice: User, bob: User) -> None:
        client.force_login(bob)
        query, _every = poll(page(client, game))
        play.offer_draw(game.pk, alice, 1, now=timezone.now())
        status, html = board(client, game, query)
        assert status == 200
        assert "alice offers a draw" in html

    def test_a_choice_survives_it(self, at_home: Client, game: Game, bob: User) -> None:
        query, _every = poll(page(at_home, game, "?card=tiger&from=b1&to=b3"))
        play.offer_draw(game.pk, bob, 1, now=timezone.now())
        status, html = board(at_home, game, query)
        assert status == 200
        assert "Play Tiger b1–b3" in html
        assert poll(html)[0].endswith("ply=1&card=tiger&from=b1&to=b3")

    def test_a_choice_for_another_ply_does_not(self, at_home: Client, game: Game) -> None:
        query, _every = poll(page(at_home, game, "?from=b1"))
        world.played(game, ["crab:a1a2", "mantis:b5c4"])
        html = board(at_home, game, query)[1]
        assert "chosen" not in html
        assert 'id="undo"' not in html

    def test_it_moves_no_focus(self, at_home: Client, game: Game, bob: User) -> None:
        query, _every = poll(page(at_home, game, "?card=tiger&from=b1&to=b3"))
        play.offer_draw(game.pk, bob, 1, now=timezone.now())
        html = board(at_home, game, query)[1]
        assert "autofocus" not in html
        assert "data-focus" not in html

    def test_it_stops_when_the_game_is_over(self, at_home: Client, game: Game, bob: User) -> None:
        query, _every = poll(page(at_home, game))
        play.resign(game.pk, bob, now=timezone.now())
        status, html = board(at_home, game, query)
        assert status == 200
        assert "You won" in html
        assert 'id="poll"' not in html

    def test_clocks_are_brought_up_to_date_in_silence(self, at_home: Client, game: Game) -> None:
        status, html = board(at_home, game, f"?version={game.version}&until=1700000000&ply=1")
        assert status == 200
        assert 'id="square-b1"' in html
        assert "#status" not in html

    @pytest.mark.parametrize("until", ["", "x", "-1", "9" * 40, "١٢", "1e9"])
    def test_a_foreign_query_does_no_harm(self, at_home: Client, game: Game, until: str) -> None:
        assert board(at_home, game, f"?version={game.version}&until={until}")[0] in (200, 204)
        assert board(at_home, game, f"?version={until}&until=1")[0] == 200

    def test_strangers_may_ask_about_public_games(self, client: Client, game: Game) -> None:
        query, _every = poll(page(client, game))
        assert board(client, game, query)[0] == 204
        world.played(game, ["tiger:b1b3"])
        status, html = board(client, game, query)
        assert status == 200
        assert "turn-count" not in html

    def test_a_private_game_is_missing_for_others(
        self, client: Client, alice: User, bob: User
    ) -> None:
        game = world.running(alice, bob, private=True)
        assert board(client, game, "?version=1")[0] == 404
        assert board(client, game)[0] == 404
        client.force_login(world.person("carol"))
        assert board(client, game, "?version=1")[0] == 404
        assert board(client, game)[0] == 404


class TestAgainstTheComputer:
    @pytest.fixture
    def thinking(self, alice: User) -> Game:
        """The computer has just been asked."""
        return world.against_level(alice, actions=["tiger:b1b3"])

    def test_it_asks_every_second_for_a_minute(self, at_home: Client, thinking: Game) -> None:
        query, every = poll(page(at_home, thinking))
        assert every == "1s"
        assert board(at_home, thinking, query)[0] == 204

    def test_then_every_ten(self, at_home: Client, thinking: Game) -> None:
        query, _every = poll(page(at_home, thinking))
        began = timezone.now() - timedelta(seconds=61)
        Game.objects.filter(pk=thinking.pk).update(turn_began=began)
        assert poll(page(at_home, thinking))[1] == "10s"
        late = re.sub(r"until=\d+", f"until={int(began.timestamp()) + 61}", query)
        status, html = board(at_home, thinking, late)
        assert status == 200
        assert poll(html)[1] == "10s"
        assert board(at_home, thinking, poll(html)[0])[0] == 204

    def test_it_asks_slowly_on_the_players_own_turn(self, at_home: Client, alice: User) -> None:
        assert poll(page(at_home, world.against_level(alice)))[1] == "10s"


class TestChoice:
    def test_it_answers_with_the_part_alone(self, at_home: Client, game: Game) -> None:
        status, html = board(at_home, game, "?ply=1&from=b1")
        assert status == 200
        assert "<html" not in html
        assert "Choose where the piece on b1 goes" in html
        assert "hx-swap-oob" in html

    def test_focus_goes_on_to_the_last_press(self, at_home: Client, game: Game) -> None:
        html = board(at_home, game, "?ply=1&from=b1&to=b3")[1]
        assert re.search(r'id="confirm"[^>]* data-focus', html)

    def test_focus_goes_to_the_words_after_undo(self, at_home: Client, game: Game) -> None:
        html = board(at_home, game, **{"HX-Trigger": "undo"})[1]
        assert re.search(r'id="turn-title"[^>]* data-focus', html)

    def test_a_strangers_choice_does_nothing(self, client: Client, game: Game) -> None:
        client.force_login(world.person("carol"))
        html = board(client, game, "?ply=1&from=b1&to=b3&ask=resign")[1]
        assert "turn-form" not in html
        assert "chosen" not in html
        assert "confirm" not in html

    def test_it_rejects_post_and_answers_head(self, at_home: Client, game: Game) -> None:
        assert at_home.post(f"/games/{game.pk}/board/").status_code == 405
        assert at_home.head(f"/games/{game.pk}/board/").status_code == 200

    def test_it_is_not_stored(self, at_home: Client, game: Game) -> None:
        for query in ("", f"?version={game.version}"):
            control = at_home.get(f"/games/{game.pk}/board/{query}").headers["Cache-Control"]
            assert {"private", "no-cache"} <= set(control.split(", "))
