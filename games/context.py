"""What every page shows of the games: how many wait for the reader."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from games.models import Seat


def site(request: HttpRequest) -> dict[str, Any]:
    """`turn_count`, asked only by templates that show it; 0 for readers without an account."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"turn_count": 0}
    return {"turn_count": SimpleLazyObject(Seat.objects.to_move(user.pk).count)}
