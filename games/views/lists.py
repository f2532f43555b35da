"""Lists of games: those that wait for me, and those of any player that a reader may see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, F, FilteredRelation, OuterRef, Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts import mail, names
from accounts.middleware import Request
from accounts.models import User
from games import away, belts, notices
from games.models import AwayShift, Challenge, Seat
from games.onitama.cards import Colour
from games.templatetags.board import ply_text
from games.views import strength
from games.views.answers import never_stored, reader
from games.wording import URGENT, ago, away_until, span

# How much is shown at first, and how long a finished game counts as just finished.
WAITING_SHOWN = 30
FINISHED_SHOWN = 10
JUST = timedelta(days=7)
CHALLENGES_SHOWN = 50
RUNNING_SHOWN = 10
# Nobody needs to know more exactly, and counting more takes time.
COUNTED_TO = 99
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Tile:
    """One running game as its player sees it in a list: plain words, found before the template.

    Equal tiles look alike, so their markup is kept (see the tag `tile`).
    """

    pk: int
    position: str
    colour: str
    opponent: str
    computer: bool
    private: bool
    mine: bool
    offered: bool
    last: str
    played: str
    note: str
    clock: str
    urgent: bool
    away: str
    # Sorts what wants an answer first, then by the time left; no clock comes last.
    urgency: tuple[bool, datetime, datetime] = field(compare=False)

    @property
    def clocked(self) -> bool:
        return self.urgency[1] != _NEVER

    @classmethod
    def of(cls, row: Row, now: datetime) -> Tile:
        mine = row.turn == row.colour
        offered = row.draw_offer == Colour(row.colour).other
        left = None if row.deadline is None else row.deadline - now
        when = ago(row.turn_began, now)
        urgent = mine and left is not None and left < URGENT
        last = row.last or ""
        return cls(
            pk=row.pk,
            position=row.position,
            colour=row.colour,
            opponent=names.shown(row.opponent),
            computer=row.opponent_kind == User.Kind.ENGINE,
            private=row.private,
            mine=mine,
            offered=offered,
            last=last,
            played=_played(last, mine) + (f" · {when}" if mine else ""),
            note=_note(row.plies) if mine else when,
            clock=_clock(left, mine, urgent)
            + (f" · {_('on away time')}" if row.on_away_time else ""),
            urgent=urgent,
            away=_away(row, now),
            urgency=(not (mine or offered), row.deadline or _NEVER, row.turn_began),
        )


def _played(last: str, mine: bool) -> str:
    if not last:
        return _("cards dealt") if mine else _("cards dealt, they begin")
    return ply_text(last) if mine else _("you played %(what)s") % {"what": ply_text(last)}


def _note(plies: int) -> str:
    return _("ply %(n)d") % {"n": plies} if plies else _("you begin")


def _clock(left: timedelta | None, mine: bool, urgent: bool) -> str:
    if left is None:
        return _("no clock")
    if left <= timedelta():
        # The sweep ends the game within a minute, or gives it more time.
        return _("no time left")
    if not mine:
        return _("%(left)s for them") % {"left": span(left)}
    return (_("only %(left)s left") if urgent else _("%(left)s left")) % {"left": span(left)}


def _away(row: Row, now: datetime) -> str:
    """What the opponent announced."""
    opponent = User(away_until=row.away_until, time_zone=row.time_zone)
    until = away.until(opponent, now) if row.away_until else None
    return away_until(until, now) if until else ""


class Row(NamedTuple):
    """What a tile is made of, in the order in which _running asks for it."""

    colour: str
    opponent: str
    opponent_kind: str
    last: str | None
    pk: int
    position: str
    turn: str
    plies: int
    deadline: datetime | None
    turn_began: datetime
    draw_offer: str
    private: bool
    away_until: date | None
    time_zone: str
    on_away_time: bool


def _running(player: User) -> Iterator[Row]:
    """The running games of a player with the last ply. No model rows: there may be hundreds."""
    last = FilteredRelation("game__record", condition=Q(game__record__number=F("game__plies")))
    shifted = AwayShift.objects.filter(game=OuterRef("game"), ply=OuterRef("game__plies") + 1)
    rows = (
        Seat.objects.filter(player=player, result="")
        .annotate(last=last, on_away_time=Exists(shifted))
        .values_list(
            *("colour", "opponent__username", "opponent_kind", "last__action"),
            *("game", "game__position", "game__turn", "game__plies", "game__deadline"),
            *("game__turn_began", "game__draw_offer", "game__private"),
            *("opponent__away_until", "opponent__time_zone", "on_away_time"),
        )
    )
    return map(Row._make, rows)


def _newest(seats: QuerySet[Seat]) -> QuerySet[Seat]:
    """Those of the seats whose game is over, newest first."""
    over = seats.filter(ended__isnull=False).select_related("game", "opponent")
    # What the two pages show: on whole rows the ORM spends more than all that they are shown by.
    shown = over.only(
        *("player", "result", "termination", "plies", "ended", "game__private"),
        *("opponent__username", "opponent__kind"),
    )
    return shown.order_by("-ended", "-id")


def _tiles(rows: Iterable[Row], now: datetime) -> list[Tile]:
    return sorted((Tile.of(row, now) for row in rows), key=lambda tile: tile.urgency)


@require_safe
@login_required
@never_stored
def your_turn(request: Request) -> HttpResponse:
    player, now = reader(request), timezone.now()
    tiles = _tiles(_running(player), now)
    to_move = [tile for tile in tiles if tile.mine]
    waiting = [tile for tile in tiles if not tile.mine]
    asked = Challenge.objects.filter(status=Challenge.Status.OPEN, expires__gt=now)
    received = _asked(asked.filter(challenged=player), "challenger")
    sent = _asked(asked.filter(challenger=player), "challenged")
    others = {row.challenger_id for row in received} | {row.challenged_id for row in sent}
    shown = None if request.GET.get("waiting") == "all" else WAITING_SHOWN
    context = {
        "to_move": to_move,
        # The header's count, which is known here without asking again.
        "turn_count": len(to_move),
        "clocked": any(tile.clocked for tile in to_move),
        "waiting": waiting[:shown],
        "waiting_count": len(waiting),
        "received": received,
        "sent": sent,
        "absent": away.absent(others) if others else set(),
        "reasons": Challenge.Reason.choices,
        "finished": _newest(player.seats.filter(ended__gt=now - JUST))[:FINISHED_SHOWN],
        "unreached": player.is_person and not mail.confirmed([player]),
    }
    if request.is_navigation:
        notices.see_digests(player, now=now)
    return render(request, "games/your_turn.html", context)


def _asked(challenges: QuerySet[Challenge], other: str) -> list[Challenge]:
    shown = ("bank", "increment", "cap", "colour", "deck", "private", "expires")
    rows = challenges.select_related(other).only(*shown, f"{other}__username")
    return list(rows.order_by("expires")[:CHALLENGES_SHOWN])


# --- a player's page ------------------------------------------------------------------------


@require_safe
@never_stored
def player(request: Request, name: str) -> HttpResponse:
    shown = User.objects.named(name).first()
    if shown is None:
        raise Http404
    if shown.username != name:
        return redirect("player", shown.username)
    seats = _visible_seats(shown, request.user)
    running = seats.filter(result="").select_related("game", "opponent").order_by("-game_id")
    context = {
        "shown": shown,
        "self": shown.pk == request.user.pk,
        "away_until": away.until(shown, timezone.now()),
        **(_level(shown) if shown.is_engine else {}),
        "running": running[:RUNNING_SHOWN],
        "running_count": running[: COUNTED_TO + 1].count(),
        "counted_to": COUNTED_TO,
        "finished": _newest(seats)[:FINISHED_SHOWN],
    }
    return render(request, "games/player.html", context)


def _level(shown: User) -> dict[str, Any]:
    """What the page says of a level of the computer; an old one has no belt."""
    belt, instead = belts.belt(shown.username), belts.nearest(shown.username)
    if belt is None:
        return {"instead": instead}
    return {
        "belt": belt,
        "instead": instead,
        "ladder": strength.ladder(belt),
        "matches": strength.matches(belt),
    }


def _visible_seats(shown: User, viewer: User | AnonymousUser) -> QuerySet[Seat]:
    """The seats of a player in games this reader may see; a private one is that of its two."""
    seats = Seat.objects.filter(player=shown)
    if viewer.pk == shown.pk:
        return seats
    # In a game of `shown` the reader can only be the opponent: cheaper than visible_to().
    return seats.filter(Q(game__private=False) | Q(opponent=viewer.pk))
