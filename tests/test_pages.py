"""The pages without a game: landing, rules, errors; and what every page carries."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.db import connection
from django.http import HttpRequest
from django.template.loader import get_template
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import User
from games.models import Level
from games.onitama.cards import CARDS
from games.templatetags.board import card_name
from onitama_site import errors
from tests import world

pytestmark = pytest.mark.django_db


class TestLanding:
    def test_it_lets_a_stranger_play_the_computer_at_once(self, client: Client) -> None:
        html = client.get("/").content.decode()
        form = re.search(r'<form method="post" action="/games/computer/">.*?</form>', html, re.S)
        assert form is not None
        assert 'name="level" value="white-belt"' in form[0]
        assert "csrfmiddlewaretoken" in form[0]

    def test_it_names_every_belt(self, client: Client) -> None:
        html = client.get("/").content.decode()
        offered = re.findall(r'href="/games/new/\?level=([a-z-]+)">([^<]+)</a>', html)
        assert offered == [(level.value, level.label) for level in Level]

    def test_it_offers_to_sign_up_and_log_in(self, client: Client) -> None:
        answer = client.get("/")
        assertContains(answer, f'href="{reverse("account_signup")}"')
        assertContains(answer, f'href="{reverse("account_login")}"')

    def test_it_sends_players_to_their_games(self, client: Client, alice: User) -> None:
        client.force_login(alice)
        assertRedirects(client.get("/"), reverse("your_turn"))

    def test_it_hides_its_picture_from_ears(self, client: Client) -> None:
        html = client.get("/").content.decode()
        picture = html[html.index('class="hero-board"') :]
        assert picture.startswith('class="hero-board" aria-hidden="true"')
        assert "<a " not in picture[: picture.index('class="opponents"')]

    @pytest.mark.parametrize("path", ["/", "/rules/"])
    def test_it_rejects_post(self, client: Client, path: str) -> None:
        assert client.post(path).status_code == 405

    @pytest.mark.parametrize("path", ["/", "/rules/"])
    def test_it_answers_head(self, client: Client, path: str) -> None:
        assert client.head(path).status_code == 200


class TestRules:
    def test_it_draws_every_card_once_by_set(self, client: Client) -> None:
        html = client.get("/rules/").content.decode()
        shown = html[html.index("cards-title") :]
        drawn = re.findall(r'class="card-name">([^<]+)<', shown)
        assert drawn == [card_name(name) for name in CARDS]

    @pytest.mark.parametrize(
        "word",
        ["Way of the Stone", "Way of the Stream", "stamp", "pass", "Repetition", "taken back"],
    )
    def test_it_explains(self, client: Client, word: str) -> None:
        assertContains(client.get("/rules/"), word)

    def test_it_needs_no_query_for_a_stranger(self, client: Client) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(connection, "ensure_connection", None)
            assert client.get("/rules/").status_code == 200


class TestHeader:
    def test_a_stranger_sees_no_games(self, client: Client) -> None:
        answer = client.get("/rules/")
        assertNotContains(answer, "turn-count")
        assertNotContains(answer, "Archive")

    def test_a_player_sees_how_many_games_wait(self, client: Client, alice: User) -> None:
        world.running(alice, world.person("bob"))
        world.running(world.person("carol"), alice)
        client.force_login(alice)
        html = client.get("/rules/").content.decode()
        assert re.search(r'id="turn-count" class="badge">1<', html)

    def test_the_badge_is_empty_when_none_waits(self, client: Client, alice: User) -> None:
        client.force_login(alice)
        assertContains(client.get("/rules/"), 'id="turn-count" class="badge"></span>')

    def test_a_guest_is_asked_to_sign_up(self, client: Client) -> None:
        client.force_login(world.guest())
        answer = client.get("/rules/")
        assertContains(answer, "Sign up and keep my games")
        assertNotContains(answer, "Log out")

    def test_it_tells_where_one_is(self, client: Client) -> None:
        assertContains(client.get("/rules/"), 'href="/rules/" aria-current="page"')


class TestStrictness:
    @pytest.mark.parametrize("path", ["/", "/rules/", "/nowhere/"])
    def test_nothing_is_inline(self, client: Client, path: str) -> None:
        html = client.get(path).content.decode()
        assert " style=" not in html
        assert "<style" not in html
        assert not re.search(r"<script(?![^>]* src=)", html)
        assert not re.search(r" on\w+=", html)
        assert "hx-on" not in html

    def test_the_policy_allows_nothing_inline(self, client: Client) -> None:
        policy = client.get("/rules/").headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy

    def test_htmx_is_told_before_it_is_loaded(self, client: Client) -> None:
        html = client.get("/rules/").content.decode()
        assert html.index('name="htmx-config"') < html.index("htmx-2.min.js")
        assert '"allowEval":false' in html


class TestErrors:
    def test_a_missing_page_is_a_404_in_our_look(self, client: Client) -> None:
        answer = client.get("/nowhere/")
        assertContains(answer, "There is nothing at this address", status_code=404)
        assertContains(answer, "wordmark", status_code=404)

    def test_a_bad_request_is_a_400(self, rf: RequestFactory) -> None:
        answer = errors.bad_request(rf.get("/"), Exception("anything"))
        assert answer.status_code == 400
        assert b"makes no sense" in answer.content

    def test_a_nul_is_a_bad_request(self, client: Client) -> None:
        answer = client.get("/rules/", {"x": "\0"})
        assertContains(answer, "makes no sense", status_code=400)

    def test_a_forbidden_thing_is_a_403(self, rf: RequestFactory) -> None:
        answer = errors.permission_denied(rf.get("/"), Exception("anything"))
        assert answer.status_code == 403
        assert b"not yours" in answer.content

    def test_a_failed_csrf_check_says_what_to_do(self) -> None:
        answer = Client(enforce_csrf_checks=True).post("/games/computer/")
        assertContains(answer, "load the page again", status_code=403)

    def test_htmx_loads_a_page_with_an_old_token_again(self) -> None:
        client = Client(enforce_csrf_checks=True)
        answer = client.post("/games/computer/", headers={"HX-Request": "true"})
        assert (answer.status_code, answer.headers["HX-Refresh"]) == (403, "true")
        assert "HX-Refresh" not in client.post("/games/computer/").headers

    def test_a_crash_gets_its_page_without_a_database(
        self, rf: RequestFactory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        request = rf.get("/")
        monkeypatch.setattr(connection, "ensure_connection", None)
        answer = errors.server_error(request)
        assert answer.status_code == 500
        assert b"every move that was confirmed is kept" in answer.content

    def test_a_crash_in_a_view_gets_that_page(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def crash(request: HttpRequest) -> None:
            raise RuntimeError("of the test")

        monkeypatch.setattr("games.views.pages.CARDS_BY_SET", property(crash))
        client = Client(raise_request_exception=False)
        answer = client.get("/rules/")
        assertContains(answer, "Something broke on our side", status_code=500)

    @pytest.mark.parametrize("code", ["400", "403", "403_csrf", "404", "500"])
    def test_every_error_page_renders_alone(self, code: str) -> None:
        html = get_template(f"{code}.html").render()
        assert "<h1>" in html
        assert "Log in" in html


def test_a_browser_finds_the_icon_where_no_page_names_one(client: Client) -> None:
    """Beside the plain text of a record, say."""
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer["Location"]) == (302, "/static/favicon.svg")
    assert set(answer["Cache-Control"].split(", ")) == {"private", "max-age=86400"}
    assert client.head("/favicon.ico").status_code == 302


def test_the_pages_are_not_in_debug() -> None:
    assert settings.DEBUG is False
