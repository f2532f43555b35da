"""Times in words, in the reader's language and zone.

{{ left|span }}             "2 d 19 h"
{{ held|hours }}            "6 days 20 hours"
{{ game.control|control }}  "3 days + 1 day a move"
{{ game.control|control_explained }}    the same in a sentence or two
{{ game.deadline|moment }}  a <time> element: "Thu 18:00", further away "12 Dec 18:00"
{{ ply.when|ago }}          a <time> element: "20 min ago", "yesterday"
{{ game.ended|day }}        a <time> element: "28 Nov", "28 Nov 2025"
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from games import wording
from games.clock import TimeControl

register = template.Library()


@register.filter
def span(length: timedelta) -> str:
    return wording.span(length)


@register.filter
def hours(count: int) -> str:
    return wording.hours(count)


@register.filter
def control(value: TimeControl | None) -> str:
    return wording.control(value)


@register.filter
def control_explained(value: TimeControl | None) -> str:
    return wording.control_explained(value)


@register.filter
def moment(when: datetime) -> SafeString:
    """A deadline: the weekday and the time, or the date when it is most of a week away."""
    local = timezone.localtime(when)
    near = abs((local.date() - timezone.localdate()).days) < 6
    return _element(local, date_format(local, "D H:i" if near else "j M H:i"))


@register.filter
def ago(when: datetime) -> SafeString:
    return _element(timezone.localtime(when), wording.ago(when, timezone.now()))


@register.filter
def day(when: datetime) -> SafeString:
    local = timezone.localtime(when)
    same_year = local.year == timezone.localdate().year
    return _element(local, date_format(local, "j M" if same_year else "j M Y"))


def _element(local: datetime, text: str) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        local.isoformat(timespec="seconds"),
        date_format(local, "j F Y, H:i"),
        text,
    )
