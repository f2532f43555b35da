"""Durations and moments in words, in the reader's language and zone.

{{ left|duration }}       "2 d 19 h", "6 h 40 min", "less than a minute"
{{ game.control|control }}    "3 days + 1 day a move", "3 days a move", "no clock"
{{ game.deadline|moment }}    a <time> element: "Thu 18:00"; further away "12 Dec 18:00"
{{ ply.played|ago }}          a <time> element: "today 18:00", "yesterday 18:00", "12 Nov"
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from games.clock import TimeControl

register = template.Library()


@register.filter
def duration(left: timedelta | None) -> str:
    """The two largest units, rounded down: a clock never shows more than is left."""
    if left is None:
        return ""
    minutes = max(int(left.total_seconds()) // 60, 0)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return _("%(days)d d %(hours)02d h") % {"days": days, "hours": hours}
    if hours:
        return _("%(hours)d h %(minutes)02d min") % {"hours": hours, "minutes": minutes}
    if minutes:
        return _("%(minutes)d min") % {"minutes": minutes}
    return _("less than a minute")


@register.filter
def control(value: TimeControl | None) -> str:
    if value is None:
        return _("no clock")
    days = value.days_a_move
    if days is not None:
        return ngettext("%(n)d day a move", "%(n)d days a move", days) % {"n": days}
    return _("%(bank)s + %(increment)s a move") % {
        "bank": _length(value.bank),
        "increment": _length(value.increment),
    }


def _length(span: timedelta) -> str:
    if span % timedelta(days=1):
        return duration(span)
    return ngettext("%(n)d day", "%(n)d days", span.days) % {"n": span.days}


@register.filter
def moment(when: datetime | None) -> SafeString | str:
    """A deadline: the weekday and the time, or the date when it is most of a week away."""
    if when is None:
        return ""
    local = timezone.localtime(when)
    near = abs((local.date() - timezone.localdate()).days) < 6
    return _element(local, date_format(local, "D H:i" if near else "j M H:i"))


@register.filter
def ago(when: datetime | None) -> SafeString | str:
    """Something that happened: the nearer, the finer."""
    if when is None:
        return ""
    local = timezone.localtime(when)
    days = (timezone.localdate() - local.date()).days
    clock = date_format(local, "H:i")
    if days <= 0:
        text = _("today %(time)s") % {"time": clock}
    elif days == 1:
        text = _("yesterday %(time)s") % {"time": clock}
    elif days < 6:
        text = date_format(local, "D H:i")
    else:
        text = date_format(local, "j M" if local.year == timezone.localdate().year else "j M Y")
    return _element(local, text)


def _element(local: datetime, text: str) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        date_format(local, "j F Y, H:i"),
        text,
    )
