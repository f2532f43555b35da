"""Reminders at the hours before the deadline that a player chose."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import User
from games import play, reminders, sweep
from games.models import Game, Heartbeat, Notice, Outage
from tests.world import BLUE_BY_STONE, fresh, person, running

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (60, 3600, 86400))
END = NOW + 4 * DAY


@pytest.fixture
def alice() -> User:
    return person("alice", away=False)


@pytest.fixture
def bob() -> User:
    return person("bob", away=False)


def begun(alice: User, bob: User) -> Game:
    """Alice is to move for four days."""
    return running(alice, bob, BLUE_BY_STONE[:2], now=NOW)


def sweep_at(now: datetime) -> None:
    Heartbeat.objects.update_or_create(pk=1, defaults={"at": now})
    sweep.sweep(now)


def told(player: User) -> list[str]:
    rows = Notice.objects.filter(player=player, kind="reminder").order_by("pk")
    return [key.split(":", 2)[2] for key in rows.values_list("key", flat=True)]


def walk(since: datetime, until: datetime) -> None:
    at = since
    while at < until:
        sweep_at(at)
        at += 30 * MINUTE


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ([24, 4], ["p3:24h", "p3:4h"]),
        ([1, 2, 3, 48, 95], ["p3:48h", "p3:3h", "p3:2h", "p3:1h"]),
        ([94, 1], ["p3:94h", "p3:1h"]),
        ([336], []),
        ([], []),
    ],
    ids=["usual", "five", "two hours after the turn", "longer than the clock", "none"],
)
def test_they_go_at_the_player_s_own_hours(
    alice: User, bob: User, hours: list[int], expected: list[str]
) -> None:
    """One that falls due less than two hours after the turn began is left out."""
    User.objects.filter(pk=alice.pk).update(reminder_hours=hours)
    User.objects.filter(pk=bob.pk).update(reminder_hours=[50])
    begun(alice, bob)
    walk(NOW, END)
    assert told(alice) == expected
    assert told(bob) == []


def test_a_choice_counts_for_the_turns_that_run_already(alice: User, bob: User) -> None:
    game = begun(alice, bob)
    waiting = running(bob, alice, BLUE_BY_STONE[:2], now=NOW)
    before = fresh(waiting).next_reminder
    reminders.choose(alice, [6, 48, 6], now=NOW)
    alice.refresh_from_db()
    assert alice.reminder_hours == [48, 6]
    assert fresh(game).next_reminder == END - 48 * HOUR
    assert fresh(waiting).next_reminder == before
    walk(NOW, END)
    assert told(alice) == ["p3:48h", "p3:6h"]


def test_what_was_told_is_not_told_again_after_another_choice(alice: User, bob: User) -> None:
    game = begun(alice, bob)
    sweep_at(END - 24 * HOUR)
    reminders.choose(alice, [24, 12, 30], now=END - 23 * HOUR)
    assert fresh(game).next_reminder == END - 12 * HOUR
    walk(END - 23 * HOUR, END)
    assert told(alice) == ["p3:24h", "p3:12h"]


def test_choosing_none_ends_them(alice: User, bob: User) -> None:
    game = begun(alice, bob)
    reminders.choose(alice, [], now=NOW)
    assert fresh(game).next_reminder is None


def test_of_several_missed_only_the_nearest_goes(alice: User, bob: User) -> None:
    User.objects.filter(pk=alice.pk).update(reminder_hours=[72, 24, 12, 4])
    begun(alice, bob)
    sweep_at(END - 5 * HOUR)
    assert told(alice) == ["p3:12h"]
    sweep_at(END - 4 * HOUR)
    assert told(alice) == ["p3:12h", "p3:4h"]


def test_after_an_outage_they_follow_the_new_deadline(alice: User, bob: User) -> None:
    User.objects.filter(pk=alice.pk).update(reminder_hours=[3, 1])
    game = begun(alice, bob)
    sweep_at(END - 3 * HOUR)
    Heartbeat.objects.update(at=END - 2 * HOUR)
    sweep.sweep(END + 4 * HOUR)
    moved = END + 10 * HOUR
    assert fresh(game).deadline == moved
    walk(END + 4 * HOUR, moved)
    o = Outage.objects.get().pk
    assert told(alice) == ["p3:3h", f"p3:3h:o{o}", f"p3:1h:o{o}"]


def test_the_next_turn_is_the_other_player_s(alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(reminder_hours=[10])
    game = begun(alice, bob)
    action = game.current.legal_moves()[0]
    moved = play.play_move(game.pk, alice, 3, action, now=NOW + HOUR)
    assert moved.deadline is not None
    assert moved.next_reminder == moved.deadline - 10 * HOUR
