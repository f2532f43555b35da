"""Replaying a game: an address for every ply, of games over and of games that go on."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains

from accounts.models import User
from games import play
from games.models import Game, Notice
from tests import world

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    """Alice, Blue, wins at ply 5 by the Way of the Stream."""
    return world.finished(alice, bob, world.BLUE_BY_STREAM)


def address(game: Game, number: int, query: str = "") -> str:
    return f"/games/{game.pk}/ply/{number}/{query}"


def page(client: Client, game: Game, number: int, query: str = "") -> str:
    answer = client.get(address(game, number, query))
    assert answer.status_code == 200
    return answer.content.decode()


def link_of(html: str, id_: str) -> str | None:
    """Where the link of this id leads; None when it leads nowhere."""
    tag = re.search(rf'<a id="{id_}"[^>]*>', html)
    assert tag is not None, f"no link {id_}"
    href = re.search(r'href="([^"]*)"', tag[0])
    return href and href[1]


def squares(html: str) -> list[str]:
    return re.findall(r'id="square-(\w\d)"', html)


def test_every_ply_has_an_address(client: Client, game: Game) -> None:
    for number, position in enumerate(play.positions(game)):
        html = page(client, game, number)
        for card in position.cards:
            assert card.title() in html
        piece = {"0": "empty", "1": "blue student", "2": "blue master"}
        assert f'aria-label="c3, {piece[position.board[12]]}' in html
        assert f"Ply {number} of 5" in html or number == 5


def test_no_ply_lies_beyond_the_last(client: Client, game: Game) -> None:
    assert client.get(address(game, 6)).status_code == 404
    assert client.get(address(game, 10**30)).status_code == 404
    assert client.get(f"/games/{game.pk}/ply/-1/").status_code == 404
    assert client.get("/games/99999/ply/0/").status_code == 404


def test_it_marks_the_last_move(client: Client, game: Game) -> None:
    html = page(client, game, 3)
    assert "c2, empty, left last" in html
    assert "c3, blue master, moved last" in html
    assert 'id="ply-3"' in html
    assert re.search(r'id="ply-3"[^>]*aria-current="true"', html)
    assert html.count('aria-current="true"') == 1
    assert "moved last" not in page(client, game, 0)


def test_the_links_lead_through_the_game(client: Client, game: Game) -> None:
    html = page(client, game, 2)
    for id_, number in {"first": 0, "prev": 1, "next": 3, "last": 5}.items():
        assert link_of(html, id_) == address(game, number)


def test_the_links_end_where_the_game_does(client: Client, game: Game) -> None:
    start, end = page(client, game, 0), page(client, game, 5)
    assert [link_of(start, id_) for id_ in ("first", "prev")] == [None, None]
    assert [link_of(end, id_) for id_ in ("next", "last")] == [None, None]
    assert link_of(start, "next") == address(game, 1)
    assert link_of(end, "prev") == address(game, 4)


def test_the_result_stands_at_the_end_alone(client: Client, game: Game) -> None:
    assert "Blue won" in page(client, game, 5)
    assert "Blue won" not in page(client, game, 4)


@pytest.mark.parametrize(("name", "words"), [("alice", "You won"), ("bob", "You lost")])
def test_the_result_is_told_from_the_readers_side(
    client: Client, game: Game, name: str, words: str
) -> None:
    client.force_login(User.objects.get(username=name))
    assert words in page(client, game, 5)


def test_the_readers_side_is_below(client: Client, game: Game, alice: User, bob: User) -> None:
    assert squares(page(client, game, 0))[0] == "a5"
    client.force_login(bob)
    assert squares(page(client, game, 0))[0] == "e1"
    client.force_login(alice)
    assert squares(page(client, game, 0))[0] == "a5"


def test_the_board_can_be_flipped_and_stays_so(client: Client, game: Game, bob: User) -> None:
    flip = link_of(page(client, game, 2), "flip")
    assert flip == address(game, 2, "?side=r")
    html = page(client, game, 2, "?side=r")
    assert squares(html)[0] == "e1"
    assert link_of(html, "next") == address(game, 3, "?side=r")
    assert link_of(html, "ply-1") == address(game, 1, "?side=r")
    assert link_of(html, "flip") == address(game, 2)
    client.force_login(bob)
    assert link_of(page(client, game, 2), "flip") == address(game, 2, "?side=b")
    assert squares(page(client, game, 2, "?side=b"))[0] == "a5"


@pytest.mark.parametrize("side", ["", "x", "blue", "b" * 500])
def test_a_side_that_is_none_is_the_readers(client: Client, game: Game, side: str) -> None:
    assert squares(page(client, game, 1, f"?side={side}"))[0] == "a5"


def test_a_running_game_is_replayed_so_far(client: Client, alice: User, bob: User) -> None:
    game = world.running(alice, bob, world.REPETITION[:3])
    html = page(client, game, 3)
    assert f'href="/games/{game.pk}/"' in html
    assert "Ply 3 of 3" in html
    assert "won" not in html
    assert client.get(address(game, 4)).status_code == 404


def test_a_finished_game_has_no_link_to_a_running_one(client: Client, game: Game) -> None:
    assertNotContains(client.get(address(game, 1)), "To the running game")


def test_a_game_without_a_ply_has_its_start(client: Client, alice: User, bob: User) -> None:
    game = play.abort(world.running(alice, bob).pk, alice, now=NOW)
    html = page(client, game, 0)
    assert "Game aborted" in html
    assert all(link_of(html, id_) is None for id_ in ("first", "prev", "next", "last"))


def test_it_shows_a_pass(client: Client, alice: User, bob: User) -> None:
    game = world.running(alice, bob, world.FORCED_PASS, deal=world.PASS_DEAL)
    html = page(client, game, 8)
    assert "alice passed with Dog." in html
    assert "moved last" not in html


def test_nothing_can_be_chosen_in_it(client: Client, alice: User, bob: User) -> None:
    game = world.running(alice, bob)
    client.force_login(alice)
    html = page(client, game, 0)
    assert "/move/" not in html
    assert "?ply=" not in html


def test_it_is_no_look_at_the_game(client: Client, alice: User, bob: User) -> None:
    game = world.running(alice, bob)
    client.force_login(alice)
    page(client, game, 0)
    assert Notice.objects.get(game=game, player=alice).seen is None


def test_a_private_game_is_for_its_players(client: Client, alice: User, bob: User) -> None:
    game = world.finished(alice, bob, private=True)
    assert client.get(address(game, 1)).status_code == 404
    client.force_login(world.person("carol"))
    assert client.get(address(game, 1)).status_code == 404
    client.force_login(bob)
    assertContains(client.get(address(game, 1)), "noindex")


def test_it_is_kept_by_no_cache(client: Client, game: Game) -> None:
    answer = client.get(address(game, 1))
    assert answer["Cache-Control"] == "private, no-cache"


def test_htmx_gets_the_same_page(client: Client, game: Game) -> None:
    """It picks its part out of it, so one address has one answer."""
    plain = client.get(address(game, 1)).content
    assert client.get(address(game, 1), headers={"HX-Request": "true"}).content == plain


def test_it_answers_no_post(client: Client, game: Game) -> None:
    assert client.post(address(game, 1)).status_code == 405


def test_it_asks_as_much_for_each_ply(
    client: Client, game: Game, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(bob)
    page(client, game, 0)
    for number in (0, 5):
        with django_assert_max_num_queries(8):
            page(client, game, number)
