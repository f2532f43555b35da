"""Tells those who wait for a player that games were lost on time and nobody came back."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from accounts.models import User
from games import away, notices
from games.models import Challenge, Kind


def tell_others(player: User, now: datetime) -> None:
    """If the player is absent now: the other side of each of their open challenges, once."""
    if not away.is_absent(player):
        return
    between = Q(challenger=player) | Q(challenged=player)
    rows = Challenge.objects.filter(between, status=Challenge.Status.OPEN, expires__gt=now)
    for row in rows.select_related("challenger", "challenged").order_by("pk"):
        other = row.challenged if row.challenger_id == player.pk else row.challenger
        key = f"challenge:c{row.pk}:waits"
        notices.tell_once(other, Kind.CHALLENGE, key, now=now, challenge=row)
