"""The daily digest: at an hour of the player's own day, when something waits for them."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.models import User
from games import hours, notices
from games.models import Challenge, Kind, Seat

# At the hour of somebody who wants a digest, and did not say when.
USUAL_HOUR = 8


def plan(player: User, *, now: datetime) -> None:
    """Set when the next is due, after the player has changed the hour, the zone or the mode."""
    if player.digest_hour is None and player.mail_mode == User.MailMode.DIGEST:
        player.digest_hour = USUAL_HOUR
    # One that is due already is the sweep's to write, and then to plan the next.
    if not (player.digest_hour is not None and player.next_digest and player.next_digest <= now):
        player.next_digest = _next(player, now)
    player.save(update_fields=["digest_hour", "next_digest"])


def _next(player: User, now: datetime) -> datetime | None:
    if player.digest_hour is None:
        return None
    return hours.next_hour(now, player.zone, player.digest_hour)


def anything_waits(player: User, now: datetime) -> bool:
    """A move of the player's, or an answer to a challenge."""
    if Seat.objects.to_move(player.pk).exists():
        return True
    asked = Challenge.objects.filter(challenged=player, status=Challenge.Status.OPEN)
    return asked.filter(expires__gt=now).exists()


def due(now: datetime) -> list[int]:
    """The players whose digest is due, the longest due first."""
    players = User.objects.filter(next_digest__lte=now).order_by("next_digest")
    return list(players.values_list("pk", flat=True)[:1000])


def write(player_id: int, now: datetime) -> None:
    """One digest for however many were missed, named by the day of the last of them."""
    with transaction.atomic():
        # Two sweeps at once: the second finds the next one not due.
        player = User.objects.select_for_update(no_key=True).get(pk=player_id)
        if player.next_digest is None or player.next_digest > now:
            return
        missed = player.next_digest
        player.next_digest = _next(player, now)
        player.save(update_fields=["next_digest"])
        if player.digest_hour is None or not anything_waits(player, now):
            return
        while (later := hours.next_hour(missed, player.zone, player.digest_hour)) <= now:
            missed = later
        day = missed.astimezone(player.zone).date()
        key = f"digest:{day.isoformat()}"
        if notices.was_told(player, key):
            return
        notices.withdraw_digests(player, now=now)
        notices.tell(player, Kind.DIGEST, key, now=now)
