"""How often mails say that it is my turn: every time, once until I come back, in the digest."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
import time_machine
from django.db import connections
from django.test import Client, override_settings

from accounts.models import GIVE_UP_AFTER, Mail, User
from games import deliveries, notices, play, sweep
from games.models import Delivery, Game, Kind
from tests.world import BLUE_BY_STONE, person, played, running

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("mailbox")]

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (60, 3600, 86400))
Clock = time_machine.Traveller


@pytest.fixture
def clock() -> Iterator[Clock]:
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def alice(clock: Clock) -> User:
    return person("alice")


@pytest.fixture
def bob(clock: Clock) -> User:
    return person("bob")


def turn(alice: User, bob: User) -> Game:
    """One more game in which alice has moved."""
    return running(alice, bob, BLUE_BY_STONE[:1])


def mode(player: User, it: str, **more: object) -> None:
    User.objects.filter(pk=player.pk).update(mail_mode=it, **more)


def mailed(player: User) -> list[str]:
    """The keys of the notices that went to the player by mail, in order."""
    deliveries.deliver_due(seconds=60)
    sent = Delivery.objects.filter(notice__player=player, channel="mail", sent__isnull=False)
    return list(sent.order_by("sent", "pk").values_list("notice__key", flat=True))


def delivery(player: User, game: Game) -> Delivery:
    return Delivery.objects.get(notice__player=player, notice__game=game, notice__kind=Kind.TURN)


def key(game: Game) -> str:
    return f"turn:g{game.pk}:p2"


def come_back(player: User) -> None:
    """Open a page that is no game's, so that nothing is seen by it."""
    client = Client()
    client.force_login(player)
    assert client.get("/preferences/").status_code == 200


# --- every turn -------------------------------------------------------------------------------


def test_every_turn_of_every_game_is_mailed_once(alice: User, bob: User) -> None:
    games = [turn(alice, bob) for _ in range(50)]
    assert mailed(bob) == [key(game) for game in games]
    assert mailed(bob) == [key(game) for game in games]


# --- one until I come back --------------------------------------------------------------------


def test_one_goes_and_then_none_until_they_come_back(clock: Clock, alice: User, bob: User) -> None:
    mode(bob, "back")
    first, second = turn(alice, bob), turn(alice, bob)
    assert mailed(bob) == [key(first)]
    clock.shift(2 * DAY)
    third = turn(alice, bob)
    assert mailed(bob) == [key(first)]
    for game in (second, third):
        dropped = delivery(bob, game)
        assert (dropped.next_try, dropped.sent, dropped.error) == (None, None, "one until back")
        assert not Mail.objects.filter(key=f"notice:{dropped.notice_id}").exists()
    # The bell says them all.
    assert notices.unread(bob).count() == 3

    come_back(bob)
    clock.shift(HOUR)
    fourth = turn(alice, bob)
    assert mailed(bob) == [key(first), key(fourth)]


def test_coming_back_for_a_moment_is_enough(clock: Clock, alice: User, bob: User) -> None:
    """Navigations are kept to the minute; the one after the mail counts all the same."""
    mode(bob, "back")
    come_back(bob)
    clock.shift(timedelta(seconds=20))
    first = turn(alice, bob)
    # Two minutes, for bob is here.
    Delivery.objects.update(next_try=NOW)
    assert mailed(bob) == [key(first)]
    clock.shift(timedelta(seconds=20))
    come_back(bob)
    clock.shift(HOUR)
    second = turn(alice, bob)
    assert mailed(bob) == [key(first), key(second)]


def test_a_poll_is_no_coming_back(clock: Clock, alice: User, bob: User) -> None:
    mode(bob, "back")
    first = turn(alice, bob)
    assert mailed(bob) == [key(first)]
    client = Client()
    client.force_login(bob)
    clock.shift(MINUTE)
    assert client.get(f"/games/{first.pk}/board/?version=0").status_code == 200
    turn(alice, bob)
    assert mailed(bob) == [key(first)]


def test_reminders_go_all_the_same(clock: Clock, alice: User, bob: User) -> None:
    mode(bob, "back")
    game, other = turn(alice, bob), turn(alice, bob)
    mailed(bob)
    clock.move_to(NOW + 3 * DAY - 24 * HOUR)
    sweep.sweep(NOW)
    sweep.sweep(NOW + 2 * DAY)
    reminders = [f"reminder:g{row.pk}:p2:24h" for row in (game, other)]
    assert sorted(mailed(bob)) == sorted([key(game), *reminders])


def test_the_end_of_a_game_is_told_all_the_same(alice: User, bob: User) -> None:
    mode(bob, "back")
    game, other = turn(alice, bob), turn(alice, bob)
    mailed(bob)
    play.resign(other.pk, alice, now=NOW)
    assert mailed(bob) == [key(game), f"over:g{other.pk}"]


def test_another_player_s_mode_is_their_own(alice: User, bob: User) -> None:
    mode(bob, "back")
    mine = [turn(bob, alice) for _ in range(3)]
    assert mailed(alice) == [key(game) for game in mine]


def test_a_later_try_of_the_one_still_goes(clock: Clock, alice: User, bob: User) -> None:
    mode(bob, "back")
    game = turn(alice, bob)
    with override_settings(MAILBOX=False):
        assert mailed(bob) == []
    clock.shift(MINUTE)
    assert mailed(bob) == [key(game)]


def test_another_goes_where_the_one_need_not(clock: Clock, alice: User, bob: User) -> None:
    """The mail server was away, and alice resigned meanwhile: the other turn is still untold."""
    mode(bob, "back")
    first = turn(alice, bob)
    with override_settings(MAILBOX=False):
        assert mailed(bob) == []
    second = turn(alice, bob)
    clock.shift(timedelta(seconds=10))
    assert mailed(bob) == []
    assert delivery(bob, second).error == "one until back"
    play.resign(first.pk, alice, now=NOW)
    clock.shift(MINUTE)
    assert sorted(mailed(bob)) == [f"over:g{first.pk}", key(second)]


def test_another_goes_where_the_one_could_not(clock: Clock, alice: User, bob: User) -> None:
    mode(bob, "back")
    first = turn(alice, bob)
    with override_settings(MAILBOX=False):
        mailed(bob)
        second = turn(alice, bob)
        clock.shift(timedelta(seconds=10))
        mailed(bob)
        Delivery.objects.filter(pk=delivery(bob, first).pk).update(
            created=NOW - GIVE_UP_AFTER, next_try=NOW
        )
        mailed(bob)
    assert delivery(bob, first).failed is not None
    clock.shift(MINUTE)
    assert mailed(bob) == [key(second)]


def test_seeing_what_the_one_told_brings_no_other(clock: Clock, alice: User, bob: User) -> None:
    mode(bob, "back")
    first, second = turn(alice, bob), turn(alice, bob)
    mailed(bob)
    played(first, BLUE_BY_STONE[1:2])
    clock.shift(MINUTE)
    assert mailed(bob) == [key(first)]
    assert delivery(bob, second).error == "one until back"


# --- digest only ------------------------------------------------------------------------------


def test_no_turn_is_mailed_to_who_reads_the_digest(alice: User, bob: User) -> None:
    mode(bob, "digest")
    game = turn(alice, bob)
    assert mailed(bob) == []
    dropped = delivery(bob, game)
    assert (dropped.next_try, dropped.sent, dropped.error) == (None, None, "digest only")
    play.resign(game.pk, alice, now=NOW)
    assert mailed(bob) == [f"over:g{game.pk}"]


def test_reminders_go_to_who_reads_the_digest(clock: Clock, alice: User, bob: User) -> None:
    mode(bob, "digest")
    game = turn(alice, bob)
    mailed(bob)
    clock.move_to(NOW + 2 * DAY)
    sweep.sweep(NOW)
    sweep.sweep(NOW + 2 * DAY)
    assert mailed(bob) == [f"reminder:g{game.pk}:p2:24h"]


def test_a_mail_written_before_the_mode_was_set_is_dropped(
    clock: Clock, alice: User, bob: User
) -> None:
    game = turn(alice, bob)
    with override_settings(MAILBOX=False):
        mailed(bob)
    mode(bob, "digest")
    clock.shift(MINUTE)
    assert mailed(bob) == []
    assert not Mail.objects.filter(key=f"notice:{delivery(bob, game).notice_id}").exists()


# --- many workers at once ---------------------------------------------------------------------


def at_once(workers: int) -> None:
    """So many workers deliver what is due, all from the same moment."""
    start = Barrier(workers)

    def work(_number: int) -> None:
        start.wait(30)
        try:
            deliveries.deliver_due(seconds=30)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("workers", [2, 10])
def test_workers_at_once_send_each_mail_once(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    alice, bob = person("alice"), person("bob")
    games = [turn(alice, bob) for _ in range(45)]
    sent: list[str] = []
    monkeypatch.setattr("accounts.mail._hand_over", lambda row, now: sent.append(row.key))
    at_once(workers)
    expected = {f"notice:{delivery(bob, game).notice_id}" for game in games}
    assert sorted(sent) == sorted(expected)
    assert set(Delivery.objects.filter(notice__kind=Kind.TURN).values_list("tries")) <= {(1,)}


@pytest.mark.django_db(transaction=True)
def test_of_workers_at_once_one_sends_the_one(monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob = person("alice"), person("bob")
    mode(bob, "back")
    for _ in range(45):
        turn(alice, bob)
    sent: list[str] = []
    monkeypatch.setattr("accounts.mail._hand_over", lambda row, now: sent.append(row.key))
    at_once(10)
    assert len(sent) == 1
    assert Delivery.objects.filter(error="one until back").count() == 44
