"""The daily digest: once a day at the player's hour, when something waits, and never silent."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.db import connection, connections
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from accounts.models import Mail, User
from games import challenges, deliveries, digests, notices, play, sweep
from games.clock import PRESETS
from games.models import Delivery, Game, Kind, Notice
from tests.mails import parsed, text
from tests.world import BLUE_BY_STONE, against_level, person, running

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("mailbox")]

ZAGREB = ZoneInfo("Europe/Zagreb")
MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (60, 3600, 86400))
Clock = time_machine.Traveller


def local(text: str) -> datetime:
    """The instant at which bob's clocks show that."""
    return datetime.fromisoformat(text).replace(tzinfo=ZAGREB).astimezone(UTC)


NOW = local("2026-12-01 12:00")


@pytest.fixture
def clock() -> Iterator[Clock]:
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def alice(clock: Clock) -> User:
    return person("alice")


@pytest.fixture
def bob(clock: Clock) -> User:
    """Wants a digest at 8 in Zagreb, and no mail about single turns."""
    bob = person("bob")
    bob.time_zone, bob.mail_mode, bob.digest_hour = "Europe/Zagreb", "digest", 8
    bob.save(update_fields=["time_zone", "mail_mode", "digest_hour"])
    digests.plan(bob, now=NOW)
    return bob


def turn(alice: User, bob: User, now: datetime = NOW, days: str = "7") -> Game:
    """A game in which it is bob's turn."""
    return running(alice, bob, BLUE_BY_STONE[:1], control=PRESETS[days], now=now)


def run(clock: Clock, until: datetime, step: timedelta = HOUR) -> None:
    """The sweep's part and the mail worker at every step until then."""
    now = datetime.now(UTC)
    while now < until:
        now = min(now + step, until)
        clock.move_to(now, tick=False)
        write_due(now)
        deliveries.deliver_due(seconds=60)


def write_due(now: datetime) -> None:
    for pk in digests.due(now):
        digests.write(pk, now)


def written(player: User) -> list[str]:
    rows = Notice.objects.filter(player=player, kind=Kind.DIGEST).order_by("pk")
    return list(rows.values_list("key", flat=True))


def sent(player: User) -> list[datetime]:
    """When digests were mailed to the player, by bob's clocks."""
    rows = Delivery.objects.filter(
        notice__player=player, notice__kind=Kind.DIGEST, channel="mail", sent__isnull=False
    )
    times = rows.order_by("sent").values_list("sent", flat=True)
    return [time.astimezone(ZAGREB) for time in times if time]


def at(*texts: str) -> list[datetime]:
    return [local(text).astimezone(ZAGREB) for text in texts]


# --- when it comes ----------------------------------------------------------------------------


def test_it_comes_every_day_at_the_player_s_hour(clock: Clock, alice: User, bob: User) -> None:
    turn(alice, bob)
    run(clock, local("2026-12-04 12:00"), step=30 * MINUTE)
    assert written(bob) == [f"digest:2026-12-0{day}" for day in (2, 3, 4)]
    assert sent(bob) == at("2026-12-02 08:00", "2026-12-03 08:00", "2026-12-04 08:00")


def test_it_is_skipped_when_nothing_waits_and_goes_on_after(
    clock: Clock, alice: User, bob: User
) -> None:
    run(clock, local("2026-12-03 12:00"))
    assert written(bob) == []
    turn(alice, bob, now=datetime.now(UTC))
    run(clock, local("2026-12-04 12:00"))
    assert written(bob) == ["digest:2026-12-04"]


@pytest.mark.parametrize("change", [{"digest_hour": 10}, {"time_zone": "Europe/Paris"}])
def test_one_that_is_due_is_not_lost_by_a_change(
    clock: Clock, alice: User, bob: User, change: dict[str, object]
) -> None:
    """Between the hour and the sweep, which may have been away."""
    turn(alice, bob)
    clock.move_to(local("2026-12-02 08:05"), tick=False)
    User.objects.filter(pk=bob.pk).update(**change)
    bob.refresh_from_db()
    digests.plan(bob, now=datetime.now(UTC))
    run(clock, local("2026-12-02 20:00"), step=5 * MINUTE)
    assert written(bob) == ["digest:2026-12-02"]
    run(clock, local("2026-12-03 12:00"))
    assert written(bob) == ["digest:2026-12-02", "digest:2026-12-03"]


def test_who_wants_none_any_more_gets_not_even_the_one_that_is_due(
    clock: Clock, alice: User, bob: User
) -> None:
    turn(alice, bob)
    clock.move_to(local("2026-12-02 08:05"), tick=False)
    bob.mail_mode, bob.digest_hour = "every", None
    bob.save(update_fields=["mail_mode", "digest_hour"])
    digests.plan(bob, now=datetime.now(UTC))
    run(clock, local("2026-12-03 12:00"))
    assert written(bob) == []


def test_after_months_of_nothing_it_still_comes(clock: Clock, alice: User, bob: User) -> None:
    run(clock, local("2027-05-01 12:00"), step=12 * HOUR)
    assert written(bob) == []
    turn(alice, bob, now=datetime.now(UTC))
    run(clock, local("2027-05-02 12:00"))
    assert sent(bob) == at("2027-05-02 08:00")


@pytest.mark.parametrize("other", ["waits", "over", "computer's"])
def test_what_does_not_wait_for_me_is_no_reason(
    clock: Clock, alice: User, bob: User, other: str
) -> None:
    if other == "waits":
        running(alice, bob, now=NOW)
    elif other == "over":
        play.resign(turn(alice, bob).pk, bob, now=NOW)
    else:
        against_level(bob, actions=["crab:b1b2"], now=NOW)
    assert not digests.anything_waits(bob, NOW)


def test_an_unanswered_challenge_is_one(clock: Clock, alice: User, bob: User) -> None:
    challenges.challenge(
        alice, bob, control=PRESETS["3"], colour="", deck="base", private=False, now=NOW
    )
    assert digests.anything_waits(bob, NOW)
    assert not digests.anything_waits(alice, NOW)
    assert not digests.anything_waits(bob, NOW + 14 * DAY)


def test_over_both_changes_of_clocks_it_comes_at_eight(
    clock: Clock, alice: User, bob: User
) -> None:
    for change in ("2027-03-28", "2027-10-31"):
        start = local(f"{change} 12:00") - 2 * DAY
        clock.move_to(start, tick=False)
        bob.next_digest = None
        digests.plan(bob, now=start)
        Delivery.objects.all().delete()
        game = turn(alice, bob, now=start)
        run(clock, start + 4 * DAY, step=30 * MINUTE)
        assert [f"{when:%H:%M}" for when in sent(bob)] == ["08:00"] * 4, change
        assert len({when.date() for when in sent(bob)}) == 4
        play.resign(game.pk, bob, now=datetime.now(UTC))


def test_an_hour_that_is_skipped_and_one_that_comes_twice(
    clock: Clock, alice: User, bob: User
) -> None:
    User.objects.filter(pk=bob.pk).update(digest_hour=2)
    bob.refresh_from_db()
    for change, when in (("2027-03-28", "03:00"), ("2027-10-31", "02:00")):
        start = local(f"{change} 12:00") - DAY
        clock.move_to(start, tick=False)
        bob.next_digest = None
        digests.plan(bob, now=start)
        Delivery.objects.all().delete()
        game = turn(alice, bob, now=start)
        run(clock, start + DAY, step=15 * MINUTE)
        assert sent(bob) == at(f"{change} {when}")
        play.resign(game.pk, bob, now=datetime.now(UTC))


def test_after_an_outage_there_is_one(clock: Clock, alice: User, bob: User) -> None:
    turn(alice, bob)
    run(clock, local("2026-12-02 12:00"))
    clock.move_to(local("2026-12-06 07:30"), tick=False)
    run(clock, local("2026-12-06 07:31"), step=MINUTE)
    assert written(bob) == ["digest:2026-12-02", "digest:2026-12-05"]
    run(clock, local("2026-12-06 12:00"))
    assert written(bob)[2:] == ["digest:2026-12-06"]


def test_a_new_one_takes_the_place_of_one_that_did_not_go(
    clock: Clock, alice: User, bob: User
) -> None:
    """The mail server was away for two days: then one digest goes, not three."""
    turn(alice, bob)
    with override_settings(MAILBOX=False):
        run(clock, local("2026-12-04 09:00"))
    assert len(written(bob)) == 3
    run(clock, local("2026-12-04 12:00"))
    [only] = Delivery.objects.filter(notice__kind=Kind.DIGEST, sent__isnull=False)
    assert only.notice.key == "digest:2026-12-04"
    assert [row.key for row in notices.unread(bob) if row.kind == Kind.DIGEST] == [
        "digest:2026-12-04"
    ]


def test_one_for_which_nothing_waits_any_more_is_not_sent(
    clock: Clock, alice: User, bob: User
) -> None:
    game = turn(alice, bob)
    eight = local("2026-12-02 08:00")
    write_due(eight)
    play.resign(game.pk, bob, now=eight)
    clock.move_to(eight, tick=False)
    deliveries.deliver_due(seconds=60)
    assert sent(bob) == []
    notice = Notice.objects.get(kind=Kind.DIGEST)
    assert notice.withdrawn == eight


def test_looking_at_your_turn_is_reading_it(clock: Clock, alice: User, bob: User) -> None:
    turn(alice, bob)
    eight = local("2026-12-02 08:00")
    write_due(eight)
    clock.move_to(eight, tick=False)
    bob.refresh_from_db()
    client = Client()
    client.force_login(bob)
    assert client.head("/games/").status_code == 200
    assert notices.unread(bob).filter(kind=Kind.DIGEST).exists()
    assert client.get("/games/").status_code == 200
    assert not notices.unread(bob).filter(kind=Kind.DIGEST).exists()
    deliveries.deliver_due(seconds=60)
    assert sent(bob) == []


def test_it_waits_for_the_end_of_quiet_hours(clock: Clock, alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(quiet_from="22:00", quiet_until="09:30")
    turn(alice, bob)
    run(clock, local("2026-12-02 12:00"), step=15 * MINUTE)
    assert sent(bob) == at("2026-12-02 09:30")


# --- how it is set ----------------------------------------------------------------------------


def test_the_hour_that_is_set_counts_from_now(clock: Clock, alice: User, bob: User) -> None:
    turn(alice, bob)
    bob.digest_hour = 14
    digests.plan(bob, now=NOW)
    run(clock, local("2026-12-01 15:00"))
    assert sent(bob) == at("2026-12-01 14:00")
    # Twice on one day is no daily digest, whatever is set meanwhile.
    bob.refresh_from_db()
    bob.digest_hour = 18
    digests.plan(bob, now=datetime.now(UTC))
    run(clock, local("2026-12-02 19:00"))
    assert sent(bob)[1:] == at("2026-12-02 18:00")


def test_moving_to_another_zone_moves_it(clock: Clock, alice: User, bob: User) -> None:
    turn(alice, bob)
    bob.time_zone = "America/New_York"
    bob.save(update_fields=["time_zone"])
    digests.plan(bob, now=NOW)
    run(clock, local("2026-12-02 15:00"))
    assert sent(bob) == at("2026-12-01 14:00", "2026-12-02 14:00")


def test_switched_off_it_stops(clock: Clock, alice: User, bob: User) -> None:
    turn(alice, bob)
    bob.mail_mode, bob.digest_hour = "every", None
    bob.save(update_fields=["mail_mode", "digest_hour"])
    digests.plan(bob, now=NOW)
    assert bob.next_digest is None
    run(clock, local("2026-12-03 12:00"))
    assert written(bob) == []


def test_the_mode_digest_needs_an_hour(alice: User) -> None:
    alice.mail_mode = "digest"
    alice.save(update_fields=["mail_mode"])
    digests.plan(alice, now=NOW)
    alice.refresh_from_db()
    assert alice.digest_hour == 8
    assert alice.next_digest == datetime(2026, 12, 2, 8, tzinfo=UTC)


def test_it_can_come_beside_mails_of_every_turn(clock: Clock, alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(mail_mode="every")
    game = turn(alice, bob)
    run(clock, local("2026-12-02 12:00"))
    keys = Delivery.objects.filter(notice__player=bob, sent__isnull=False).order_by("sent")
    assert list(keys.values_list("notice__key", flat=True)) == [
        f"turn:g{game.pk}:p2",
        "digest:2026-12-02",
    ]


def test_who_wants_none_by_mail_gets_none(clock: Clock, alice: User, bob: User) -> None:
    notices.set_channels(bob, {Kind.DIGEST: (True, False, False)})
    turn(alice, bob)
    run(clock, local("2026-12-02 12:00"))
    assert sent(bob) == []
    assert written(bob) == ["digest:2026-12-02"]


# --- what is in it ----------------------------------------------------------------------------


def test_it_lists_the_games_least_time_first(clock: Clock, alice: User, bob: User) -> None:
    carol, dora = person("carol"), person("dora")
    turn(alice, bob, days="7")
    turn(carol, bob, days="1")
    turn(dora, bob, days="3")
    running(alice, bob, now=NOW)
    eight = local("2026-12-02 08:00")
    clock.move_to(eight, tick=False)
    digests.write(bob.pk, eight)
    deliveries.deliver_due(seconds=60)
    row = Mail.objects.get(key=f"notice:{Notice.objects.get(kind=Kind.DIGEST).pk}")
    body = text(parsed(row))
    places = [body.index(name) for name in ("carol", "dora", "alice")]
    assert places == sorted(places)
    assert body.count("e d c b a") == 3


# --- the sweep --------------------------------------------------------------------------------


def test_one_player_s_trouble_is_nobody_else_s(
    clock: Clock, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn(alice, bob)
    turn(bob, alice)
    alice.digest_hour = 6
    digests.plan(alice, now=NOW)
    real = notices.tell

    def tell(player: User, *rest: object, **more: object) -> None:
        if player.pk == alice.pk:
            raise RuntimeError("what?")
        real(player, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(notices, "tell", tell)
    sweep.beat(NOW)
    sweep.sweep(local("2026-12-02 08:00"))
    assert written(bob) == ["digest:2026-12-02"]
    # Nothing of the one that failed is kept, so it comes with the next sweep.
    monkeypatch.undo()
    sweep.sweep(local("2026-12-02 08:00"))
    assert written(alice) == ["digest:2026-12-02"]


def test_nobody_s_digest_costs_one_question(alice: User, bob: User) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert digests.due(NOW) == []
    assert len(asked) == 1
    due = User.objects.filter(next_digest__lte=NOW).order_by("next_digest")
    assert "user_digests" in due.explain() or connection.vendor == "postgresql"


@pytest.mark.django_db(transaction=True)
def test_two_sweeps_at_once_write_it_once(alice: User, bob: User) -> None:
    turn(alice, bob)
    eight, start = local("2026-12-02 08:00"), Barrier(10)

    def work(_number: int) -> None:
        start.wait(30)
        try:
            write_due(eight)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(work, range(10)))
    assert written(bob) == ["digest:2026-12-02"]
    assert Delivery.objects.filter(notice__kind=Kind.DIGEST).count() == 1
    bob.refresh_from_db()
    assert bob.next_digest == local("2026-12-03 08:00")
