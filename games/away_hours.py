"""Takes the hours of away time when a clock runs out, and gives them with the months."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime

from django.db import transaction
from django.db.models import F, Sum

from accounts.models import AWAY_A_MONTH, AWAY_AT_MOST, User
from games import notices
from games.away import HOUR, IN_A_GAME, next_month
from games.models import AwayEntry, AwayShift, Game, Kind

# Product rule: told again when so many hours are left for the game.
TOLD_AGAIN = 24
# Players who are credited in one transaction.
CHUNK = 500


# --- giving ---------------------------------------------------------------------------------


def credit_months(now: datetime) -> None:
    """What the months up to now give, to everybody who has not had it."""
    today = now.astimezone(UTC).date()
    due = User.objects.filter(kind=User.Kind.PERSON, away_credited__lt=today.replace(day=1))
    while keys := list(due.order_by("pk").values_list("pk", flat=True)[:CHUNK]):
        with transaction.atomic():
            players = list(due.filter(pk__in=keys).select_for_update(no_key=True).order_by("pk"))
            for player in players:
                _credit(player, today)
            User.objects.bulk_update(players, ["away_hours", "away_credited"])


def _credit(player: User, today: date) -> None:
    """Give the locked player, whom the caller saves, the months that have begun by that day (UTC).

    A month that finds the player with the most that can be held leaves no line in the ledger.
    """
    while (month := next_month(player.away_credited)) <= today:
        earned = min(AWAY_A_MONTH, AWAY_AT_MOST - player.away_hours)
        player.away_credited, player.away_hours = month, player.away_hours + earned
        if earned:
            AwayEntry.objects.create(
                player=player,
                at=datetime(month.year, month.month, 1, tzinfo=UTC),
                reason=AwayEntry.Reason.MONTH,
                hours=earned,
                balance=player.away_hours,
            )


# --- taking ---------------------------------------------------------------------------------


def put_off(player: User, games: Sequence[Game], until: datetime, now: datetime) -> None:
    """Take hours until no deadline lies at or before `until`, where there are hours to be had.

    The caller has locked the player first, then the games: all in which they are to move and
    whose deadline lies before `until` and an hour.
    """
    # The earliest first, for the hour taken for one serves all that are due within it.
    without: set[int] = set()
    while due := [(g.deadline, g.pk, g) for g in games if g.deadline and g.pk not in without]:
        deadline, pk, first = min(due)
        if deadline > until:
            return
        if not _take_hour(player, first, games, now):
            without.add(pk)


def _take_hour(player: User, first: Game, games: Sequence[Game], now: datetime) -> bool:
    """An hour for this game, and for every other that is due within it; False: none to be had."""
    at = first.deadline
    if at is None or not player.away_on or not _may_use(first):
        return False
    _credit(player, at.astimezone(UTC).date())
    taken = _held_then(player, at) > 0
    player.away_hours -= taken
    player.save(update_fields=["away_hours", "away_credited"])
    if taken:
        entry = AwayEntry.objects.create(
            player=player,
            at=at,
            reason=AwayEntry.Reason.TAKEN,
            hours=-1,
            balance=player.away_hours,
        )
        served = [g for g in games if g.deadline and at <= g.deadline < at + HOUR and _may_use(g)]
        _shift(entry, served, now)
    return taken


def _may_use(game: Game) -> bool:
    seat = game.seat(game.turn)
    return seat.opponent_kind != User.Kind.ENGINE and seat.away_hours < IN_A_GAME


def _held_then(player: User, at: datetime) -> int:
    """Hours held at that moment, although a month that began after it may be credited already."""
    if player.away_credited <= at.astimezone(UTC).date():
        return player.away_hours
    later = AwayEntry.objects.filter(player=player, reason=AwayEntry.Reason.MONTH, at__gt=at)
    return player.away_hours - (later.aggregate(hours=Sum("hours"))["hours"] or 0)


def _shift(entry: AwayEntry, games: Sequence[Game], now: datetime) -> None:
    shifts = AwayShift.objects.filter(game__in=games, ply=F("game__plies") + 1)
    before = Counter(shifts.values_list("game", flat=True))
    for game in games:
        seat = game.seat(game.turn)
        seat.away_hours += 1
        seat.save(update_fields=["away_hours"])
        if game.deadline:
            game.deadline += HOUR
        # Reminders fall due an hour before the deadline or earlier: they have been, and are over.
        game.next_reminder = None
        game.version += 1
        game.save(update_fields=["deadline", "next_reminder", "version"])
        AwayShift.objects.create(entry=entry, game=game, ply=game.plies + 1)
        if not before[game.pk]:
            _tell_both(game, now)
        elif _left(entry, seat.away_hours) <= TOLD_AGAIN:
            _tell_again(game, seat.away_hours - before[game.pk], now)


def _left(entry: AwayEntry, used: int) -> int:
    """The hours left for a game that has used so many, after this entry."""
    return min(entry.balance, IN_A_GAME - used)


def _tell_both(game: Game, now: datetime) -> None:
    """At the first hour of a ply."""
    ply = game.plies + 1
    for seat in game.sides:
        notices.tell(
            seat.player,
            Kind.AWAY,
            f"away:g{game.pk}:p{ply}",
            now=now,
            game=game,
            ply=ply,
            wait=notices.patience(seat.player, seat.opponent, now),
        )


def _tell_again(game: Game, used_at_first: int, now: datetime) -> None:
    """Once in a ply; not where the first notice had so few hours left to tell of already."""
    ply = game.plies + 1
    player = game.seat(game.turn).player
    key = f"reminder:g{game.pk}:p{ply}:away{TOLD_AGAIN}"
    first = AwayShift.objects.filter(game=game, ply=ply).select_related("entry").earliest("pk")
    if _left(first.entry, used_at_first) > TOLD_AGAIN:
        notices.tell_once(player, Kind.REMINDER, key, now=now, game=game, ply=ply)
