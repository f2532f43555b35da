"""Cards, times, spans and time controls in words, in the reader's language and zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from games.clock import TimeControl

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
# Below this a clock is shown as urgent.
URGENT = timedelta(hours=12)


def card_name(name: str) -> str:
    """The name as it is printed on the card; names of cards are not translated."""
    return name.replace("_", " ").title()


def span(length: timedelta) -> str:
    """`2 d 19 h`, `6 h 40 min`, `40 min`: the two largest units, rounded down, for a clock
    must never show more than is left."""
    hours, minutes = length // HOUR % 24, length // MINUTE % 60
    if length < MINUTE:
        return _("less than a minute")
    if length.days:
        return _("%(days)d d %(hours)02d h") % {"days": length.days, "hours": hours}
    if hours:
        return _("%(hours)d h %(minutes)02d min") % {"hours": hours, "minutes": minutes}
    return _("%(minutes)d min") % {"minutes": minutes}


def ago(moment: datetime, now: datetime) -> str:
    """`just now`, `20 min ago`, `yesterday`, `Tuesday 21:05`, `3 Nov`, `3 Nov 2025`."""
    past = now - moment
    if past < MINUTE:
        return _("just now")
    if past < HOUR:
        return _("%(n)d min ago") % {"n": past // MINUTE}
    then, today = timezone.localtime(moment), timezone.localtime(now).date()
    days = (today - then.date()).days
    if days == 0 or past < 6 * HOUR:
        hours = past // HOUR
        return ngettext("an hour ago", "%(n)d hours ago", hours) % {"n": hours}
    if days == 1:
        return _("yesterday")
    if days < 7:
        return date_format(then, "l H:i")
    return date_format(then, "j M" if then.year == today.year else "j M Y")


def days(length: timedelta) -> str:
    """`1 day`, `3 days`; what is not whole days as span() says it."""
    if length % DAY:
        return span(length)
    return ngettext("%(n)d day", "%(n)d days", length.days) % {"n": length.days}


def hours(count: int) -> str:
    """`6 days 20 hours`, `7 days`, `0 hours`: away time, which is held by the hour."""
    whole, rest = divmod(count, 24)
    said = [days(whole * DAY)] if whole else []
    if rest or not whole:
        said.append(ngettext("%(n)d hour", "%(n)d hours", rest) % {"n": rest})
    return " ".join(said)


def away_until(last: date, now: datetime) -> str:
    """`away until 12 Dec`: for the line beside a name."""
    this_year = last.year == timezone.localtime(now).year
    return _("away until %(day)s") % {"day": date_format(last, "j M" if this_year else "j M Y")}


def control(it: TimeControl | None) -> str:
    """`3 days + 1 day a move`, `7 days a move`, `no clock`."""
    if it is None:
        return _("no clock")
    if it.days_a_move is not None:
        return _("%(days)s a move") % {"days": days(it.bank)}
    if not it.increment:
        return _("%(bank)s for the game") % {"bank": days(it.bank)}
    return _("%(bank)s + %(increment)s a move") % {
        "bank": days(it.bank),
        "increment": days(it.increment),
    }


def control_explained(it: TimeControl | None) -> str:
    """What a time control means for somebody who has never played by one."""
    if it is None:
        return _("Nobody’s time runs: take as long as you like.")
    if it.days_a_move is not None:
        return _("Each move may take up to %(days)s; nothing is saved up.") % {
            "days": days(it.bank)
        }
    return _(
        "Each player begins with %(bank)s and gets %(increment)s for every move,"
        " up to %(cap)s in all."
    ) % {"bank": days(it.bank), "increment": days(it.increment), "cap": days(it.cap)}


def moment(at: datetime) -> str:
    """`Thursday 3 December 2026, 17:30 (Europe/Zagreb, UTC+01:00), that is 2026-12-03 16:30 UTC`.

    The zone's distance from UTC is that of the moment itself, which another season may change.
    """
    local, utc = timezone.localtime(at), at.astimezone(UTC)
    zone = timezone.get_current_timezone_name()
    said = date_format(local, _("l j F Y, H:i"))
    if zone == "UTC":
        return f"{said} UTC"
    return _("%(local)s (%(zone)s, UTC%(distance)s), that is %(utc)s UTC") % {
        "local": said,
        "zone": zone,
        "distance": local.isoformat()[-6:],
        "utc": f"{utc:%Y-%m-%d %H:%M}",
    }
