"""Who is away: by the hours they hold, by the day they announced, or without a word."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from accounts.models import AWAY_A_MONTH, AWAY_AT_MOST, User
from games.models import AwayShift, Game, Seat

HOUR = timedelta(hours=1)
# Product rule: the hours that one player may use in one game.
IN_A_GAME = 7 * 24
# Product rule: so many games lost on time, and no page opened between or since.
MISSED = 2


def next_month(day: date) -> date:
    """The first of the month after that day's."""
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def held(player: User, now: datetime) -> int:
    """The hours held at that moment, with those of months that nobody has written down yet."""
    hours, month = player.away_hours, next_month(player.away_credited)
    while month <= now.astimezone(UTC).date():
        hours, month = min(hours + AWAY_A_MONTH, AWAY_AT_MOST), next_month(month)
    return hours


def left(seat: Seat, now: datetime) -> int:
    """The hours by which this seat's deadlines can still be put off."""
    player = seat.player
    if not player.is_person or not player.away_on or seat.opponent_kind == User.Kind.ENGINE:
        return 0
    return min(held(player, now), max(IN_A_GAME - seat.away_hours, 0))


def covers(game: Game, now: datetime) -> bool:
    """Whether the deadline is yet to come, or the mover has the hours to put it off so far."""
    if game.deadline is None or game.deadline > now:
        return True
    return game.deadline + left(game.seat(game.turn), game.deadline) * HOUR > now


def until(player: User, now: datetime) -> date | None:
    """The last day away that the player announced, until it is over where they live."""
    last = player.away_until
    return last if last and last >= now.astimezone(player.zone).date() else None


def in_use(game: Game) -> bool:
    """Whether the turn that runs has been put off by away time."""
    return AwayShift.objects.filter(game=game, ply=game.plies + 1).exists()


def is_absent(player: User) -> bool:
    """Whether challenges to and from the player wait until they open a page again."""
    return Seat.objects.missed(player)[:MISSED].count() == MISSED
