"""Reminders before the deadline: at the hours a player chose, the nearest missed one alone."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import F

from accounts.models import User
from games import notices
from games.clock import reminder_due, reminder_passed
from games.models import Game, Kind


def set_next(game: Game, hours: Collection[int], after: datetime) -> None:
    """When the player to move is to be reminded next, later than that; the caller saves it."""
    game.next_reminder = game.deadline and reminder_due(
        game.deadline, game.turn_began, hours, after
    )


def remind(game_id: int, now: datetime) -> None:
    """Write the reminder that is due; of several missed ones only the nearest to the deadline."""
    with transaction.atomic():
        game = Game.objects.select_for_update().get(pk=game_id)
        due, deadline = game.next_reminder, game.deadline
        if game.is_over or due is None or deadline is None or due > now:
            return
        player, ply = game.seat(game.turn).player, game.plies + 1
        set_next(game, player.reminder_hours, now)
        game.save(update_fields=["next_reminder"])
        hours = reminder_passed(deadline, game.turn_began, player.reminder_hours, now)
        if hours is None or deadline <= now:
            return
        key = f"reminder:g{game.pk}:p{ply}:{hours}h"
        if game.outage_id:
            key += f":o{game.outage_id}"
        notices.tell_once(player, Kind.REMINDER, key, now=now, game=game, ply=ply)


def choose(player: User, hours: Collection[int], *, now: datetime) -> None:
    """Remind the player at these hours before each deadline, those that run already too."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=player.pk)
        player.reminder_hours = sorted(set(hours), reverse=True)
        player.save(update_fields=["reminder_hours"])
        mine = Game.objects.running().filter(
            seats__player=player, seats__colour=F("turn"), deadline__isnull=False
        )
        games = list(mine.select_for_update(of=("self",)).order_by("pk"))
        for game in games:
            set_next(game, player.reminder_hours, now)
        Game.objects.bulk_update(games, ["next_reminder"], batch_size=500)
