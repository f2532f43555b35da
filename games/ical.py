"""Deadlines as a calendar (RFC 5545), at the right local time on both sides of a clock change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parseaddr
from functools import lru_cache
from zoneinfo import ZoneInfo

from django.conf import settings
from icalendar import (
    Alarm,
    Calendar,
    Event,
    Timezone,
    TimezoneDaylight,
    TimezoneStandard,
    vCalAddress,
    vDuration,
)

from games.clock import reminder_due

# An event ends at its deadline, and begins so much before.
LENGTH = timedelta(minutes=30)
# How often a calendar program is asked to look again.
REFRESH = timedelta(hours=1)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Deadline:
    uid: str
    # Grows when the deadline moves.
    sequence: int
    title: str
    text: str
    link: str
    began: datetime
    changed: datetime
    at: datetime
    reminder_hours: tuple[int, ...]


def calendar(name: str, deadlines: Sequence[Deadline], zone: ZoneInfo, changed: datetime) -> bytes:
    root = Calendar()
    root.add("prodid", "-//Onitama//Onitama by correspondence//EN")
    root.add("version", "2.0")
    root.add("method", "PUBLISH")
    root.calendar_name = name
    root.add("refresh-interval", vDuration(REFRESH), parameters={"value": "DURATION"})
    root.add("x-published-ttl", vDuration(REFRESH))
    # Also where nothing refers to it: a calendar without any component is none.
    years = [moment.astimezone(zone).year for moment in (changed, *(d.at for d in deadlines))]
    root.add_component(time_zone(zone, min(years) - 1, max(years) + 1))
    for deadline in deadlines:
        root.add_component(_event(deadline, zone))
    return bytes(root.to_ical())


def _event(deadline: Deadline, zone: ZoneInfo) -> Event:
    event = Event()
    event.add("uid", deadline.uid)
    event.add("sequence", deadline.sequence)
    event.add("dtstamp", deadline.changed.astimezone(UTC))
    event.add("last-modified", deadline.changed.astimezone(UTC))
    event.add("summary", deadline.title)
    event.add("description", deadline.text)
    event.add("url", deadline.link)
    event.add("organizer", _organizer())
    # It says when something is due, and takes no time of the player's day.
    event.add("transp", "TRANSPARENT")
    start, end = _local((deadline.at - LENGTH, deadline.at), zone)
    event.add("dtstart", start)
    event.add("dtend", end)
    for hours in sorted(set(deadline.reminder_hours), reverse=True):
        if reminder_due(deadline.at, deadline.began, (hours,), deadline.began):
            event.add_component(_alarm(deadline.title, timedelta(hours=hours)))
    return event


def _organizer() -> vCalAddress:
    # RFC 5546 wants one where there is a METHOD.
    address = vCalAddress(f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}")
    address.params["CN"] = "Onitama"
    return address


def _alarm(title: str, before: timedelta) -> Alarm:
    alarm = Alarm()
    alarm.add("action", "DISPLAY")
    alarm.add("description", title)
    # Counted from the event's start, as every program can.
    alarm.add("trigger", LENGTH - before)
    return alarm


def _local(moments: tuple[datetime, datetime], zone: ZoneInfo) -> tuple[datetime, datetime]:
    """In the zone; in UTC where its clocks show one of the times for the second time, for
    without more a local time means the first (RFC 5545, 3.3.5)."""
    first, second = (moment.astimezone(zone) for moment in moments)
    if zone.key == "UTC" or first.fold or second.fold:
        first, second = (moment.astimezone(UTC) for moment in moments)
    return first, second


# --- zones ----------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def time_zone(zone: ZoneInfo, first_year: int, last_year: int) -> Timezone:
    """The zone's clock changes in these years.

    Not icalendar's own, which writes a change to summer time an hour late: RFC 5545 wants the
    time that the clocks show before it.
    """
    begin, end = datetime(first_year, 1, 1, tzinfo=UTC), datetime(last_year + 1, 1, 1, tzinfo=UTC)
    root = Timezone()
    root.add("tzid", zone.key)
    before = begin
    for at in (begin, *_changes(zone, begin, end)):
        root.add_component(_observance(before.astimezone(zone), at.astimezone(zone)))
        before = at
    return root


def _observance(before: datetime, at: datetime) -> TimezoneStandard | TimezoneDaylight:
    """What holds from `at`; `before` is any moment of what held until then."""
    old, new = before.utcoffset() or timedelta(), at.utcoffset() or timedelta()
    part = TimezoneDaylight() if at.dst() else TimezoneStandard()
    part.add("dtstart", at.replace(tzinfo=None) - new + old)
    part.add("tzoffsetfrom", old)
    part.add("tzoffsetto", new)
    part.add("tzname", at.tzname() or "")
    return part


def _changes(zone: ZoneInfo, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The first second of each new offset; none lasts less than a week."""
    low = begin
    while low < end:
        next_low = high = low + timedelta(days=7)
        old = low.astimezone(zone).utcoffset()
        if high.astimezone(zone).utcoffset() != old:
            while high - low > _SECOND:
                middle = low + (high - low) // _SECOND // 2 * _SECOND
                if middle.astimezone(zone).utcoffset() == old:
                    low = middle
                else:
                    high = middle
            yield high
        low = next_low
