"""Against the computer: at once, with or without an account, and never two games by one press."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertRedirects

from accounts.models import User
from games import challenges, strengths
from games.belts import BELTS
from games.models import Game, Level
from tests import world

pytestmark = pytest.mark.django_db

ADDRESS = "/games/computer/"


@pytest.fixture
def as_alice(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def begun() -> Game:
    game: Game = Game.objects.get()
    return game


def age_all_games() -> None:
    Game.objects.update(created=timezone.now() - timedelta(minutes=1))


# --- the page -------------------------------------------------------------------------------


def test_the_page_offers_both_ways(as_alice: Client) -> None:
    response = as_alice.get("/games/new/")
    assertContains(response, "has just learned the moves")
    assertContains(response, "Send the challenge")
    assertContains(response, 'value="white-belt" id="computer_level_0" checked')
    assertContains(response, "primary", count=1)


def test_the_page_draws_the_belts_with_a_line_on_each(
    as_alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strengths, "MATCHES", ())
    html = as_alice.get("/games/new/").content.decode()
    for belt in BELTS:
        found = re.search(
            rf'<label for="[a-z0-9_]+"><input[^>]*value="{belt.name}".*?</label>', html, re.S
        )
        assert found is not None
        assert f'class="belt belt-{belt.colour}"' in found[0]
        assert f"<b>{belt}</b>" in found[0]
        assert str(belt.line) in found[0]
    assert "Begin with the white belt" in html
    assert "strength" not in html


def test_the_page_tells_strength_once_it_is_measured(
    as_alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strengths, "MATCHES", world.measured())
    response = as_alice.get("/games/new/")
    assertContains(response, '<span class="visually-hidden">strength </span>0</span>')
    assertContains(response, '<span class="visually-hidden">strength </span>1337</span>')
    assertContains(response, "Whoever has 200 points more wins about three games in four.")


@pytest.mark.parametrize(
    ("met", "chosen"), [("blue-belt", "blue-belt"), ("four-ply", "green-belt")]
)
def test_the_page_comes_with_the_level_of_the_last_game(
    as_alice: Client, alice: User, bob: User, met: str, chosen: str
) -> None:
    now = timezone.now()
    world.finished(alice, world.level("black-belt"), control=None, now=now - timedelta(hours=1))
    world.finished(alice, world.level(met), control=None, now=now)
    world.finished(alice, bob, now=now)
    found = re.search(r'value="([a-z-]+)" id="computer_level_\d" checked', page_text(as_alice))
    assert found is not None
    assert found[1] == chosen


def page_text(client: Client) -> str:
    return client.get("/games/new/").content.decode()


def test_the_page_can_come_with_a_level(as_alice: Client) -> None:
    response = as_alice.get("/games/new/?level=green-belt")
    assertContains(response, 'value="green-belt" id="computer_level_3" checked')
    assert as_alice.get("/games/new/?level=nonsense").status_code == 200


def test_visitors_are_told_how_to_play_people(client: Client) -> None:
    response = client.get("/games/new/")
    assertContains(response, "need an account")
    assertContains(response, 'action="/games/computer/"')


# --- beginning ------------------------------------------------------------------------------


def test_it_begins_at_once(as_alice: Client, alice: User) -> None:
    response = as_alice.post(ADDRESS, {"level": "grandmaster", "colour": "r", "deck": "all34"})
    game = begun()
    assertRedirects(response, f"/games/{game.pk}/", status_code=303, fetch_redirect_response=False)
    assert game.seat("r").player == alice
    assert game.seat("b").player == world.level(Level.GRANDMASTER)
    assert (game.deck, game.control, game.private) == ("all34", None, False)


def test_it_needs_no_choice(as_alice: Client, alice: User) -> None:
    as_alice.post(ADDRESS)
    game = begun()
    assert {seat.player for seat in game.seats.all()} == {alice, world.level(Level.WHITE)}
    assert game.deck == "base"


def test_either_side_is_drawn(alice: User) -> None:
    now, sides = timezone.now(), set()
    for _ in range(40):
        game = challenges.play_computer(alice, "white-belt", colour="", deck="base", now=now)
        sides |= {seat.colour for seat in game.seats.all() if seat.player_id == alice.pk}
    assert sides == {"b", "r"}


@pytest.mark.parametrize(
    "fields",
    [
        {"level": "random"},
        {"level": "four-ply"},
        {"level": "White-Belt"},
        {"level": "alice"},
        {"colour": "green"},
        {"deck": "ways"},
        {"level": "x" * 5000},
        {"level": "\U0001f004"},
    ],
)
def test_it_says_what_it_does_not_know(as_alice: Client, fields: dict[str, str]) -> None:
    response = as_alice.post(ADDRESS, fields)
    assertContains(response, "is not one of the available choices", status_code=422)
    assert not Game.objects.exists()


def test_it_refuses_a_nul(as_alice: Client) -> None:
    assert as_alice.post(ADDRESS, {"level": "two\0ply"}).status_code == 400


def test_it_rejects_get(as_alice: Client) -> None:
    assert as_alice.get(ADDRESS).status_code == 405


def test_it_needs_the_token_of_the_page(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.post(ADDRESS).status_code == 403


# --- one press, one game ----------------------------------------------------------------------


def test_two_presses_begin_one_game(as_alice: Client) -> None:
    first, second = as_alice.post(ADDRESS), as_alice.post(ADDRESS)
    assert first["Location"] == second["Location"]
    assert Game.objects.count() == 1


def test_a_press_later_begins_another(as_alice: Client) -> None:
    as_alice.post(ADDRESS)
    age_all_games()
    as_alice.post(ADDRESS)
    assert Game.objects.count() == 2


def test_another_level_is_another_game(as_alice: Client) -> None:
    as_alice.post(ADDRESS, {"level": "white-belt"})
    as_alice.post(ADDRESS, {"level": "yellow-belt"})
    assert Game.objects.count() == 2


def test_a_press_after_a_game_was_ended_begins_another(as_alice: Client, alice: User) -> None:
    as_alice.post(ADDRESS)
    as_alice.post(f"/games/{begun().pk}/abort/")
    as_alice.post(ADDRESS)
    assert Game.objects.count() == 2


# --- how many -------------------------------------------------------------------------------


def test_a_guest_has_three_games_at_most(client: Client) -> None:
    guest = world.guest()
    client.force_login(guest)
    for _ in range(challenges.GUEST_GAMES):
        assert client.post(ADDRESS).status_code == 303
        age_all_games()
    response = client.post(ADDRESS, {"level": "black-belt"})
    said = "You have 3 games running against the computer: end one first."
    assertContains(response, said, status_code=422)
    assertContains(response, 'value="black-belt" id="computer_level_6" checked', status_code=422)
    assert Game.objects.count() == challenges.GUEST_GAMES


def test_a_visitor_becomes_a_guest_by_it(client: Client) -> None:
    response = client.post(ADDRESS)
    [guest] = User.objects.filter(kind=User.Kind.GUEST)
    game = begun()
    assert response["Location"] == f"/games/{game.pk}/"
    assert game.seat_of(guest.pk) is not None
    assertContains(client.get("/games/"), "You play as a guest")


def test_a_visitor_who_errs_becomes_nobody(client: Client) -> None:
    client.post(ADDRESS, {"level": "nonsense"})
    assert not User.objects.filter(kind=User.Kind.GUEST).exists()


def test_one_network_makes_ten_guests_an_hour(client: Client) -> None:
    for _ in range(10):
        assert Client().post(ADDRESS).status_code == 303
    response = client.post(ADDRESS)
    assertContains(response, "Too many new guests", status_code=429)
    assertContains(response, 'href="/accounts/signup/"', status_code=429)
    assert Game.objects.count() == 10
