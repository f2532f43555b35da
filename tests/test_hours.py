"""Quiet hours and hours of the day in zones whose clocks are put forward and back."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.hours import next_hour, quiet_end

ZAGREB = ZoneInfo("Europe/Zagreb")
ZONES = [
    *("UTC", "Europe/Zagreb", "America/New_York", "America/Santiago", "Asia/Kolkata"),
    *("Australia/Lord_Howe", "Pacific/Kiritimati", "America/St_Johns", "Africa/Cairo"),
]


def local(text: str, zone: ZoneInfo = ZAGREB, fold: int = 0) -> datetime:
    """The instant at which the clocks of the zone show that."""
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).astimezone(UTC)


@pytest.mark.parametrize(
    ("now", "begins", "ends", "until"),
    [
        # On one day, and spanning midnight from either side of it.
        ("2026-12-01 13:00", time(12), time(14), "2026-12-01 14:00"),
        ("2026-12-01 22:30", time(22), time(7), "2026-12-02 07:00"),
        ("2026-12-02 00:00", time(22), time(7), "2026-12-02 07:00"),
        ("2026-12-02 06:59:59", time(22), time(7), "2026-12-02 07:00"),
        # At the edges: the first minute is quiet, the last is not.
        ("2026-12-01 22:00", time(22), time(7), "2026-12-02 07:00"),
        ("2026-12-02 07:00", time(22), time(7), "2026-12-02 07:00"),
        ("2026-12-01 21:59:59", time(22), time(7), "2026-12-01 21:59:59"),
        ("2026-12-01 14:00", time(12), time(14), "2026-12-01 14:00"),
        # All day but an hour; and nothing at all.
        ("2026-12-01 13:00", time(13), time(12), "2026-12-02 12:00"),
        ("2026-12-01 13:00", time(13), time(13), "2026-12-01 13:00"),
        # The night of 28 March 2027 is an hour shorter, that of 31 October an hour longer.
        ("2027-03-27 23:00", time(22), time(7), "2027-03-28 07:00"),
        ("2027-10-30 23:00", time(22), time(7), "2027-10-31 07:00"),
    ],
)
def test_quiet_hours_end_by_the_player_s_clock(
    now: str, begins: time, ends: time, until: str
) -> None:
    assert quiet_end(local(now), ZAGREB, begins, ends) == local(until)


def test_an_end_that_the_clocks_skip_is_when_they_skip_it() -> None:
    """At 02:00 clocks are put forward to 03:00: 02:30 never comes."""
    end = quiet_end(local("2027-03-28 01:30"), ZAGREB, time(22), time(2, 30))
    assert end == datetime(2027, 3, 28, 1, tzinfo=UTC) == local("2027-03-28 03:00")


def test_an_hour_that_comes_twice_is_quiet_twice() -> None:
    """At 03:00 clocks are put back to 02:00: 02:30 comes twice, an hour apart."""
    first = quiet_end(local("2027-10-31 01:30"), ZAGREB, time(22), time(2, 30))
    assert first == local("2027-10-31 02:30")
    again = local("2027-10-31 02:10", fold=1)
    assert again == local("2027-10-31 02:10") + timedelta(hours=1)
    assert quiet_end(again, ZAGREB, time(22), time(2, 30)) == first + timedelta(hours=1)


@pytest.mark.parametrize(
    ("now", "hour", "due"),
    [
        ("2026-12-01 07:59:59", 8, "2026-12-01 08:00"),
        # Strictly later: the one that has just been written is not written again.
        ("2026-12-01 08:00", 8, "2026-12-02 08:00"),
        ("2026-12-01 08:00:01", 8, "2026-12-02 08:00"),
        ("2026-12-01 23:30", 0, "2026-12-02 00:00"),
        ("2027-03-27 08:00", 8, "2027-03-28 08:00"),
        ("2027-10-30 08:00", 8, "2027-10-31 08:00"),
        # The hour that is skipped, and the one that comes twice.
        ("2027-03-27 02:00", 2, "2027-03-28 03:00"),
        ("2027-03-28 03:00", 2, "2027-03-29 02:00"),
        ("2027-10-30 02:00", 2, "2027-10-31 02:00"),
        ("2027-10-31 02:00", 2, "2027-11-01 02:00"),
    ],
)
def test_an_hour_comes_once_a_day(now: str, hour: int, due: str) -> None:
    assert next_hour(local(now), ZAGREB, hour) == local(due)


def test_midnight_that_is_skipped() -> None:
    """In Santiago clocks go from 24:00 to 01:00 on 6 September 2026."""
    zone = ZoneInfo("America/Santiago")
    due = next_hour(local("2026-09-05 12:00", zone), zone, 0)
    assert due == local("2026-09-06 01:00", zone)
    assert next_hour(due, zone, 0) == local("2026-09-07 00:00", zone)


seconds = st.integers(0, 2 * 365 * 86400).map(lambda number: timedelta(seconds=number))
instants = seconds.map(lambda later: datetime(2026, 1, 1, tzinfo=UTC) + later)
zones = st.sampled_from(ZONES).map(ZoneInfo)


@given(instants, zones, st.times(), st.times())
def test_whatever_the_zone_the_end_is_not_quiet_and_all_before_it_is(
    now: datetime, zone: ZoneInfo, begins: time, ends: time
) -> None:
    end = quiet_end(now, zone, begins, ends)
    assert now <= end <= now + timedelta(hours=26)
    assert quiet_end(end, zone, begins, ends) == end
    middle = now + (end - now) / 2
    if end - middle > timedelta(hours=2):
        assert quiet_end(middle, zone, begins, ends) == end


@given(instants, zones, st.integers(0, 23))
def test_whatever_the_zone_each_day_has_the_hour_once(
    now: datetime, zone: ZoneInfo, hour: int
) -> None:
    due = next_hour(now, zone, hour)
    assert now < due <= now + timedelta(hours=26)
    after = next_hour(due, zone, hour)
    assert after.astimezone(zone).date() == due.astimezone(zone).date() + timedelta(days=1)
    assert timedelta(hours=22) <= after - due <= timedelta(hours=26)
