"""What every page shows of the games: how much waits for the reader, and mail that is refused."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from accounts import mail
from games.views.bell import Waits


def site(request: HttpRequest) -> dict[str, Any]:
    """`waits` and `turn_count`, asked only by templates that show them; nothing for readers
    without an account."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"turn_count": 0}
    found = Waits(user)
    return {
        "waits": found,
        "turn_count": SimpleLazyObject(lambda: found.to_move),
        "mail_refused": mail.refuses(user),
    }
