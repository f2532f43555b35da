"""Away time: hours taken when a clock runs out, earned with the months, told and written down."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from random import Random

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts.models import AWAY_AT_START, User
from games import away, away_hours, notices, play, sweep
from games.models import AwayEntry, AwayShift, Game, Heartbeat, Notice, Seat
from tests.world import CONTROL, DEAL, fresh, level, person, running

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (1, 60, 3600, 86400))
# Blue is to move after these, with four days on the clock.
OPENING = ("crab:a1a2", "crane:b5b4")
END = NOW + 4 * DAY


def holder(name: str, hours: int = AWAY_AT_START, *, away: bool = True) -> User:
    """Somebody who holds so many hours, December's counted."""
    player = person(name, away=away)
    return hold(player, hours)


def hold(player: User, hours: int, *, credited: date = date(2026, 12, 1)) -> User:
    player.away_hours, player.away_credited = hours, credited
    player.save(update_fields=["away_hours", "away_credited"])
    return player


@pytest.fixture
def alice() -> User:
    return holder("alice")


@pytest.fixture
def bob() -> User:
    return holder("bob")


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    return due(alice, bob, END)


def due(blue: User, red: User, deadline: datetime, *, private: bool = False) -> Game:
    """A game in which Blue is to move until then."""
    game = running(blue, red, OPENING, now=NOW, private=private)
    Game.objects.filter(pk=game.pk).update(deadline=deadline)
    return fresh(game)


def sweep_at(now: datetime) -> None:
    """As if the sweep had never stood still."""
    Heartbeat.objects.update_or_create(pk=1, defaults={"at": now - 15 * SECOND})
    sweep.sweep(now)


def use(game: Game, hours: int) -> None:
    """Blue has used so many hours in this game."""
    Seat.objects.filter(game=game, colour="b").update(away_hours=hours)


def used(game: Game) -> int:
    return fresh(game).seat("b").away_hours


def hours_of(player: User) -> int:
    return int(User.objects.get(pk=player.pk).away_hours)


def ledger(player: User) -> list[tuple[datetime, str, int, int]]:
    entries = AwayEntry.objects.filter(player=player).order_by("pk")
    return list(entries.values_list("at", "reason", "hours", "balance"))


def keys(player: User, kind: str) -> list[str]:
    rows = Notice.objects.filter(player=player, kind=kind).order_by("pk")
    return list(rows.values_list("key", flat=True))


def assert_it_adds_up(*players: User, start: int = AWAY_AT_START) -> None:
    """The ledger leads from what was held at the start to what is held, hour by hour."""
    for player in players:
        balance = start
        for _at, _reason, hours, after in ledger(player):
            balance += hours
            assert after == balance
        assert hours_of(player) == balance
        for seat in Seat.objects.filter(player=player):
            shifts = AwayShift.objects.filter(entry__player=player, game=seat.game_id)
            assert shifts.count() == seat.away_hours
        assert not AwayShift.objects.filter(entry__player=player, entry__hours__gt=0)


# --- taking hours ---------------------------------------------------------------------------


def test_when_the_clock_runs_out_an_hour_is_taken_and_the_game_goes_on(
    game: Game, alice: User, bob: User
) -> None:
    sweep_at(END - SECOND)
    assert fresh(game).deadline == END
    sweep_at(END)
    after = fresh(game)
    assert not after.is_over
    assert (after.deadline, after.version) == (END + HOUR, game.version + 1)
    assert ledger(alice) == [(END, "taken", -1, 167)]
    shift = AwayShift.objects.get()
    assert (shift.game_id, shift.ply, used(game)) == (game.pk, 3, 1)
    assert hours_of(bob) == AWAY_AT_START
    assert_it_adds_up(alice, bob)


def test_hour_by_hour_for_seven_days_and_no_longer(game: Game, alice: User) -> None:
    hold(alice, 200)
    for n in range(168):
        sweep_at(END + n * HOUR - SECOND)
        assert used(game) == n
        sweep_at(END + n * HOUR + SECOND)
        assert (used(game), fresh(game).deadline) == (n + 1, END + (n + 1) * HOUR)
        assert hours_of(alice) == 199 - n
    sweep_at(END + 168 * HOUR - SECOND)
    assert not fresh(game).is_over
    sweep_at(END + 168 * HOUR)
    assert (fresh(game).termination, fresh(game).winner) == ("time", "r")
    assert hours_of(alice) == 32
    assert_it_adds_up(alice, start=200)


def test_an_hour_serves_every_game_that_is_due_within_it(alice: User, bob: User) -> None:
    first, last, next_hour = (due(alice, bob, at) for at in (END, END + HOUR - SECOND, END + HOUR))
    sweep_at(END)
    assert hours_of(alice) == 167
    assert fresh(first).deadline == END + HOUR
    assert fresh(last).deadline == END + 2 * HOUR - SECOND
    assert fresh(next_hour).deadline == END + HOUR
    sweep_at(END + HOUR)
    assert hours_of(alice) == 166
    assert [used(game) for game in (first, last, next_hour)] == [2, 2, 1]
    assert AwayShift.objects.values("entry").distinct().count() == 2
    assert_it_adds_up(alice)


def test_it_takes_the_same_hours_whichever_game_is_settled_first(alice: User, bob: User) -> None:
    early, late = due(alice, bob, END), due(alice, bob, END + 30 * MINUTE)
    play.settle(late.pk, END + 50 * MINUTE)
    play.settle(early.pk, END + 50 * MINUTE)
    assert ledger(alice) == [(END, "taken", -1, 167)]
    assert [used(early), used(late)] == [1, 1]


def test_games_that_wait_for_others_are_left_alone(game: Game, alice: User, bob: User) -> None:
    theirs = due(bob, alice, END + 5 * MINUTE)
    sweep_at(END)
    assert fresh(theirs).deadline == END + 5 * MINUTE
    sweep_at(END + 5 * MINUTE)
    assert [hours_of(alice), hours_of(bob)] == [167, 167]
    assert_it_adds_up(alice, bob)


def test_who_was_long_past_the_deadline_pays_for_every_hour(game: Game, alice: User) -> None:
    play.settle(game.pk, END + 30 * HOUR)
    assert hours_of(alice) == 168 - 31
    assert fresh(game).deadline == END + 31 * HOUR
    assert [at for at, *_ in ledger(alice)] == [END + n * HOUR for n in range(31)]
    assert_it_adds_up(alice)


def test_one_game_may_use_seven_days_and_the_others_go_on(alice: User, bob: User) -> None:
    spent, other = due(alice, bob, END), due(alice, bob, END + MINUTE)
    use(spent, 168)
    sweep_at(END + MINUTE)
    assert fresh(spent).termination == "time"
    assert (fresh(other).is_over, used(other)) == (False, 1)
    assert ledger(alice) == [(END + MINUTE, "taken", -1, 167)]


def test_a_game_at_its_end_of_seven_days_is_not_served_by_the_hour_of_another(
    alice: User, bob: User
) -> None:
    other, spent = due(alice, bob, END), due(alice, bob, END + MINUTE)
    use(spent, 168)
    sweep_at(END)
    assert fresh(spent).deadline == END + MINUTE
    sweep_at(END + MINUTE)
    assert fresh(spent).is_over
    assert not fresh(other).is_over


def test_without_an_hour_left_the_flag_falls(game: Game, alice: User) -> None:
    hold(alice, 0)
    sweep_at(END)
    assert fresh(game).termination == "time"
    assert ledger(alice) == []


def test_the_last_hour_is_taken_and_no_more(game: Game, alice: User) -> None:
    hold(alice, 1)
    sweep_at(END)
    assert (hours_of(alice), fresh(game).is_over) == (0, False)
    sweep_at(END + HOUR)
    assert fresh(game).termination == "time"
    assert ledger(alice) == [(END, "taken", -1, 0)]


def test_who_switched_it_off_loses_on_time(game: Game, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(away_on=False)
    sweep_at(END)
    assert fresh(game).termination == "time"
    assert hours_of(alice) == AWAY_AT_START


def test_a_private_game_is_put_off_as_any_other(alice: User, bob: User) -> None:
    game = due(alice, bob, END, private=True)
    sweep_at(END)
    assert (used(game), hours_of(alice)) == (1, 167)


def test_who_never_moved_may_use_it_too(alice: User, bob: User) -> None:
    game = running(alice, bob, now=NOW)
    assert game.deadline is not None
    sweep_at(game.deadline)
    assert not fresh(game).is_over
    hold(alice, 0)
    sweep_at(game.deadline + HOUR)
    assert fresh(game).termination == "aborted"


def test_it_is_never_taken_against_the_computer(alice: User) -> None:
    """Such a game has no clock; were there one, it would run out."""
    game = running(alice, level(), OPENING, deal=DEAL, control=CONTROL, now=NOW)
    assert game.deadline is not None
    sweep_at(game.deadline)
    assert fresh(game).termination == "time"
    assert hours_of(alice) == AWAY_AT_START


def test_many_games_due_at_once_are_settled_by_the_first(
    alice: User, bob: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    games = [due(alice, bob, END) for _ in range(3)]
    play.settle(games[0].pk, END)
    assert {fresh(game).deadline for game in games} == {END + HOUR}
    # Or with hundreds each would lock and read all the others once more.
    for game in games:
        with django_assert_num_queries(1):
            play.settle(game.pk, END)


# --- deeds in an away hour ------------------------------------------------------------------


def move(game: Game, player: User, now: datetime) -> Game:
    action = fresh(game).current.legal_moves()[0]
    return play.play_move(game.pk, player, fresh(game).plies + 1, action, now=now)


@pytest.mark.parametrize("late", [timedelta(), SECOND, 59 * MINUTE, 30 * HOUR])
def test_a_move_in_an_away_hour_counts_although_no_sweep_came(
    game: Game, alice: User, late: timedelta
) -> None:
    assert not move(game, alice, END + late).is_over
    hours = late // HOUR + 1
    assert hours_of(alice) == AWAY_AT_START - hours
    rest = END + hours * HOUR - (END + late)
    assert fresh(game).seat("b").bank == DAY + rest
    assert_it_adds_up(alice)


def test_a_move_a_second_before_the_deadline_costs_no_hour(game: Game, alice: User) -> None:
    move(game, alice, END - SECOND)
    assert hours_of(alice) == AWAY_AT_START


def test_a_move_after_the_last_hour_does_not_count(game: Game, alice: User) -> None:
    hold(alice, 2)
    with pytest.raises(play.GameOver):
        move(game, alice, END + 2 * HOUR)
    over = fresh(game)
    assert (over.termination, over.plies, hours_of(alice)) == ("time", 2, 0)


def test_the_waiting_player_s_deed_takes_the_hour_too(game: Game, alice: User, bob: User) -> None:
    play.offer_draw(game.pk, bob, 3, now=END + SECOND)
    assert (fresh(game).draw_offer, hours_of(alice)) == ("r", 167)
    play.accept_draw(game.pk, alice, 3, now=END + 2 * HOUR)
    assert (fresh(game).termination, hours_of(alice)) == ("agreement", 165)


def test_a_deed_that_is_refused_keeps_the_hour_taken(game: Game, alice: User, bob: User) -> None:
    with pytest.raises(play.NotYourTurn):
        move(game, bob, END)
    assert hours_of(alice) == 167
    assert_it_adds_up(alice)


def test_a_stranger_settles_nothing(game: Game, alice: User) -> None:
    with pytest.raises(play.NotYourGame):
        play.resign(game.pk, person("charlie"), now=END)
    assert fresh(game).deadline == END


# --- being told -----------------------------------------------------------------------------


def test_both_are_told_once_a_ply(game: Game, alice: User, bob: User) -> None:
    told = [f"away:g{game.pk}:p3"]
    for n in range(5):
        sweep_at(END + n * HOUR)
        assert keys(alice, "away") == keys(bob, "away") == told
    moved = move(game, alice, END + 5 * HOUR - SECOND)
    assert moved.deadline is not None
    sweep_at(moved.deadline)
    told.append(f"away:g{game.pk}:p4")
    assert keys(alice, "away") == keys(bob, "away") == told
    assert hours_of(bob) == 167


def test_every_game_that_an_hour_serves_is_told_of(alice: User, bob: User) -> None:
    charlie = holder("charlie")
    one, other = due(alice, bob, END), due(alice, charlie, END + MINUTE)
    sweep_at(END)
    assert keys(alice, "away") == [f"away:g{one.pk}:p3", f"away:g{other.pk}:p3"]
    assert keys(bob, "away") == [f"away:g{one.pk}:p3"]
    assert keys(charlie, "away") == [f"away:g{other.pk}:p3"]


def test_the_warning_goes_when_the_move_is_made(game: Game, alice: User, bob: User) -> None:
    sweep_at(END)
    move(game, alice, END + MINUTE)
    for player in (alice, bob):
        notice = Notice.objects.get(player=player, kind="away")
        assert notice.seen or notice.withdrawn


def test_the_warning_goes_when_the_game_ends(game: Game, alice: User, bob: User) -> None:
    sweep_at(END)
    play.resign(game.pk, bob, now=END + MINUTE)
    assert Notice.objects.get(player=alice, kind="away").withdrawn


def test_what_was_told_stays_true_while_there_are_hours(game: Game, alice: User) -> None:
    """Between the deadline and the sweep that puts it off no notice of the turn is dropped."""
    sweep_at(END)
    told = Notice.objects.filter(player=alice, game=game, ply=3)
    assert {notice.kind for notice in told} == {"turn", "away"}

    def true(at: datetime) -> bool:
        return all(notices.still_true(Notice.objects.get(pk=n.pk), at) for n in told)

    assert true(END + HOUR + SECOND)
    hold(alice, 0)
    assert not true(END + HOUR + SECOND)
    assert true(END + HOUR - SECOND)
    move(game, alice, END + MINUTE)
    assert not true(END + 2 * MINUTE)


def away24(game: Game) -> str:
    return f"reminder:g{game.pk}:p3:away24"


@pytest.mark.parametrize(("balance", "in_game"), [(30, 0), (168, 138)])
def test_the_mover_is_told_again_when_24_hours_are_left_for_the_game(
    game: Game, alice: User, bob: User, balance: int, in_game: int
) -> None:
    """Whichever runs out first: the hours held, or the seven days of this game."""
    hold(alice, balance)
    use(game, in_game)
    for n in range(30):
        told = away24(game) in keys(alice, "reminder")
        assert told == (n >= 6), n
        sweep_at(END + n * HOUR)
    assert keys(alice, "reminder").count(away24(game)) == 1
    assert away24(game) not in keys(bob, "reminder")


def test_not_again_where_the_first_notice_said_as_much(game: Game, alice: User) -> None:
    hold(alice, 25)
    for n in range(25):
        sweep_at(END + n * HOUR)
    assert hours_of(alice) == 0
    assert away24(game) not in keys(alice, "reminder")


def test_it_is_told_although_the_hour_that_left_24_served_another_game(
    alice: User, bob: User
) -> None:
    game = due(alice, bob, END)
    hold(alice, 26)
    sweep_at(END)
    hold(alice, 24)
    sweep_at(END + HOUR)
    assert away24(game) in keys(alice, "reminder")


# --- reminders ------------------------------------------------------------------------------


def test_reminders_do_not_go_again_because_of_an_away_hour(game: Game, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(reminder_hours=[24, 4, 1])
    for hours in (24, 4, 1):
        sweep_at(END - hours * HOUR)
    before = keys(alice, "reminder")
    assert len(before) == 3
    for minutes in range(0, 300, 15):
        sweep_at(END + minutes * MINUTE)
    assert keys(alice, "reminder") == before


# --- the site's own outages -----------------------------------------------------------------


def test_no_hour_is_taken_while_the_site_was_away(game: Game, alice: User) -> None:
    Heartbeat.objects.create(at=END - MINUTE)
    play.settle(game.pk, END + 3 * HOUR)
    assert (fresh(game).deadline, hours_of(alice)) == (END, AWAY_AT_START)
    sweep.sweep(END + 3 * HOUR)
    assert fresh(game).deadline == END + 6 * HOUR + MINUTE
    assert hours_of(alice) == AWAY_AT_START
    sweep_at(END + 6 * HOUR + MINUTE)
    assert hours_of(alice) == 167


def test_a_deadline_before_the_outage_costs_the_hours_up_to_it(game: Game, alice: User) -> None:
    """The clock ran out while the site was there: the hour is due, those of the gap are not."""
    Heartbeat.objects.create(at=END + MINUTE)
    assert not move(game, alice, END + 3 * HOUR).is_over
    assert hours_of(alice) == 167


def test_a_day_s_outage_in_the_middle_of_away_time_takes_none_of_it(
    game: Game, alice: User
) -> None:
    sweep_at(END)
    Heartbeat.objects.update(at=END + 30 * MINUTE)
    back = END + DAY + 30 * MINUTE
    sweep.sweep(back)
    assert (fresh(game).deadline, hours_of(alice)) == (back + DAY, 167)
    sweep_at(back + DAY)
    assert hours_of(alice) == 166
    # One ply, one notice, in spite of the outage between.
    assert keys(alice, "away") == [f"away:g{game.pk}:p3"]


# --- earning --------------------------------------------------------------------------------


MONTH = datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("held", "after", "line"),
    [(0, 48, 48), (168, 216, 48), (456, 504, 48), (490, 504, 14), (504, 504, 0)],
)
def test_a_month_gives_two_days_up_to_twenty_one(
    alice: User, held: int, after: int, line: int
) -> None:
    hold(alice, held)
    away_hours.credit_months(MONTH - SECOND)
    assert hours_of(alice) == held
    away_hours.credit_months(MONTH)
    away_hours.credit_months(MONTH + HOUR)
    assert hours_of(alice) == after
    assert ledger(alice) == ([(MONTH, "month", line, after)] if line else [])


def test_the_clean_up_gives_every_month_that_was_missed_to_everybody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(away_hours, "CHUNK", 2)
    players = [holder(f"player{n}") for n in range(5)]
    sweep.clean_up(datetime(2027, 3, 15, 7, tzinfo=UTC))
    for player in players:
        assert [(at.month, hours) for at, _, hours, _ in ledger(player)] == [
            (1, 48),
            (2, 48),
            (3, 48),
        ]
        player.refresh_from_db()
        assert player.away_credited == date(2027, 3, 1)
    assert_it_adds_up(*players)
    assert not AwayEntry.objects.filter(player=level())


def test_who_joins_on_a_month_s_first_waits_for_the_next(alice: User) -> None:
    hold(alice, 168, credited=date(2027, 1, 1))
    away_hours.credit_months(MONTH + HOUR)
    assert hours_of(alice) == 168


@pytest.mark.parametrize("cleaned_up", [False, True])
@pytest.mark.parametrize(("at", "saved"), [(MONTH - SECOND, False), (MONTH, True)])
def test_a_month_counts_from_its_first_moment_whoever_writes_it_down(
    alice: User, bob: User, at: datetime, *, saved: bool, cleaned_up: bool
) -> None:
    """A clock that ran out in December has none of January's hours."""
    hold(alice, 0)
    game = due(alice, bob, at)
    if cleaned_up:
        away_hours.credit_months(MONTH + MINUTE)
    sweep_at(MONTH + MINUTE)
    assert fresh(game).is_over != saved
    if saved:
        assert ledger(alice) == [(MONTH, "month", 48, 48), (MONTH, "taken", -1, 47)]


def test_what_is_held_counts_months_not_written_yet(alice: User) -> None:
    hold(alice, 430)
    for now, hours in (
        (MONTH - SECOND, 430),
        (MONTH, 478),
        (datetime(2027, 2, 1, tzinfo=UTC), 504),
        (datetime(2028, 2, 1, tzinfo=UTC), 504),
    ):
        assert away.held(alice, now) == hours


# --- what is left, and what is announced ----------------------------------------------------


def test_left_for_a_game(game: Game, alice: User, bob: User) -> None:
    seat = fresh(game).seat("b")
    assert away.left(seat, NOW) == 168
    seat.away_hours = 100
    assert away.left(seat, NOW) == 68
    seat.player.away_hours = 3
    assert away.left(seat, NOW) == 3
    seat.player.away_on = False
    assert away.left(seat, NOW) == 0


def test_away_until_is_over_after_that_day_where_the_player_lives(alice: User) -> None:
    alice.away_until, alice.time_zone = date(2026, 12, 5), "Pacific/Auckland"
    # Midnight there is 11:00 in UTC.
    assert away.until(alice, datetime(2026, 12, 5, 10, 59, tzinfo=UTC)) == date(2026, 12, 5)
    assert away.until(alice, datetime(2026, 12, 5, 11, tzinfo=UTC)) is None
    alice.away_until = None
    assert away.until(alice, NOW) is None


# --- whoever comes, and whenever ------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_late_settling_finds_what_punctual_sweeps_would_have(seed: int) -> None:
    """Games due at random minutes, few hours, a month's first between: the ledgers are the same."""
    chance = Random(seed)
    minutes = [chance.randrange(0, 20 * 60) for _ in range(6)]
    spent = [chance.choice([0, 0, 160, 166, 168]) for _ in minutes]
    begin, held = MONTH - 10 * HOUR, chance.randrange(0, 12)
    ends, ledgers = [], []
    for name in ("punctual", "late"):
        player, other = holder(name, held), holder(f"of_{name}")
        games = [due(player, other, begin + n * MINUTE) for n in minutes]
        for game, hours in zip(games, spent, strict=True):
            use(game, hours)
        if name == "punctual":
            for n in range(60):
                now = begin + n * HOUR / 2
                for game in Game.objects.running().filter(deadline__lte=now).order_by("deadline"):
                    play.settle(game.pk, now)
        chance.shuffle(games)
        for game in games:
            play.settle(game.pk, begin + 30 * HOUR)
        games.sort(key=lambda game: game.pk)
        over = [fresh(game) for game in games]
        ends.append([(game.termination, game.deadline, used(game)) for game in over])
        ledgers.append(ledger(player))
    assert ends[0] == ends[1]
    assert ledgers[0] == ledgers[1]
