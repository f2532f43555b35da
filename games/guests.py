"""Moves what a guest has begun to the account that the guest logs in to."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F
from django.dispatch import receiver

from accounts.guests import guest_became
from accounts.models import User
from games.models import Game, Notice, Seat


@receiver(guest_became)
def move_seats(guest: User, person: User, **_: Any) -> None:
    """The person sits where the guest sat; nothing is left of the guest.

    Only a game of the two against each other, which no page allows, would stay as it is, and
    the guest with it.
    """
    with transaction.atomic():
        # In the order of every start of a game: the player's row, then the game's.
        rows = User.objects.filter(pk=guest.pk, kind=User.Kind.GUEST)
        if not rows.select_for_update(no_key=True):
            return  # gone by an earlier press on the button, or a person by now
        moved = list(guest.seats.exclude(opponent=person).values_list("game", flat=True))
        games = Game.objects.filter(pk__in=moved)
        list(games.select_for_update().order_by("pk"))
        Seat.objects.filter(game__in=moved, player=guest).update(player=person)
        Seat.objects.filter(game__in=moved, opponent=guest).update(
            opponent=person, opponent_kind=person.kind
        )
        Notice.objects.filter(game__in=moved, player=guest).update(player=person)
        games.update(version=F("version") + 1)
        if not guest.seats.exists():
            User.objects.filter(pk=guest.pk).delete()
