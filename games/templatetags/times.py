"""Durations and moments in words, in the reader's language and zone.

{{ left|duration }}           "2 d 19 h", "6 h 40 min", "less than a minute"
{{ game.control|control }}    "3 days + 1 day a move", "3 days a move", "no clock"
{{ game.control|control_explained }}   the same in whole sentences
{{ game.deadline|moment }}    a <time> element: "Thu 18:00"; further away "12 Dec 18:00"
{{ ply.played|ago }}          a <time> element: "today 18:00", "yesterday 18:00", "12 Nov"
{{ ply.played|since }}        a <time> element: "20 min ago", "an hour ago", "yesterday"; for lists
{{ game.ended|day }}      a <time> element: "28 Nov", "28 Nov 2025"
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from games import wording

register = template.Library()


register.filter("control", wording.control)
register.filter("control_explained", wording.control_explained)


@register.filter
def duration(left: timedelta | None) -> str:
    return "" if left is None else wording.span(left)


@register.filter
def since(when: datetime | None) -> SafeString | str:
    """As a list says it; a page that stays open would go on saying it."""
    if when is None:
        return ""
    return _element(timezone.localtime(when), wording.ago(when, timezone.now()))


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
        text = _date(local)
    return _element(local, text)


@register.filter
def day(when: datetime | None) -> SafeString | str:
    if when is None:
        return ""
    local = timezone.localtime(when)
    return _element(local, _date(local))


def _date(local: datetime) -> str:
    return date_format(local, "j M" if local.year == timezone.localdate().year else "j M Y")


def _element(local: datetime, text: str) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        date_format(local, "j F Y, H:i"),
        text,
    )
