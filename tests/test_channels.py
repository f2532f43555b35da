"""What the bell shows, what a player wants by which channel, and the test message."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from games import notices, sweep
from games.models import Challenge, Delivery, Game, Kind, Notice, PushDevice, Subscription
from tests.world import BLUE_BY_STONE, played, running, subscription

pytestmark = pytest.mark.django_db
ALL = (True, True, True)


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    """Blue, alice, has moved; it is bob's turn."""
    return running(alice, bob, BLUE_BY_STONE[:1])


def keys(player: User) -> list[str]:
    return [notice.key for notice in notices.unread(player)]


# --- the bell -------------------------------------------------------------------------------


def test_a_turn_is_unread_at_once_whatever_its_mail_waits_for(alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(last_navigation=timezone.now())
    game = running(alice, bob, BLUE_BY_STONE[:1])
    assert Delivery.objects.get(notice__player=bob).next_try is not None
    assert keys(bob) == [f"turn:g{game.pk}:p2"]


def test_it_is_withdrawn_once_it_is_no_longer_so(game: Game, alice: User, bob: User) -> None:
    played(game, BLUE_BY_STONE[1:2])
    assert keys(bob) == []
    assert keys(alice) == [f"turn:g{game.pk}:p3"]


def test_the_newest_comes_first_and_nobody_else_s(alice: User, bob: User) -> None:
    games = [running(alice, bob, BLUE_BY_STONE[:1]) for _ in range(3)]
    assert keys(bob) == [f"turn:g{game.pk}:p2" for game in reversed(games)]
    assert keys(alice) == []


def test_it_asks_one_question(game: Game, bob: User) -> None:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert len(notices.unread(bob)) == 1
    assert len(asked) == 1


def test_a_kind_not_wanted_on_site_is_not_shown(game: Game, bob: User) -> None:
    notices.set_channels(bob, {Kind.TURN: (False, True, True)})
    assert keys(bob) == []
    assert Delivery.objects.filter(notice__player=bob, next_try__isnull=False).exists()


def test_seeing_all_leaves_other_people_s(game: Game, alice: User, bob: User) -> None:
    other = running(bob, alice, BLUE_BY_STONE[:1])
    now = timezone.now()
    notices.see_all(bob, Notice.objects.latest("pk").pk, now=now)
    assert keys(bob) == []
    assert keys(alice) == [f"turn:g{other.pk}:p2"]
    assert [notice.seen for notice in notices.seen_lately(bob, since=now)] == [now]
    assert not notices.seen_lately(bob, since=now + timedelta(seconds=1)).exists()


def test_the_bell_s_page_tells_what_leads_nowhere_else(game: Game, bob: User) -> None:
    now = timezone.now()
    notices.tell(bob, Kind.OUTAGE, "outage:o1", now=now)
    row = Challenge.objects.create(
        challenger=game.seat("b").player, challenged=bob, created=now, expires=now
    )
    notices.tell(bob, Kind.CHALLENGE, "challenge:c1:received", now=now, challenge=row)
    notices.see_told(notices.unread(bob), now=now)
    assert keys(bob) == ["challenge:c1:received", f"turn:g{game.pk}:p2"]


# --- channels -------------------------------------------------------------------------------


def test_everything_is_wanted_everywhere_at_first(alice: User) -> None:
    assert notices.channels(alice) == dict.fromkeys(Kind.values, ALL)
    assert not Subscription.objects.exists()


def test_what_is_set_is_kept_and_nothing_else_changes(alice: User, bob: User) -> None:
    token = subscription(alice, Kind.OVER).token
    ways: dict[str, tuple[bool, bool, bool]] = {
        Kind.TURN: (True, False, True),
        Kind.OVER: (False, True, False),
    }
    notices.set_channels(alice, ways)
    assert notices.channels(alice) == dict.fromkeys(Kind.values, ALL) | ways
    assert notices.channels(bob) == dict.fromkeys(Kind.values, ALL)
    assert subscription(alice, Kind.OVER).token == token
    notices.set_channels(alice, {Kind.TURN: ALL})
    assert notices.channels(alice)[Kind.TURN] == ALL
    assert notices.channels(alice)[Kind.OVER] == (False, True, False)


# --- the test message -----------------------------------------------------------------------


def test_a_test_is_due_at_once_and_not_in_the_bell(alice: User) -> None:
    now = timezone.now()
    notices.send_test(alice, "mail", now=now)
    delivery = Delivery.objects.get()
    assert (delivery.channel, delivery.next_try) == ("mail", now)
    assert keys(alice) == []
    notices.see_all(alice, Notice.objects.get().pk, now=now)
    assert Notice.objects.get().seen is None


def test_one_a_minute_through_each_channel(alice: User, bob: User) -> None:
    now = timezone.now()
    device = {"p256dh": "B", "auth": "a", "name": "Firefox on Linux", "created": now}
    for number in range(2):
        PushDevice.objects.create(player=alice, endpoint=f"https://push.example/{number}", **device)
    PushDevice.objects.create(player=bob, endpoint="https://push.example/bob", **device)
    notices.send_test(alice, "mail", now=now)
    notices.send_test(alice, "push", now=now)
    notices.send_test(bob, "mail", now=now)
    for channel in ("mail", "push"):
        with pytest.raises(notices.TooSoon):
            notices.send_test(alice, channel, now=now + timedelta(seconds=59))
    assert Delivery.objects.filter(notice__player=alice, channel="push").count() == 2
    notices.send_test(alice, "mail", now=now + timedelta(seconds=61))
    assert Delivery.objects.filter(notice__player=alice, channel="mail").count() == 2


# --- afterwards -----------------------------------------------------------------------------


def test_what_was_seen_or_withdrawn_goes_after_ninety_days(
    game: Game, alice: User, bob: User
) -> None:
    now = timezone.now()
    for number, fate in enumerate(("seen", "withdrawn", "")):
        notices.tell(bob, Kind.OUTAGE, f"outage:o{number}", now=now - timedelta(days=90))
        if fate:
            Notice.objects.filter(key=f"outage:o{number}").update(**{fate: now})
    notices.tell(bob, Kind.OUTAGE, "outage:o9", now=now - timedelta(days=89))
    Notice.objects.filter(key="outage:o9").update(seen=now)
    sweep.clean_up(now)
    assert set(Notice.objects.filter(player=bob).values_list("key", flat=True)) == {
        *("outage:o2", "outage:o9", f"turn:g{game.pk}:p2")
    }
    assert Delivery.objects.filter(notice__player=bob).count() == 3
