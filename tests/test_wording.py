"""Times and time controls are said as people say them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from games import wording
from games.clock import PRESETS, TimeControl

NOW = datetime(2026, 12, 2, 12, 0, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (timedelta(seconds=59), "less than a minute"),
        (timedelta(minutes=40, seconds=59), "40 min"),
        (timedelta(hours=6, minutes=40), "6 h 40 min"),
        (timedelta(hours=6), "6 h 00 min"),
        (timedelta(days=2, hours=19, minutes=59), "2 d 19 h"),
        (timedelta(days=3, hours=2), "3 d 02 h"),
        (timedelta(seconds=-5), "less than a minute"),
    ],
)
def test_a_span_has_two_units_at_most(length: timedelta, said: str) -> None:
    assert wording.span(length) == said


@pytest.mark.parametrize(
    ("past", "said"),
    [
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=-3), "just now"),
        (timedelta(minutes=20), "20 min ago"),
        (timedelta(minutes=70), "an hour ago"),
        (timedelta(hours=11), "11 hours ago"),
        (timedelta(hours=13), "yesterday"),
        (timedelta(hours=35), "yesterday"),
        (timedelta(days=1, hours=14, minutes=55), "Monday 21:05"),
        (timedelta(days=29), "3 Nov"),
        (timedelta(days=394), "3 Nov 2025"),
    ],
)
def test_a_moment_is_said_from_where_the_reader_stands(past: timedelta, said: str) -> None:
    assert wording.ago(NOW - past, NOW) == said


def test_yesterday_is_the_readers_own() -> None:
    moment = NOW - timedelta(hours=13)
    with timezone.override("Pacific/Auckland"):
        assert wording.ago(moment, NOW) == "yesterday"
    with timezone.override("Pacific/Honolulu"):
        assert wording.ago(moment, NOW) == "yesterday"
    with timezone.override("Asia/Tokyo"):
        assert wording.ago(NOW - timedelta(hours=8), NOW) == "8 hours ago"


def test_a_time_control_is_said_in_days() -> None:
    assert [wording.control(preset) for preset in PRESETS.values()] == [
        "3 days + 1 day a move",
        "1 day a move",
        "3 days a move",
        "7 days a move",
    ]
    assert wording.control(None) == "no clock"
    hours = TimeControl(timedelta(hours=36), timedelta(), timedelta(hours=36))
    assert wording.control(hours) == "1 d 12 h for the game"


def test_every_time_control_is_explained() -> None:
    for preset in (*PRESETS.values(), None):
        assert wording.control_explained(preset).endswith(".")
    assert "up to 5 days" in wording.control_explained(PRESETS["3+1"])


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 hours"),
        (1, "1 hour"),
        (23, "23 hours"),
        (24, "1 day"),
        (25, "1 day 1 hour"),
        (164, "6 days 20 hours"),
        (504, "21 days"),
    ],
)
def test_away_time_is_said_in_days_and_hours(count: int, said: str) -> None:
    assert wording.hours(count) == said
