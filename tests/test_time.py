"""Deadlines, flags, reminders, and the site's own outages, by a clock the tests set."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from accounts.models import User
from games import challenges, deliveries, notices, play, sweep
from games.models import Delivery, Game, Heartbeat, Notice, Outage
from tests.world import CONTROL, fresh, person, played, running

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (1, 60, 3600, 86400))
OPENING = ("crab:a1a2", "crane:b5b4", "tiger:c1c3")


@pytest.fixture
def alice() -> User:
    return person("alice", away=False)


@pytest.fixture
def bob() -> User:
    return person("bob", away=False)


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    """Both have moved; Blue, alice, is to move, with four days on the clock."""
    return running(alice, bob, OPENING[:2], now=NOW)


def deadline(game: Game) -> datetime:
    at = fresh(game).deadline
    assert at is not None
    return at


def move(game: Game, player: User, now: datetime) -> Game:
    action = fresh(game).current.legal_moves()[0]
    return play.play_move(game.pk, player, fresh(game).plies + 1, action, now=now)


def deliver(now: datetime) -> None:
    with time_machine.travel(now, tick=False):
        deliveries.deliver_due(seconds=60)


def turn_mail(game: Game) -> Delivery:
    return Delivery.objects.get(notice__key=f"turn:g{game.pk}:p3")


def keys(player: User) -> set[str]:
    return set(Notice.objects.filter(player=player).values_list("key", flat=True))


# --- the flag -------------------------------------------------------------------------------


def test_the_sweep_ends_a_game_at_its_deadline_and_tells_both(
    game: Game, alice: User, bob: User
) -> None:
    sweep.sweep(deadline(game) - SECOND)
    assert not fresh(game).is_over
    at = deadline(game)
    sweep.sweep(at)
    over = fresh(game)
    assert (over.termination, over.winner, over.ended) == ("time", "r", at)
    assert f"over:g{game.pk}" in keys(alice)
    assert f"over:g{game.pk}" in keys(bob)


def test_a_second_sweep_does_nothing(game: Game, alice: User) -> None:
    at = deadline(game)
    sweep.sweep(at)
    version = fresh(game).version
    sweep.sweep(at + MINUTE)
    assert fresh(game).version == version
    assert Notice.objects.filter(player=alice, key=f"over:g{game.pk}").count() == 1


@pytest.mark.parametrize("late", [timedelta(), SECOND, MINUTE])
def test_a_move_at_or_after_the_deadline_never_counts(
    game: Game, alice: User, late: timedelta
) -> None:
    """Before any sweep has seen it; and the flag stays although the move is refused."""
    with pytest.raises(play.GameOver):
        move(game, alice, deadline(game) + late)
    over = fresh(game)
    assert (over.termination, over.winner, over.plies) == ("time", "r", 2)


def test_a_move_a_second_before_the_deadline_counts(game: Game, alice: User) -> None:
    moved = move(game, alice, deadline(game) - SECOND)
    assert not moved.is_over
    assert fresh(game).seat("b").bank == DAY + SECOND


@pytest.mark.parametrize(
    "deed",
    ["resign", "offer_draw", "accept_draw", "decline_draw", "abort"],
)
def test_every_deed_settles_first(game: Game, alice: User, bob: User, deed: str) -> None:
    """The waiting player who resigns after the other's flag has fallen has won already."""
    extra = (3,) if "draw" in deed else ()
    with pytest.raises(play.GameOver):
        getattr(play, deed)(game.pk, bob, *extra, now=deadline(game) + SECOND)
    over = fresh(game)
    assert (over.termination, over.winner) == ("time", "r")


@pytest.mark.parametrize(("plies", "termination"), [(0, "aborted"), (1, "aborted"), (2, "time")])
def test_who_never_moved_aborts_instead_of_losing(
    alice: User, bob: User, plies: int, termination: str
) -> None:
    game = running(alice, bob, OPENING[:plies], now=NOW)
    sweep.sweep(deadline(game))
    assert fresh(game).termination == termination


def test_an_open_offer_changes_nothing_about_a_loss_on_time(game: Game, bob: User) -> None:
    play.offer_draw(game.pk, bob, 3, now=NOW)
    sweep.sweep(deadline(game))
    assert (fresh(game).termination, fresh(game).winner) == ("time", "r")


def test_a_game_that_fails_holds_up_no_other(
    game: Game, alice: User, bob: User, caplog: pytest.LogCaptureFixture
) -> None:
    broken = running(alice, bob, OPENING[:2], now=NOW)
    other = running(alice, bob, OPENING[:2], now=NOW)
    # Its own game-over notice is there already, so that flagging it cannot be written.
    Notice.objects.create(
        player=alice, key=f"over:g{broken.pk}", kind="over", created=NOW, not_before=NOW
    )
    sweep.sweep(deadline(game))
    assert fresh(game).is_over
    assert fresh(other).is_over
    assert not fresh(broken).is_over
    assert f"settle failed for {broken.pk}" in caplog.text


# --- reminders ------------------------------------------------------------------------------


def reminders(player: User) -> list[str]:
    rows = Notice.objects.filter(player=player, kind="reminder").order_by("created")
    return [key.split(":", 2)[2] for key in rows.values_list("key", flat=True)]


def test_the_player_to_move_is_reminded_at_24_and_4_hours(
    game: Game, alice: User, bob: User
) -> None:
    end = deadline(game)
    for at, expected in [
        (end - DAY - SECOND, []),
        (end - DAY, ["p3:24h"]),
        (end - DAY + MINUTE, ["p3:24h"]),
        (end - 4 * HOUR, ["p3:24h", "p3:4h"]),
        (end - SECOND, ["p3:24h", "p3:4h"]),
    ]:
        sweep.sweep(at)
        Heartbeat.objects.all().delete()  # steps this long are no outages here
        assert reminders(alice) == expected
    assert reminders(bob) == []


def test_a_move_ends_its_reminders(game: Game, alice: User) -> None:
    sweep.sweep(deadline(game) - DAY)
    move(game, alice, deadline(game) - 23 * HOUR)
    reminder = Notice.objects.get(player=alice, kind="reminder")
    assert reminder.seen is not None


# --- outages --------------------------------------------------------------------------------


def test_three_hours_off_over_five_deadlines_cost_nobody_a_game(alice: User, bob: User) -> None:
    off = NOW + 2 * DAY
    games = [running(alice, bob, OPENING[:2], now=NOW) for _ in range(5)]
    for index, row in enumerate(games):
        # Four inside the gap, one in the hour after it.
        Game.objects.filter(pk=row.pk).update(deadline=off + (1 + 45 * index) * MINUTE)
    Game.objects.filter(pk=games[4].pk).update(deadline=off + 3 * HOUR + 59 * MINUTE)
    safe = running(alice, bob, OPENING[:2], now=NOW)
    Game.objects.filter(pk=safe.pk).update(deadline=off + 4 * HOUR + MINUTE)
    sweep.sweep(off)
    back = off + 3 * HOUR
    sweep.sweep(back)
    outage = Outage.objects.get()
    assert (outage.began, outage.ended) == (off, back)
    for row in games:
        assert not fresh(row).is_over
        assert deadline(row) == max(back + 3 * HOUR, deadline(row))
        assert deadline(row) == back + 3 * HOUR
        assert fresh(row).outage_id == outage.pk
    assert deadline(safe) == off + 4 * HOUR + MINUTE
    for player in (alice, bob):
        told = Notice.objects.filter(player=player, kind="outage")
        assert [notice.key for notice in told] == [f"outage:o{outage.pk}"]
    sweep.sweep(back + MINUTE)
    assert Notice.objects.filter(kind="outage").count() == 2
    sweep.sweep(back + 9 * MINUTE)
    Heartbeat.objects.update(at=back + 3 * HOUR)
    sweep.sweep(back + 3 * HOUR)
    assert {fresh(row).termination for row in games} == {"time"}


@pytest.mark.parametrize(
    ("gap", "shift"),
    [(11 * MINUTE, HOUR), (3 * HOUR, 3 * HOUR), (5 * DAY, DAY)],
)
def test_the_shift_is_the_gap_at_least_an_hour_at_most_a_day(
    game: Game, gap: timedelta, shift: timedelta
) -> None:
    off = deadline(game) - MINUTE
    Heartbeat.objects.create(at=off)
    sweep.sweep(off + gap)
    assert deadline(game) == off + gap + shift


def test_a_gap_of_ten_minutes_is_no_outage(game: Game) -> None:
    off = deadline(game) - MINUTE
    Heartbeat.objects.create(at=off)
    sweep.sweep(off + 10 * MINUTE)
    assert fresh(game).termination == "time"
    assert not Outage.objects.exists()


def test_a_move_before_the_first_sweep_after_an_outage_counts(
    game: Game, alice: User, bob: User
) -> None:
    off = deadline(game) - MINUTE
    Heartbeat.objects.create(at=off)
    back = off + 3 * HOUR
    moved = move(game, alice, back)
    assert not moved.is_over
    assert moved.plies == 3
    # Nothing was left on the clock, and nothing less: one increment.
    assert fresh(game).seat("b").bank == DAY
    sweep.sweep(back + SECOND)
    sweep.sweep(back + 2 * SECOND)
    for player in (alice, bob):
        assert Notice.objects.filter(player=player, kind="outage").count() == 1
    assert not fresh(game).spared


@pytest.mark.usefixtures("mailbox")
def test_a_turn_is_told_though_the_mail_worker_comes_back_before_the_sweep(game: Game) -> None:
    """The deadline lies in the gap, and only the sweep knows that it is not lost by that."""
    off = deadline(game) - MINUTE
    Heartbeat.objects.create(at=off)
    back = off + 3 * HOUR
    deliver(back)
    assert not turn_mail(game).sent
    sweep.sweep(back + SECOND)
    deliver(back + MINUTE)
    assert turn_mail(game).sent == back + MINUTE


@pytest.mark.usefixtures("mailbox")
def test_a_turn_that_the_flag_ends_is_told_by_its_end_alone(game: Game, alice: User) -> None:
    at = deadline(game)
    deliver(at)
    sweep.sweep(at + SECOND)
    deliver(at + MINUTE)
    assert (turn_mail(game).sent, turn_mail(game).error) == (None, "withdrawn")
    assert Delivery.objects.get(notice__player=alice, notice__kind="over").sent == at + MINUTE


def test_a_deadline_before_the_outage_is_no_excuse(game: Game, alice: User) -> None:
    Heartbeat.objects.create(at=deadline(game) + MINUTE)
    with pytest.raises(play.GameOver):
        move(game, alice, deadline(game) + 3 * HOUR)
    assert fresh(game).termination == "time"


def test_reminders_of_a_moved_deadline_go_again(game: Game, alice: User) -> None:
    end = deadline(game)
    sweep.sweep(end - 4 * HOUR)
    assert reminders(alice) == ["p3:4h"]
    Heartbeat.objects.update(at=end - MINUTE)
    back = end + 6 * HOUR
    sweep.sweep(back)
    moved = deadline(game)
    assert moved == back + 6 * HOUR + MINUTE
    Heartbeat.objects.update(at=moved - 4 * HOUR)
    sweep.sweep(moved - 4 * HOUR)
    outage = Outage.objects.get()
    assert reminders(alice)[0] == "p3:4h"
    assert f"p3:4h:o{outage.pk}" in reminders(alice)


def test_after_an_outage_only_the_nearest_missed_reminder_goes(game: Game, alice: User) -> None:
    end = deadline(game)
    Heartbeat.objects.create(at=end - 30 * HOUR)
    sweep.sweep(end - 3 * HOUR)
    assert reminders(alice) == ["p3:4h"]


# --- waiting and withdrawing ----------------------------------------------------------------


def test_a_turn_notice_waits_for_somebody_who_may_be_looking(alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(last_navigation=NOW - MINUTE)
    game = running(alice, bob, OPENING[:1], now=NOW)
    waiting = Notice.objects.get(key=f"turn:g{game.pk}:p2")
    assert waiting.not_before == NOW + 2 * MINUTE
    assert Delivery.objects.get(notice=waiting).next_try == NOW + 2 * MINUTE
    User.objects.filter(pk=bob.pk).update(last_navigation=NOW - 6 * MINUTE)
    other = running(alice, bob, OPENING[:1], now=NOW)
    assert Notice.objects.get(key=f"turn:g{other.pk}:p2").not_before == NOW


def test_a_turn_against_the_computer_waits_ten_minutes(alice: User) -> None:
    level = User.objects.get(username="random")
    game = running(alice, level, OPENING[:2], control=None, now=NOW)
    waiting = Notice.objects.get(key=f"turn:g{game.pk}:p3")
    assert waiting.not_before == NOW + 10 * MINUTE
    assert Delivery.objects.get(notice=waiting).next_try == NOW + 10 * MINUTE


def test_moving_and_seeing_take_a_notice_back(game: Game, alice: User, bob: User) -> None:
    notices.see(alice, game, now=NOW)
    assert Notice.objects.get(key=f"turn:g{game.pk}:p3").seen == NOW
    played(game, OPENING[2:], now=NOW + HOUR)
    turn = Notice.objects.get(key=f"turn:g{game.pk}:p4")
    assert (turn.player, turn.seen) == (bob, None)
    move(game, bob, NOW + 2 * HOUR)
    turn.refresh_from_db()
    assert turn.seen == NOW + 2 * HOUR


@pytest.mark.parametrize("deed", [play.resign, play.abort])
def test_every_deed_in_a_game_counts_as_seeing_it(
    alice: User, bob: User, deed: Callable[..., Game]
) -> None:
    row = challenges.challenge(
        alice, bob, control=CONTROL, colour="", deck="base", private=False, now=NOW
    )
    game = challenges.accept(row.pk, bob, now=NOW)
    deed(game.pk, alice, now=NOW + SECOND)
    assert Notice.objects.get(key=f"challenge:c{row.pk}:accepted").seen == NOW + SECOND


def test_guests_and_levels_get_no_mail(alice: User) -> None:
    visitor = User.objects.create_user("guest-12345678", kind=User.Kind.GUEST)
    level = User.objects.get(username="random")
    running(level, visitor, OPENING[:1], control=None, now=NOW)
    assert Notice.objects.filter(player=visitor).count() == 1
    assert not Notice.objects.filter(player=level).exists()
    assert not Delivery.objects.exists()
