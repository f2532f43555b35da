"""The clock: bank, increment, cap, and when a reminder falls due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from games.clock import PRESETS, TimeControl, days, reminder_due

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("left", "bank"),
    [
        (timedelta(days=3), timedelta(days=4)),
        (timedelta(days=4, hours=12), timedelta(days=5)),
        (timedelta(seconds=1), timedelta(days=1, seconds=1)),
        (timedelta(), timedelta(days=1)),
        # A move that an outage of the site excused.
        (timedelta(hours=-3), timedelta(days=1)),
    ],
)
def test_a_move_adds_the_increment_up_to_the_cap(left: timedelta, bank: timedelta) -> None:
    assert days(3, 1, 5).bank_after_move(left) == bank


@pytest.mark.parametrize("left", [timedelta(seconds=1), timedelta(hours=20), timedelta(days=3)])
def test_days_a_move_always_gives_the_same_days(left: timedelta) -> None:
    control = PRESETS["3"]
    assert control.days_a_move == 3
    assert control.bank_after_move(left) == timedelta(days=3)


def test_it_writes_seconds_as_the_record_has_them() -> None:
    assert str(PRESETS["3+1"]) == "259200+86400/432000"
    assert PRESETS["3+1"].days_a_move is None


@pytest.mark.parametrize(("bank", "increment", "cap"), [(0, 1, 1), (2, 1, 1), (1, -1, 1)])
def test_it_refuses_a_clock_that_makes_no_sense(bank: int, increment: int, cap: int) -> None:
    with pytest.raises(ValueError, match="A clock needs"):
        TimeControl(timedelta(days=bank), timedelta(days=increment), timedelta(days=cap))


@pytest.mark.parametrize(
    ("left", "passed", "due"),
    [
        # 72 h on the clock: first at 24 h before the end, then at 4 h, then never.
        (72 * HOUR, 0 * HOUR, 48 * HOUR),
        (72 * HOUR, 48 * HOUR, 68 * HOUR),
        (72 * HOUR, 68 * HOUR, None),
        # 24 h: the first would be said with the turn itself.
        (24 * HOUR, 0 * HOUR, 20 * HOUR),
        (26 * HOUR, 0 * HOUR, 2 * HOUR),
        (25 * HOUR, 0 * HOUR, 21 * HOUR),
        # 5 h: too close to the turn for any.
        (5 * HOUR, 0 * HOUR, None),
    ],
)
def test_reminders_fall_due(left: timedelta, passed: timedelta, due: timedelta | None) -> None:
    answer = reminder_due(NOON + left, NOON, (24, 4), NOON + passed)
    assert answer == (None if due is None else NOON + due)
