"""A guest's games: kept by signing up, kept by logging in, removed when nobody comes back."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import transaction
from django.db.models.signals import pre_delete
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains

from accounts.guests import guest_became
from accounts.models import IDLE_AFTER, User
from games import challenges, guests, notices, play, sweep
from games.models import Game, Kind, Level, Notice, Seat
from games.onitama.position import parse_move
from tests import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def the_guest() -> User:
    guest: User = User.objects.get(kind=User.Kind.GUEST)
    return guest


def begin(client: Client) -> Game:
    """What the button on the landing page does."""
    client.post("/games/computer/", {"colour": "b"})
    game: Game = Game.objects.get()
    return game


def test_the_landing_page_begins_a_game(client: Client) -> None:
    assertContains(client.get("/"), 'action="/games/computer/"')
    response = client.post("/games/computer/", follow=True)
    assert response.status_code == 200
    assert response.request["PATH_INFO"] == f"/games/{Game.objects.get().pk}/"


def test_signing_up_keeps_the_game(client: Client) -> None:
    game = begin(client)
    guest = the_guest()
    fields = {"username": "alice", "email": "alice@example.org", "password1": world.PASSWORD}
    client.post("/accounts/signup/", fields)
    alice = User.objects.get(username="alice")
    assert alice.pk == guest.pk and alice.is_person
    assert world.fresh(game).seat("b").player == alice
    response = client.get("/games/")
    assertContains(response, f'href="/games/{game.pk}/"')
    assertContains(client.get(f"/games/{game.pk}/"), "alice")


def test_logging_in_moves_the_game_to_the_account(client: Client) -> None:
    alice = world.person("alice", password=world.PASSWORD)
    game = begin(client)
    client.post("/accounts/login/", {"login": "alice", "password": world.PASSWORD})
    moved = world.fresh(game)
    assert moved.seat("b").player == alice
    assert (moved.seat("r").opponent, moved.seat("r").opponent_kind) == (alice, "person")
    assert moved.version == game.version + 1
    assert not User.objects.filter(kind=User.Kind.GUEST).exists()
    assertContains(client.get("/games/"), f'href="/games/{game.pk}/"')


def test_a_wrong_password_moves_nothing(client: Client) -> None:
    world.person("alice", password=world.PASSWORD)
    game = begin(client)
    client.post("/accounts/login/", {"login": "alice", "password": "something else"})
    assert world.fresh(game).seat("b").player == the_guest()


# --- what moves -----------------------------------------------------------------------------


@pytest.fixture
def guest() -> User:
    return world.guest()


def test_everything_moves(guest: User, alice: User, now: datetime) -> None:
    mine = world.against_level(alice)
    running = world.against_level(guest, Level.ORANGE, actions=["crab:a1a2", "mantis:c5b4"])
    over = world.finished(guest, world.level(), control=None)
    guests.move_seats(guest=guest, person=alice)
    assert set(Game.objects.filter(seats__player=alice)) == {mine, running, over}
    assert Seat.objects.filter(opponent=alice).count() == 3
    assert Seat.objects.get(game=over, player=alice).result == "won"
    assert Notice.objects.filter(player=alice, game=running).exists()
    assert not User.objects.filter(pk=guest.pk).exists()


def test_the_game_goes_on(guest: User, alice: User, now: datetime) -> None:
    game = world.against_level(guest)
    guests.move_seats(guest=guest, person=alice)
    play.play_move(game.pk, alice, 1, parse_move("crab:a1a2"), now=now)
    engine = world.fresh(game).seat("r").player
    play.play_move(game.pk, engine, 2, parse_move("mantis:c5b4"), now=now)
    told = Notice.objects.get(player=alice, key=f"turn:g{game.pk}:p3")
    assert told.deliveries.count() == 1


def test_a_guest_without_games_just_goes(guest: User, alice: User) -> None:
    guests.move_seats(guest=guest, person=alice)
    assert not User.objects.filter(pk=guest.pk).exists()


def test_what_both_were_told_is_told_once(guest: User, alice: User, now: datetime) -> None:
    for player in (guest, alice):
        notices.tell(player, Kind.OUTAGE, "outage:o1", now=now)
    guests.move_seats(guest=guest, person=alice)
    assert Notice.objects.get(key="outage:o1").player == alice


def test_a_game_against_each_other_stays_and_so_does_the_guest(guest: User, alice: User) -> None:
    between = world.running(guest, alice, control=None)
    other = world.against_level(guest)
    guests.move_seats(guest=guest, person=alice)
    assert world.fresh(between).seat("b").player == guest
    assert world.fresh(other).seat("b").player == alice
    assert User.objects.filter(pk=guest.pk).exists()


def test_a_log_in_that_fails_afterwards_moves_nothing(guest: User, alice: User) -> None:
    game = world.against_level(guest)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        guest_became.send(sender=User, guest=guest, person=alice)
        raise ZeroDivisionError
    assert world.fresh(game).seat("b").player == guest


def test_a_second_press_on_the_button_finds_nothing_left_to_move(
    guest: User, alice: User, now: datetime
) -> None:
    game = world.against_level(guest)
    guest_of_another_press = User.objects.get(pk=guest.pk)
    guests.move_seats(guest=guest, person=alice)
    guests.move_seats(guest=guest_of_another_press, person=alice)
    assert world.fresh(game).seat("b").player == alice


def test_a_guest_who_has_become_a_person_meanwhile_keeps_all(guest: User, alice: User) -> None:
    game = world.against_level(guest)
    guest_of_another_tab = User.objects.get(pk=guest.pk)
    User.objects.filter(pk=guest.pk).update(kind=User.Kind.PERSON, username="carol")
    guests.move_seats(guest=guest_of_another_tab, person=alice)
    assert world.fresh(game).seat("b").player.username == "carol"


def test_a_start_that_comes_too_late_is_refused(guest: User, alice: User, now: datetime) -> None:
    guest_of_another_tab = User.objects.get(pk=guest.pk)
    guests.move_seats(guest=guest, person=alice)
    with pytest.raises(challenges.Gone):
        challenges.play_computer_once(
            guest_of_another_tab, "random", colour="", deck="base", now=now
        )


# --- what is removed ------------------------------------------------------------------------


def test_an_idle_guest_is_removed_with_the_games(guest: User, alice: User, now: datetime) -> None:
    world.against_level(guest, actions=["crab:a1a2"])
    world.finished(guest, world.level(), control=None)
    mine = world.against_level(alice)
    User.objects.filter(pk=guest.pk).update(last_navigation=now - IDLE_AFTER)
    sweep.clean_up(now)
    assert not User.objects.filter(pk=guest.pk).exists()
    assert set(Game.objects.all()) == {mine}
    assert world.level().pk is not None


def test_a_guest_who_came_back_stays(client: Client, now: datetime) -> None:
    begin(client)
    nearly = now - IDLE_AFTER + timedelta(minutes=1)
    User.objects.filter(kind=User.Kind.GUEST).update(last_navigation=nearly, date_joined=nearly)
    sweep.clean_up(now)
    client.get("/games/")
    sweep.clean_up(now + timedelta(days=29))
    assert the_guest().seats.count() == 1


@pytest.mark.parametrize("meanwhile", ["came back", "signed up"])
def test_a_guest_who_returns_while_others_are_removed_stays(
    guest: User, now: datetime, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """The list of idle guests is read before the first of them is removed."""
    game = world.against_level(guest)
    User.objects.filter(pk=guest.pk).update(last_navigation=now - IDLE_AFTER)
    changes = {"last_navigation": now} if meanwhile == "came back" else {"kind": "person"}
    remove = sweep._remove_guest

    def remove_late(pk: int, now: datetime) -> None:
        User.objects.filter(pk=pk).update(**changes)
        remove(pk, now)

    monkeypatch.setattr(sweep, "_remove_guest", remove_late)
    sweep.clean_up(now)
    assert world.fresh(game).seat("b").player == guest


def test_a_guest_that_cannot_be_removed_holds_up_no_other(guest: User, now: datetime) -> None:
    world.against_level(guest)
    other = world.guest("guest-00000002")
    User.objects.update(last_navigation=now - IDLE_AFTER)

    def fail(instance: User, **_: object) -> None:
        if instance.pk == guest.pk:
            raise RuntimeError

    pre_delete.connect(fail, sender=User)
    try:
        sweep.clean_up(now)
    finally:
        pre_delete.disconnect(fail, sender=User)
    assert guest.seats.count() == 1
    assert not User.objects.filter(pk=other.pk).exists()
