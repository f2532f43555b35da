"""Quiet hours: nothing is mailed or pushed in them that can wait for their end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from games import deliveries, notices, play, push, sweep
from games.models import Delivery, Game, Kind, Notice, PushDevice
from tests.world import BLUE_BY_STONE, fresh, person, played, running

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("mailbox")]

ZAGREB = ZoneInfo("Europe/Zagreb")
MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (60, 3600, 86400))
Clock = time_machine.Traveller


def local(text: str) -> datetime:
    """The instant at which bob's clocks show that."""
    return datetime.fromisoformat(text).replace(tzinfo=ZAGREB).astimezone(UTC)


EVENING, NIGHT, MORNING = map(local, ("2026-12-01 20:00", "2026-12-01 23:30", "2026-12-02 07:00"))


@pytest.fixture
def clock() -> Iterator[Clock]:
    with time_machine.travel(EVENING, tick=False) as clock:
        yield clock


@pytest.fixture
def alice(clock: Clock) -> User:
    return person("alice", away=False)


@pytest.fixture
def bob(clock: Clock) -> User:
    """Quiet from 22:00 to 07:00 in Zagreb."""
    bob = person("bob", away=False)
    bob.time_zone, bob.quiet_from, bob.quiet_until = "Europe/Zagreb", time(22), time(7)
    bob.save(update_fields=["time_zone", "quiet_from", "quiet_until"])
    return bob


def turn(clock: Clock, alice: User, bob: User, now: datetime = NIGHT) -> Game:
    """A game in which alice moves at that time."""
    clock.move_to(now, tick=False)
    return running(alice, bob, BLUE_BY_STONE[:1])


def due_at(game: Game, deadline: datetime) -> None:
    Game.objects.filter(pk=game.pk).update(deadline=deadline)


def sent(player: User) -> list[str]:
    """The keys of what went to the player, in order."""
    deliveries.deliver_due(seconds=60)
    done = Delivery.objects.filter(notice__player=player, sent__isnull=False)
    return list(done.order_by("sent", "pk").values_list("notice__key", flat=True))


def waits_until(player: User) -> datetime | None:
    [delivery] = Delivery.objects.filter(notice__player=player, next_try__isnull=False)
    assert delivery.tries == 0
    return delivery.next_try


def test_a_turn_in_the_night_is_told_in_the_morning(clock: Clock, alice: User, bob: User) -> None:
    game = turn(clock, alice, bob)
    assert sent(bob) == []
    assert waits_until(bob) == MORNING
    clock.move_to(MORNING - timedelta(seconds=1), tick=False)
    assert sent(bob) == []
    clock.move_to(MORNING, tick=False)
    assert sent(bob) == [f"turn:g{game.pk}:p2"]
    assert sent(bob) == [f"turn:g{game.pk}:p2"]


def test_what_waits_goes_once_the_hours_are_over_by_the_player_s_word(
    clock: Clock, alice: User, bob: User, client: Client
) -> None:
    """Changed in the night: what was put off goes by the new hours, not by the old ones."""
    game = turn(clock, alice, bob)
    assert sent(bob) == []
    client.force_login(bob)
    form = {
        **{"site": Kind.values, "mail": Kind.values, "mail_mode": "every", "out_of_time": "win"},
        **{"time_zone": "Europe/Zagreb", "quiet_from": "22:00"},
    }
    assert client.post("/preferences/", form | {"quiet_until": "06:00"}).status_code == 303
    assert sent(bob) == []
    assert waits_until(bob) == MORNING - HOUR
    assert client.post("/preferences/", form | {"quiet_from": ""}).status_code == 303
    assert sent(bob) == [f"turn:g{game.pk}:p2"]


def test_what_waits_for_something_else_goes_on_waiting(
    clock: Clock, alice: User, bob: User
) -> None:
    now = datetime.now(UTC)
    notices.tell(bob, Kind.OUTAGE, "outage:o1", now=now, wait=2 * MINUTE)
    notices.look_again(bob, now=now)
    assert waits_until(bob) == now + 2 * MINUTE


@pytest.mark.parametrize("now", [EVENING, local("2026-12-01 21:59"), MORNING])
def test_at_other_times_it_is_told_at_once(
    clock: Clock, alice: User, bob: User, now: datetime
) -> None:
    turn(clock, alice, bob, now)
    assert len(sent(bob)) == 1


def test_it_is_the_reader_s_clock_that_counts(clock: Clock, alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(time_zone="America/New_York")
    turn(clock, alice, bob)
    assert len(sent(bob)) == 1


def test_who_has_none_is_told_at_once(clock: Clock, alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(quiet_from=None, quiet_until=None)
    turn(clock, alice, bob)
    assert len(sent(bob)) == 1


def test_what_is_no_longer_so_in_the_morning_is_not_told(
    clock: Clock, alice: User, bob: User
) -> None:
    game = turn(clock, alice, bob)
    assert sent(bob) == []
    played(game, BLUE_BY_STONE[1:2])
    clock.move_to(MORNING, tick=False)
    assert sent(bob) == []
    assert Delivery.objects.get(notice__key=f"turn:g{game.pk}:p2").error == "seen"


def test_waiting_out_a_night_is_no_try(clock: Clock, alice: User, bob: User) -> None:
    """Nor do three nights use up the three days after which a mail is given up."""
    game = turn(clock, alice, bob)
    for _ in range(5):
        sent(bob)
        Delivery.objects.filter(next_try__isnull=False).update(next_try=NIGHT)
    assert waits_until(bob) == NIGHT
    clock.move_to(MORNING, tick=False)
    assert sent(bob) == [f"turn:g{game.pk}:p2"]
    assert Delivery.objects.get(notice__key=f"turn:g{game.pk}:p2").tries == 1


# --- what cannot wait -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deadline", "goes"),
    [
        ("2026-12-02 01:00", True),
        ("2026-12-02 07:00", True),
        ("2026-12-02 09:00", True),
        ("2026-12-02 09:01", False),
        ("2026-12-03 01:00", False),
    ],
)
def test_a_deadline_in_them_or_two_hours_after_does_not_wait(
    clock: Clock, alice: User, bob: User, deadline: str, goes: bool
) -> None:
    game = turn(clock, alice, bob)
    due_at(game, local(deadline))
    assert sent(bob) == ([f"turn:g{game.pk}:p2"] if goes else [])


def test_nobody_is_woken_by_the_time_of_another(clock: Clock, alice: User, bob: User) -> None:
    """Alice runs out of time in bob's night, and goes on by her away time."""
    User.objects.filter(pk=alice.pk).update(away_on=True)
    clock.move_to(EVENING, tick=False)
    game = running(alice, bob)
    due_at(game, NIGHT)
    clock.move_to(NIGHT, tick=False)
    play.settle(game.pk, NIGHT)
    assert sent(alice)[-1] == f"away:g{game.pk}:p1"
    assert sent(bob) == []
    assert waits_until(bob) == MORNING


def test_reminders_wait_unless_they_are_urgent(clock: Clock, alice: User, bob: User) -> None:
    clock.move_to(EVENING - DAY, tick=False)
    far, near = (running(alice, bob, BLUE_BY_STONE[:1]) for _ in range(2))
    notices.see(bob, far, now=EVENING - DAY)
    notices.see(bob, near, now=EVENING - DAY)
    for game, deadline in ((far, NIGHT + DAY), (near, NIGHT + 4 * HOUR)):
        Game.objects.filter(pk=game.pk).update(deadline=deadline, next_reminder=NIGHT)
    sweep.sweep(NIGHT - MINUTE)
    clock.move_to(NIGHT, tick=False)
    sweep.sweep(NIGHT)
    assert sent(bob) == [f"reminder:g{near.pk}:p2:4h"]
    clock.move_to(MORNING, tick=False)
    assert sent(bob)[1:] == [f"reminder:g{far.pk}:p2:24h"]


def test_the_end_and_other_news_wait(clock: Clock, alice: User, bob: User) -> None:
    game = turn(clock, alice, bob)
    play.resign(game.pk, alice, now=NIGHT)
    notices.tell(bob, Kind.OUTAGE, "outage:o1", now=NIGHT)
    assert sent(bob) == []
    clock.move_to(MORNING, tick=False)
    assert sent(bob) == [f"over:g{game.pk}", "outage:o1"]


def test_a_test_goes_at_once(clock: Clock, bob: User) -> None:
    clock.move_to(NIGHT, tick=False)
    notices.send_test(bob, "mail", now=NIGHT)
    [key] = sent(bob)
    assert key.startswith("test:mail:")


# --- with modes, with pushes ------------------------------------------------------------------


def test_one_until_back_is_taken_in_the_morning(clock: Clock, alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(mail_mode="back")
    first = turn(clock, alice, bob)
    second = turn(clock, alice, bob, NIGHT + HOUR)
    assert sent(bob) == []
    bob.refresh_from_db()
    assert bob.turn_mailed is None
    clock.move_to(MORNING, tick=False)
    assert sent(bob) == [f"turn:g{first.pk}:p2"]
    other = Delivery.objects.get(notice__key=f"turn:g{second.pk}:p2")
    assert other.error == "one until back"


def test_pushes_wait_too(
    clock: Clock, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed: list[str] = []

    def send(delivery: Delivery, notice: Notice, *, now: datetime) -> None:
        pushed.append(notice.key)

    monkeypatch.setattr(push, "configured", lambda: True)
    monkeypatch.setattr(push, "send", send)
    PushDevice.objects.create(
        player=bob, endpoint="https://push.example/1", p256dh="B", auth="a", name="-", created=NIGHT
    )
    game = turn(clock, alice, bob)
    sent(bob)
    assert pushed == []
    clock.move_to(MORNING, tick=False)
    assert sent(bob) == [f"turn:g{game.pk}:p2"] * 2
    assert pushed == [f"turn:g{game.pk}:p2"]
    # Out of them, and in a game whose time runs out: at once.
    urgent = turn(clock, alice, bob, NIGHT + DAY)
    due_at(urgent, NIGHT + DAY + 5 * HOUR)
    sent(bob)
    assert pushed[1:] == [f"turn:g{urgent.pk}:p2"]


# --- nights with a change of clocks -----------------------------------------------------------


@pytest.mark.parametrize(
    ("night", "morning", "hours"),
    [
        ("2027-03-27 23:00", "2027-03-28 07:00", 7),
        ("2027-10-30 23:00", "2027-10-31 07:00", 9),
    ],
)
def test_over_a_change_of_clocks_it_is_still_seven(
    clock: Clock, alice: User, bob: User, night: str, morning: str, hours: int
) -> None:
    game = turn(clock, alice, bob, local(night))
    assert sent(bob) == []
    assert waits_until(bob) == local(morning) == local(night) + hours * HOUR
    clock.move_to(local(morning) - MINUTE, tick=False)
    assert sent(bob) == []
    clock.move_to(local(morning), tick=False)
    assert sent(bob) == [f"turn:g{game.pk}:p2"]
    assert fresh(game).deadline == local(night) + 3 * DAY


@pytest.mark.parametrize("night", ["2027-03-27 23:00", "2027-10-30 23:00"])
def test_what_is_urgent_is_reckoned_over_it_too(
    clock: Clock, alice: User, bob: User, night: str
) -> None:
    morning = local(night[:8] + f"{int(night[8:10]) + 1} 07:00")
    soon, later = (turn(clock, alice, bob, local(night)) for _ in range(2))
    due_at(soon, morning + 2 * HOUR)
    due_at(later, morning + 2 * HOUR + MINUTE)
    assert sent(bob) == [f"turn:g{soon.pk}:p2"]
