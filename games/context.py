"""What every page shows of the games: how many wait for the reader."""

from __future__ import annotations

from typing import Any

from django.db.models import F
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from games.models import Seat


def turn_count(player_pk: int) -> int:
    """Running games in which the player is to move."""
    return Seat.objects.filter(player=player_pk, result="", game__turn=F("colour")).count()


def site(request: HttpRequest) -> dict[str, Any]:
    """`turn_count`, asked only by templates that show it; 0 for readers without an account."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"turn_count": 0}
    return {"turn_count": SimpleLazyObject(lambda: turn_count(user.pk))}
