"""Who is away: by the hours they hold, by the day they announced, or without a word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from django.db.models import Count

from accounts import names
from accounts.models import AWAY_A_MONTH, AWAY_AT_MOST, User
from games.models import AwayEntry, AwayShift, Game, Seat

HOUR = timedelta(hours=1)
# Product rule: the hours that one player may use in one game.
IN_A_GAME = 7 * 24
# Product rule: so many games lost on time, and no page opened between or since.
MISSED = 2
# Entries of the ledger on one page; the hours of one stretch are one line.
ENTRIES = 500


def next_month(day: date) -> date:
    """The first of the month after that day's."""
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def held(player: User, now: datetime) -> int:
    """The hours held at that moment, with those of months that nobody has written down yet."""
    hours, month = player.away_hours, next_month(player.away_credited)
    while month <= now.astimezone(UTC).date():
        hours, month = min(hours + AWAY_A_MONTH, AWAY_AT_MOST), next_month(month)
    return hours


def next_credit(player: User, now: datetime) -> tuple[datetime, int]:
    """When the next month begins, and the hours it will give to what is held now."""
    first = next_month(now.astimezone(UTC).date())
    earned = min(AWAY_A_MONTH, AWAY_AT_MOST - held(player, now))
    return datetime(first.year, first.month, 1, tzinfo=UTC), earned


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
    # Most games know no away time: of those nothing need be asked.
    if game.is_over or not game.seat(game.turn).away_hours:
        return False
    return AwayShift.objects.filter(game=game, ply=game.plies + 1).exists()


def is_absent(player: User) -> bool:
    """Whether challenges to and from the player wait until they open a page again."""
    return bool(absent([player.pk]))


def absent(players: Collection[int]) -> set[int]:
    """Those of the players who are."""
    missed = Seat.objects.missed().filter(player__in=players).values("player")
    often = missed.annotate(missed=Count("pk")).filter(missed__gte=MISSED)
    return set(often.values_list("player", flat=True))


# --- the ledger -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """What a month gave, or the hours taken one after the other for the same games."""

    since: datetime
    until: datetime
    hours: int
    balance: int
    # Number and opponent of each.
    games: tuple[tuple[int, str], ...] = ()

    @property
    def signed(self) -> str:
        return f"{self.hours:+d}".replace("-", "−")  # a minus sign


@dataclass(frozen=True, slots=True)
class Ledger:
    lines: list[Line]
    # Before which entry the older ones go on; None: the lines lead back to the beginning.
    older: int | None


def ledger(player: User, before: int | None = None) -> Ledger:
    """The player's lines, the newest first; `before` is the `older` of the page before."""
    entries = AwayEntry.objects.filter(player=player).order_by("-pk")
    if before is not None:
        entries = entries.filter(pk__lt=before)
    some = list(entries[: ENTRIES + 1])
    older = some[ENTRIES - 1].pk if len(some) > ENTRIES else None
    lines: list[Line] = []
    for line in _lines(some[:ENTRIES], player):
        if lines and _goes_on(lines[-1], line):
            lines[-1] = replace(lines[-1], since=line.since, hours=lines[-1].hours + line.hours)
        else:
            lines.append(line)
    return Ledger(lines, older)


def _lines(entries: list[AwayEntry], player: User) -> Iterable[Line]:
    """One for each entry."""
    shifts: dict[int, list[int]] = defaultdict(list)
    rows = AwayShift.objects.filter(entry__in=entries).order_by("game")
    for pk, game in rows.values_list("entry", "game"):
        shifts[pk].append(game)
    seats = Seat.objects.filter(player=player, game__in={g for gs in shifts.values() for g in gs})
    opponents = dict(seats.values_list("game", "opponent__username"))
    for entry in entries:
        games = tuple((game, names.shown(opponents[game])) for game in shifts[entry.pk])
        length = HOUR if entry.reason == AwayEntry.Reason.TAKEN else timedelta()
        yield Line(entry.at, entry.at + length, entry.hours, entry.balance, games)


def _goes_on(later: Line, earlier: Line) -> bool:
    """Hours taken for the same games, with less than an hour between."""
    taken = later.hours < 0 and earlier.hours < 0
    return taken and later.games == earlier.games and later.since - earlier.until < HOUR
