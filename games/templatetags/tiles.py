"""Draws the tiles of Your turn: {% load tiles %}, then {% tile it %} for a views.lists.Tile."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()


@register.simple_tag
def tile(it: Hashable) -> SafeString:
    return _tile(it, get_language())


@lru_cache(maxsize=2048)
def _tile(it: Hashable, _language: str | None) -> SafeString:
    """A tile says all that it shows, so equal ones in one language have one markup."""
    return render_to_string("games/_tile.html", {"tile": it})
