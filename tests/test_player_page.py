"""A player's page: who they are and the games a reader may see, and nothing else."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import User
from games import strengths
from games.models import Game
from games.views import lists
from tests import world

pytestmark = pytest.mark.django_db

PAGE = "/players/alice/"


@pytest.fixture
def alice() -> User:
    player = world.person("alice")
    player.date_joined = datetime(2026, 3, 5, tzinfo=UTC)
    player.last_navigation = datetime(2026, 4, 6, 7, 8, tzinfo=UTC)
    player.save(update_fields=["date_joined", "last_navigation"])
    return player


def as_player(player: User) -> Client:
    client = Client()
    client.force_login(player)
    return client


def games_on(client: Client, path: str = PAGE) -> set[Game]:
    text = client.get(path).content.decode()
    return {game for game in Game.objects.all() if f'href="/games/{game.pk}/"' in text}


# --- who ------------------------------------------------------------------------------------


def test_it_says_who_somebody_is(client: Client, alice: User) -> None:
    response = client.get(PAGE)
    assertContains(response, "<h1>alice</h1>", html=True)
    assertContains(response, "Plays here since March 2026.")
    assertContains(response, 'href="/games/new/?opponent=alice"')


def test_it_says_neither_address_nor_when_somebody_was_here(client: Client, alice: User) -> None:
    response = client.get(PAGE)
    for secret in ("example.org", "April", "7:08", "07:08"):
        assertNotContains(response, secret)


def test_it_says_what_a_level_is(client: Client) -> None:
    response = client.get("/players/green-belt/")
    assertContains(response, "Looks at each of your answers before it moves.")
    assertContains(response, 'href="/games/new/?level=green-belt"')
    assertNotContains(response, "opponent=")


def test_it_says_nothing_of_strength_that_was_not_measured(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strengths, "MATCHES", world.measured()[1:])
    assertNotContains(client.get("/players/green-belt/"), "Strength")


def test_it_shows_the_ladder_and_the_matches_behind_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strengths, "MATCHES", world.measured())
    html = client.get("/players/green-belt/").content.decode()
    ladder = html[html.index('class="ladder"') : html.index("</ol>")]
    points = [int(found) for found in re.findall(r'class="ladder-elo">(\d+)<', ladder)]
    assert points == [191 * n for n in reversed(range(8))]
    assert ladder.count("+191<") == 7
    widths = [int(found) for found in re.findall(r'rect width="(\d+)"', ladder)]
    assert widths == sorted(widths, reverse=True)
    assert (widths[0], widths[-1]) == (1000, 10)
    here = re.findall(r'<li class="here" aria-current="true">.*?</li>', ladder, re.S)
    assert len(here) == 1
    assert "Green belt</span>" in here[0]
    assert html.index('class="ladder"') < html.index("<table")
    assert "Green belt against Orange belt" in html
    assert "White belt against random" in html
    assert "140–20–40" in html
    assert "(+130 to +250)" in html
    assert "python manage.py engine_match green-belt orange-belt --games 200" in html


def test_an_old_level_says_who_plays_instead(client: Client) -> None:
    response = client.get("/players/four-ply/")
    assertContains(response, "An old level of the computer: it begins no more games")
    assertContains(response, 'href="/games/new/?level=green-belt">Play instead: Green belt</a>')
    assertNotContains(response, "level=four-ply")


def test_it_says_what_a_guest_is(client: Client) -> None:
    guest = world.guest()
    response = client.get(f"/players/{guest.username}/")
    assertContains(response, "A guest, who plays the computer without an account.")
    assertNotContains(response, "opponent=")


def test_nobody_is_offered_to_challenge_themselves(alice: User) -> None:
    response = as_player(alice).get(PAGE)
    assertNotContains(response, "opponent=")
    assertContains(response, 'href="/preferences/"')


def test_nobody_is_offered_to_challenge_a_closed_account(client: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assertNotContains(client.get(PAGE), "opponent=")


@pytest.mark.parametrize("name", ["ALICE", "Alice", "aLiCe"])
def test_any_case_leads_to_the_right_spelling(client: Client, alice: User, name: str) -> None:
    assertRedirects(client.get(f"/players/{name}/"), PAGE)


@pytest.mark.parametrize(
    "name", ["nobody", "x" * 3000, "%F0%9F%80%84", "%25", "a_ice", "%ff", "..", "%2e%2e"]
)
def test_there_is_no_page_of_nobody(client: Client, alice: User, name: str) -> None:
    assert client.get(f"/players/{name}/").status_code == 404


def test_a_nul_is_refused(client: Client) -> None:
    assert client.get("/players/a%00b/").status_code == 400


def test_it_answers_no_post(client: Client, alice: User) -> None:
    assert client.post(PAGE).status_code == 405


# --- games ----------------------------------------------------------------------------------


def test_it_shows_games_to_everybody(client: Client, alice: User, bob: User) -> None:
    running = world.running(alice, bob, ["crab:a1a2"])
    over = world.finished(bob, alice)
    world.running(bob, world.person("carol"))
    response = client.get(PAGE)
    assertContains(response, "against bob · Way of the Stream")
    assertContains(response, '<span class="lost">Lost</span>')
    assert games_on(client) == {running, over}


def test_it_shows_private_games_to_their_players_alone(
    client: Client, alice: User, bob: User
) -> None:
    running = world.running(alice, bob, private=True)
    over = world.finished(alice, bob, private=True)
    carol = world.person("carol")
    own = world.running(alice, carol, private=True)
    assert games_on(client) == set()
    assert games_on(as_player(world.guest())) == set()
    assert games_on(as_player(carol)) == {own}
    assert games_on(as_player(bob)) == {running, over}
    assert games_on(as_player(alice)) == {running, over, own}
    assertNotContains(client.get(PAGE), "bob")
    assertContains(client.get(PAGE), "None that you can look at.", count=2)


def test_it_counts_what_the_reader_may_see(client: Client, alice: User, bob: User) -> None:
    world.copies(world.running(alice, bob), 14)
    world.copies(world.running(alice, bob, private=True), 4)
    assertContains(client.get(PAGE), '<span class="muted">15</span>', html=True)
    assertContains(as_player(bob).get(PAGE), '<span class="muted">20</span>', html=True)
    assert len(games_on(client)) == lists.RUNNING_SHOWN


def test_it_counts_no_further_than_anybody_wants_to_know(client: Client, bob: User) -> None:
    world.copies(world.against_level(bob), 120)
    assertContains(client.get("/players/random/"), "over 99")


def test_it_shows_ten_finished_games_newest_first(client: Client, alice: User, bob: User) -> None:
    over = world.finished(alice, bob, now=timezone.now())
    older = world.copies(over, 20, apart=timedelta(hours=1))
    assert games_on(client) == {over, *older[: lists.FINISHED_SHOWN - 1]}


def test_it_asks_the_same_for_many_games(client: Client, alice: User, bob: User) -> None:
    games = world.running(alice, bob), world.finished(alice, bob)
    client.get(PAGE)
    with CaptureQueriesContext(connection) as few:
        client.get(PAGE)
    for game in games:
        world.copies(game, 50)
    with CaptureQueriesContext(connection) as many:
        client.get(PAGE)
    assert len(many) == len(few) <= 4
