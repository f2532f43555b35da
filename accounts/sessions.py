"""Sessions that last while they are used: each day's first page moves the end away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

RENEWED_AFTER = timedelta(days=1)
_KEY = "renewed"


def begin(request: HttpRequest, **_: Any) -> None:
    """Receiver of user_logged_in: the first page after it need not renew anything."""
    request.session[_KEY] = int(timezone.now().timestamp())


def renew(request: HttpRequest, now: datetime) -> None:
    """Writing anything into a session moves its end to a full SESSION_COOKIE_AGE from now."""
    renewed = request.session.get(_KEY)
    if renewed is None or now - datetime.fromtimestamp(renewed, UTC) >= RENEWED_AFTER:
        request.session[_KEY] = int(now.timestamp())
