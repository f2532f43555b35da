"""Hours of a player's own day, by clocks that are put forward and back. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, tzinfo

MINUTE = timedelta(minutes=1)


def quiet_end(now: datetime, zone: tzinfo, begins: time, ends: time) -> datetime:
    """The first minute from now on that is not quiet; now itself where it is not.

    An instant is quiet when the zone's clocks stand between the two times, which may lie on two
    days. Walked by the minute, so that it holds over hours that come twice, or not at all.
    """
    at = now
    while _between(at.astimezone(zone).time(), begins, ends):
        at = at.replace(second=0, microsecond=0) + MINUTE
    return at


def _between(clock: time, begins: time, ends: time) -> bool:
    if begins <= ends:
        return begins <= clock < ends
    return clock >= begins or clock < ends


def next_hour(now: datetime, zone: tzinfo, hour: int) -> datetime:
    """The next instant after now at which the zone's clocks come to that hour.

    On a day that has it twice, the first time; on a day without it, when they skip it.
    """
    today = now.astimezone(zone).date()
    days = (today, today + timedelta(days=1))
    instants = (datetime.combine(day, time(hour), zone).astimezone(UTC) for day in days)
    return next(at for at in instants if at > now)
