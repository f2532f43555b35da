"""Lists of games: those that wait for me, and those of any player that a reader may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts import mail
from accounts.middleware import Request
from accounts.models import User
from games.challenge_forms import LEVELS_EXPLAINED
from games.models import Challenge, Ply, Seat
from games.onitama.cards import Colour
from games.views.answers import never_stored, reader
from games.wording import URGENT

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
    """One running game as its player sees it in a list."""

    seat: Seat
    # The last ply's token; empty before the first.
    last: str
    left: timedelta | None
    offered: bool

    @classmethod
    def of(cls, seat: Seat, now: datetime) -> Tile:
        game = seat.game
        return cls(
            seat=seat,
            last=getattr(seat, "last", None) or "",
            left=None if game.deadline is None else game.deadline - now,
            offered=game.draw_offer == Colour(seat.colour).other,
        )

    @property
    def mine(self) -> bool:
        return self.seat.game.turn == self.seat.colour

    @property
    def late(self) -> bool:
        """Out of time; the sweep ends the game within a minute."""
        return self.left is not None and self.left <= timedelta()

    @property
    def urgent(self) -> bool:
        return self.left is not None and self.left < URGENT

    @property
    def urgency(self) -> tuple[bool, datetime, datetime]:
        """Sorts what wants an answer first, then by the time left; no clock comes last."""
        game = self.seat.game
        return (not self.offered or self.mine, game.deadline or _NEVER, game.turn_began)


def _running(player: User) -> QuerySet[Seat]:
    """The running games of a player with the opponent, and the last ply as `last`."""
    last = Ply.objects.filter(game=OuterRef("game"), number=OuterRef("game__plies"))
    return (
        Seat.objects.filter(player=player, result="")
        .annotate(last=Subquery(last.values("action")[:1]))
        .select_related("game", "opponent")
        .only(
            *("colour", "player", "opponent__username", "opponent__kind", "game__position"),
            *("game__turn", "game__plies", "game__deadline", "game__turn_began"),
            *("game__draw_offer", "game__private"),
        )
    )


def _newest(seats: QuerySet[Seat]) -> QuerySet[Seat]:
    """Those of the seats whose game is over, newest first."""
    over = seats.filter(ended__isnull=False).select_related("game", "opponent")
    return over.order_by("-ended", "-id")


def _tiles(seats: Iterable[Seat], now: datetime) -> list[Tile]:
    return sorted((Tile.of(seat, now) for seat in seats), key=lambda tile: tile.urgency)


@require_safe
@login_required
@never_stored
def your_turn(request: Request) -> HttpResponse:
    player, now = reader(request), timezone.now()
    tiles = _tiles(_running(player), now)
    to_move = [tile for tile in tiles if tile.mine]
    waiting = [tile for tile in tiles if not tile.mine]
    asked = Challenge.objects.filter(status=Challenge.Status.OPEN, expires__gt=now)
    shown = None if request.GET.get("waiting") == "all" else WAITING_SHOWN
    context = {
        "to_move": to_move,
        # The header's count, which is known here without asking again.
        "turn_count": len(to_move),
        "waiting": waiting[:shown],
        "waiting_count": len(waiting),
        "received": _asked(asked.filter(challenged=player), "challenger"),
        "sent": _asked(asked.filter(challenger=player), "challenged"),
        "reasons": Challenge.Reason.choices,
        "finished": _newest(player.seats.filter(ended__gt=now - JUST))[:FINISHED_SHOWN],
        "unreached": player.is_person and not mail.address(player),
    }
    return render(request, "games/your_turn.html", context)


def _asked(challenges: QuerySet[Challenge], other: str) -> QuerySet[Challenge]:
    return challenges.select_related(other).order_by("expires")[:CHALLENGES_SHOWN]


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
        "about": LEVELS_EXPLAINED.get(shown.username) if shown.is_engine else None,
        "running": running[:RUNNING_SHOWN],
        "running_count": running[: COUNTED_TO + 1].count(),
        "counted_to": COUNTED_TO,
        "finished": _newest(seats)[:FINISHED_SHOWN],
    }
    return render(request, "games/player.html", context)


def _visible_seats(shown: User, viewer: User | AnonymousUser) -> QuerySet[Seat]:
    """The seats of a player in games this reader may see; a private one is that of its two."""
    seats = Seat.objects.filter(player=shown)
    if viewer.pk == shown.pk:
        return seats
    # In a game of `shown` the reader can only be the opponent: cheaper than visible_to().
    return seats.filter(Q(game__private=False) | Q(opponent=viewer.pk))
