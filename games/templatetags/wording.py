"""The words of games.wording for templates: {% load wording %}, then
{{ length|span }}, {{ moment|ago }}, {{ game.control|control }}, {{ control|control_explained }}."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone

from games import wording

register = template.Library()

register.filter("span", wording.span)
register.filter("control", wording.control)
register.filter("control_explained", wording.control_explained)


@register.filter
def ago(moment: datetime) -> str:
    return wording.ago(moment, timezone.now())
