"""The sweep: finds what time has made due, whoever is looking, and what nudges lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet

from accounts.models import User
from games import away_hours, challenges, digests, engine_moves, notices, play, reminders
from games.models import Game, Heartbeat, Kind, Outage, Seat

logger = logging.getLogger(__name__)

# Product rules for the deadlines that an outage of the site moves.
AFTER_OUTAGE = timedelta(hours=1)
LEAST_SHIFT, MOST_SHIFT = timedelta(hours=1), timedelta(days=1)


def sweep(now: datetime) -> list[int]:
    """Do what is due; give the games whose engine move should be nudged again."""
    beat(now)
    running = Game.objects.running()
    _each(play.settle, _due(running.filter(deadline__lte=now).order_by("deadline")), now)
    _each(reminders.remind, _due(running.filter(next_reminder__lte=now)), now)
    _each(digests.write, digests.due(now), now)
    nudge, overdue = engine_moves.to_nudge(now)
    _each(engine_moves.make_without_engine, overdue, now)
    return nudge


def _due(games: QuerySet[Game]) -> list[int]:
    return list(games.values_list("pk", flat=True)[:1000])


def _each(deed: Callable[[int, datetime], None], keys: Iterable[int], now: datetime) -> None:
    """One row that fails is logged, and holds up no other."""
    for pk in keys:
        try:
            deed(pk, now)
        except Exception:
            logger.exception("sweep: %s failed for %s", deed.__name__, pk)


# --- the heartbeat and the site's own outages -----------------------------------------------


def beat(now: datetime) -> None:
    """Write the heartbeat; after a gap, first move the deadlines that the gap would spoil."""
    with transaction.atomic():
        row = Heartbeat.objects.select_for_update().first()
        if row is None:
            Heartbeat.objects.get_or_create(pk=1, defaults={"at": now})
            return
        if now <= row.at:
            return
        if now - row.at > play.OUTAGE:
            _make_good(Outage.objects.create(began=row.at, ended=now))
        row.at = now
        row.save(update_fields=["at"])


def _make_good(outage: Outage) -> None:
    """Deadlines inside the gap or in the hour after it move; everybody concerned is told once."""
    now = outage.ended
    gap = min(max(now - outage.began, LEAST_SHIFT), MOST_SHIFT)
    moved = Game.objects.running().filter(
        deadline__gt=outage.began, deadline__lte=now + AFTER_OUTAGE
    )
    concerned = list(
        Game.objects.filter(Q(pk__in=moved.values("pk")) | Q(spared=True)).values_list(
            "pk", flat=True
        )
    )
    for game in list(moved.select_for_update().with_seats().order_by("pk")):
        _move_deadline(game, now + gap, outage)
    Game.objects.filter(spared=True).update(spared=False)
    for seat in Seat.objects.filter(game__in=concerned).select_related("player", "game"):
        key = f"outage:o{outage.pk}"
        notices.tell_once(seat.player, Kind.OUTAGE, key, now=now)


def _move_deadline(game: Game, deadline: datetime, outage: Outage) -> None:
    now = outage.ended
    game.deadline, game.outage = max(deadline, game.deadline or deadline), outage
    # From the ply's beginning: reminders go again, the nearest of those that are past.
    reminders.set_next(game, game.seat(game.turn).player.reminder_hours, game.turn_began)
    notices.withdraw(game, (Kind.REMINDER,), now=now)
    Game.objects.filter(pk=game.pk).update(
        deadline=game.deadline,
        next_reminder=game.next_reminder,
        outage=outage,
        version=F("version") + 1,
    )


# --- what the clean-up removes --------------------------------------------------------------


def clean_up(now: datetime) -> None:
    """Close what has expired, remove guests and sign-ups that came to nothing; give the months'
    away time."""
    challenges.expire(now)
    notices.remove_old(now)
    away_hours.credit_months(now)
    User.objects.never_confirmed(now).filter(seats__isnull=True).delete()
    _each(_remove_guest, list(User.objects.idle_guests(now).values_list("pk", flat=True)), now)


def _remove_guest(pk: int, now: datetime) -> None:
    """With the games; unless the guest has come back, or become a person, since we looked."""
    with transaction.atomic():
        # In the order of every start of a game: the player's row, then the game's.
        guest = User.objects.idle_guests(now).select_for_update(no_key=True).filter(pk=pk).first()
        if guest is None:
            return
        games = Game.objects.filter(pk__in=guest.seats.values("game"))
        list(games.select_for_update().order_by("pk"))
        games.delete()
        guest.delete()
