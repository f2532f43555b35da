"""Your turn: what waits for me, what I wait for, and what has just ended."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import User
from games import challenges, play
from games.clock import PRESETS
from games.models import Challenge, Game, Notice
from games.views import lists
from tests import world

pytestmark = pytest.mark.django_db

Page = Callable[..., str]


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def page(client: Client, alice: User) -> Page:
    """Alice's page as text, each element on one line."""
    client.force_login(alice)

    def get(query: str = "") -> str:
        response = client.get(f"/games/{query}")
        assert response.status_code == 200
        return response.content.decode()

    return get


def tiles(text: str) -> list[str]:
    return [" ".join(_words(tile)) for tile in re.findall(r'<li class="tile.*?</li>', text, re.S)]


def _words(markup: str) -> list[str]:
    return re.sub(r"<[^>]*>", " ", markup).split()


def challenge(by: User, to: User, now: datetime, **terms: object) -> Challenge:
    given: dict[str, object] = {
        "control": PRESETS["3+1"],
        "colour": "b",
        "deck": "base",
        "private": False,
    }
    return challenges.challenge(by, to, **{**given, **terms}, now=now)  # type: ignore[arg-type]


# --- who ------------------------------------------------------------------------------------


def test_it_asks_a_stranger_to_log_in(client: Client) -> None:
    assertRedirects(
        client.get("/games/"), "/accounts/login/?next=/games/", fetch_redirect_response=False
    )


def test_it_answers_no_post(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.post("/games/").status_code == 405


def test_it_is_kept_by_no_cache(client: Client, alice: User) -> None:
    client.force_login(alice)
    header = client.get("/games/")["Cache-Control"]
    assert "private" in header and "no-cache" in header


def test_it_shows_nothing_of_others(page: Page, alice: User, bob: User) -> None:
    carol = world.person("carol")
    world.running(bob, carol)
    challenge(bob, carol, timezone.now())
    text = page()
    assert "bob" not in text and "carol" not in text


# --- the games ------------------------------------------------------------------------------


def test_it_says_what_to_do_without_games(page: Page) -> None:
    text = page()
    assert "No game of yours is running." in text
    assert 'href="/games/new/"' in text and 'href="/rules/"' in text


def test_it_shows_a_game_that_waits_for_me(
    page: Page, alice: User, bob: User, now: datetime
) -> None:
    game = world.running(bob, alice, ["crab:a1a2"], now=now - timedelta(minutes=20, seconds=5))
    text = page()
    assert "One game waits for you." in text
    assert f'href="/games/{game.pk}/"' in text
    assert tiles(text) == ["Against bob Crab a1–a2 · 20 min ago ply 1 2 d 23 h left"]
    assert 'class="mark blue"' in text


def test_it_shows_a_game_in_which_i_wait(page: Page, alice: User, bob: User, now: datetime) -> None:
    world.running(alice, bob, ["crab:a1a2"], now=now - timedelta(hours=1, seconds=5))
    text = page()
    assert "No game waits for you. It is the others’ turn." in text
    [tile] = tiles(text)
    assert tile == "Against bob you played Crab a1–a2 an hour ago 2 d 22 h for them"


def test_it_shows_a_game_just_dealt(page: Page, alice: User, bob: User) -> None:
    world.running(alice, bob)
    [tile] = tiles(page())
    assert tile.startswith("Against bob cards dealt · just now you begin")


def test_it_says_that_the_computer_has_no_clock(page: Page, alice: User) -> None:
    world.against_level(alice)
    [tile] = tiles(page())
    assert tile.endswith("you begin · computer no clock")


def test_the_most_urgent_comes_first_and_no_clock_last(
    page: Page, alice: User, now: datetime
) -> None:
    world.against_level(alice, now=now - timedelta(days=9))
    for name, age in (("early", 1), ("latest", 60), ("middle", 30)):
        world.running(alice, world.person(name), now=now - timedelta(hours=age))
    found = [tile.split()[1] for tile in tiles(page())]
    assert found == ["latest", "middle", "early", "random"]


@pytest.mark.parametrize(
    ("gone", "said", "urgent"),
    [
        (timedelta(hours=59), "13 h 00 min left", False),
        (timedelta(hours=65), "only 7 h 00 min left", True),
        (timedelta(hours=73), "no time left", True),
    ],
)
def test_little_time_is_said_in_words_and_red(
    page: Page, alice: User, bob: User, now: datetime, gone: timedelta, said: str, urgent: bool
) -> None:
    world.running(alice, bob, now=now - gone + timedelta(seconds=30))
    text = page()
    assert tiles(text)[0].endswith(said)
    assert ("tile-clock strong urgent" in text) is urgent


def test_an_offered_draw_is_shown_first_among_those_that_wait(
    page: Page, alice: User, bob: User, now: datetime
) -> None:
    world.running(alice, world.person("carol"), ["crab:a1a2"], now=now - timedelta(hours=9))
    game = world.running(alice, bob, ["crab:a1a2"], now=now)
    play.offer_draw(game.pk, bob, 2, now=now)
    first, second = tiles(page())
    assert "bob" in first and "offers you a draw" in first
    assert "carol" in second and "draw" not in second


def test_a_private_game_is_marked(page: Page, alice: User, bob: User) -> None:
    world.running(alice, bob, private=True)
    assert "private" in tiles(page())[0]


def test_looking_here_is_not_seeing_the_game(page: Page, alice: User, bob: User) -> None:
    world.running(alice, bob)
    page()
    assert Notice.objects.get(player=alice).seen is None


def test_many_games_to_move_are_all_shown_and_those_waiting_by_a_link(
    page: Page, alice: User, bob: User, now: datetime
) -> None:
    world.copies(world.running(alice, bob, now=now), 40)
    world.copies(world.running(alice, bob, ["crab:a1a2"], now=now), 40)
    text = page()
    assert "41 games wait for you. The most urgent comes first." in text
    assert len(tiles(text)) == 41 + lists.WAITING_SHOWN
    assert "Show all 41 games in which you wait" in text
    text = page("?waiting=all")
    assert len(tiles(text)) == 82 and "Show all" not in text


def test_where_no_clock_runs_nothing_is_urgent(page: Page, alice: User, now: datetime) -> None:
    for _ in range(2):
        world.against_level(alice, now=now)
    text = page()
    assert "2 games wait for you." in text
    assert "The most urgent comes first." not in text


def test_it_asks_as_much_for_300_games_as_for_3(
    client: Client, alice: User, bob: User, now: datetime
) -> None:
    client.force_login(alice)
    client.get("/games/")
    mine = world.running(alice, bob, now=now)
    theirs = world.running(alice, bob, ["crab:a1a2"], now=now)
    over = world.finished(alice, bob, now=now)
    challenge(bob, alice, now)
    with CaptureQueriesContext(connection) as few:
        client.get("/games/")
    for game in (mine, theirs, over):
        world.copies(game, 300)
    for n in range(20):
        challenge(world.person(f"player{n}"), alice, now)
    with CaptureQueriesContext(connection) as many:
        client.get("/games/")
    assert len(many) == len(few) <= 9


# --- what has just ended --------------------------------------------------------------------


def test_it_shows_what_has_just_ended(page: Page, alice: User, bob: User, now: datetime) -> None:
    won = world.finished(alice, bob, now=now)
    world.finished(bob, alice, now=now - timedelta(days=1))
    world.finished(alice, bob, world.REPETITION, now=now - timedelta(days=2))
    old = world.finished(alice, bob, now=now - timedelta(days=8))
    text = page()
    found = [_words(row) for row in re.findall(r'<li>\s*<span class="\w+".*?</li>', text, re.S)]
    assert [row[0] for row in found] == ["Won", "Lost", "Draw"]
    assert " ".join(found[0]) == "Won against bob · Way of the Stream 5 plies · just now"
    assert f'href="/games/{won.pk}/"' in text and f'href="/games/{old.pk}/"' not in text
    assert 'href="/archive/"' in text


def test_it_shows_ten_of_them_at_most(page: Page, alice: User, bob: User, now: datetime) -> None:
    world.copies(world.finished(alice, bob, now=now), 20)
    assert page().count("Way of the Stream") == lists.FINISHED_SHOWN


# --- challenges -----------------------------------------------------------------------------


def test_a_challenge_can_be_answered_here(
    page: Page, client: Client, alice: User, bob: User, now: datetime
) -> None:
    row = challenge(bob, alice, now)
    text = page()
    assert "bob challenges you" in text
    assert "3 days + 1 day a move · you play Red · 16 base cards · public" in " ".join(_words(text))
    assert f'action="/challenges/{row.pk}/accept/"' in text
    assert f'action="/challenges/{row.pk}/decline/"' in text
    assert "I have enough games for now" in text
    assert "withdraw" not in text


def test_a_challenge_of_mine_can_be_withdrawn_here(
    page: Page, alice: User, bob: User, now: datetime
) -> None:
    row = challenge(alice, bob, now, colour="", deck="all34", private=True)
    text = page()
    assert "You challenge bob" in text
    assert "sides are drawn · 34 cards: base, Sensei’s Path, Goat and Sheep · private" in " ".join(
        _words(text)
    )
    assert f'action="/challenges/{row.pk}/withdraw/"' in text
    assert "accept" not in text


def test_closed_and_expired_challenges_are_gone(
    page: Page, alice: User, bob: User, now: datetime
) -> None:
    challenge(bob, alice, now - challenges.OPEN_FOR)
    challenges.decline(challenge(bob, alice, now).pk, alice, "", now=now)
    assert "Challenges" not in page()


# --- nudges ---------------------------------------------------------------------------------


def test_a_guest_sees_the_same_and_is_told_to_sign_up(client: Client) -> None:
    guest = world.guest()
    world.against_level(guest)
    client.force_login(guest)
    response = client.get("/games/")
    assertContains(response, "One game waits for you.")
    assertContains(response, "You play as a guest of this browser.")
    assertContains(response, 'href="/accounts/signup/"')


def test_a_person_without_a_confirmed_address_is_told_so(client: Client) -> None:
    client.force_login(world.person("carol", confirmed=False))
    assertContains(client.get("/games/"), "your address is not confirmed yet")
    client.force_login(world.person("dora"))
    assertNotContains(client.get("/games/"), "not confirmed")


def test_the_header_counts_the_games_that_wait(page: Page, alice: User, bob: User) -> None:
    world.copies(world.running(alice, bob), 2)
    assert '<span id="turn-count" class="badge">3</span>' in page()
    assert Game.objects.count() == 3
