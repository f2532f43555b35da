"""The bell: how much a player has not seen yet, and the page that says it in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.db.models import F, Func, IntegerField, Prefetch, QuerySet, Subquery
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseStopPolling

from accounts.middleware import Request
from accounts.models import User
from games import notices
from games.forms import NewestForm
from games.models import Challenge, Game, Kind, Notice, Seat
from games.templatetags.finished import how
from games.views.answers import SeeOther, login_leads_to, never_stored, reader
from games.wording import URGENT, span

UNREAD_SHOWN, SEEN_SHOWN = 100, 20
LATELY = timedelta(days=7)


class Waits:
    """How much waits for a player: games to move in, and notices not seen.

    Each is asked for where it is shown first: a list knows the games, and shows but the notices.
    """

    def __init__(self, player: User) -> None:
        self._player = player

    @cached_property
    def to_move(self) -> int:
        return Seat.objects.to_move(self._player.pk).count()

    @cached_property
    def unread(self) -> int:
        return notices.unread(self._player).count()

    @property
    def icon(self) -> str:
        """The page's icon with the number of notices on it."""
        if not self.unread:
            return "favicon.svg"
        return f"favicon-{self.unread}.svg" if self.unread < 10 else "favicon-many.svg"

    def read(self) -> None:
        """Both in one query, for what an open page asks again and again."""
        rows = (Seat.objects.to_move(self._player.pk), notices.unread(self._player))
        counts = [_count(those) for those in rows]
        [(self.to_move, self.unread)] = User.objects.filter(pk=self._player.pk).values_list(*counts)


def _count(rows: QuerySet[Seat] | QuerySet[Notice]) -> Subquery:
    # Not Count(), which would group by the row.
    number = Func(F("pk"), function="COUNT", output_field=IntegerField())
    return Subquery(rows.order_by().values_list(number))


@dataclass(frozen=True, slots=True)
class Line:
    """One notice as its player reads it."""

    url: str
    text: str
    # What is left of the time for a move to make, or how the game ended.
    note: str
    urgent: bool
    when: datetime


@require_safe
@login_required
@never_stored
def bell(request: Request) -> HttpResponse:
    """What is unread, and what was seen lately; nothing that is no longer so."""
    player, now = reader(request), timezone.now()
    unread = notices.unread(player)
    told, untrue = _by_truth(unread[:UNREAD_SHOWN], now)
    seen, _untrue = _by_truth(notices.seen_lately(player, since=now - LATELY)[:SEEN_SHOWN], now)
    count = unread.count() - len(untrue)
    context = {
        "unread": [line(notice, now) for notice in told],
        "unread_count": count,
        "more": count - len(told),
        "newest": max((it.pk for it in (*told, *untrue)), default=None),
        "seen": [line(notice, now) for notice in seen],
    }
    if request.is_navigation:
        # Of a game or challenge its own page is the look; the rest is told in full here.
        notices.see_told(told, now=now)
        # What time alone makes untrue the sweep settles, or the end of an outage makes true again.
        notices.take_back((it for it in untrue if it.challenge_id is not None), now=now)
    return render(request, "games/notices.html", context)


@require_safe
@never_stored
def count(request: Request) -> HttpResponse:
    """What an open page asks now and then: nothing, as long as it is what the page shows."""
    if isinstance(request.user, AnonymousUser):
        return HttpResponseStopPolling()
    now = Waits(request.user)
    now.read()
    if request.GET.get("shown") == f"{now.to_move}-{now.unread}":
        return HttpResponse(status=204)
    return render(request, "_bell.html#answer", {"waits": now, "turn_count": now.to_move})


@require_POST
@login_leads_to("notices")
@never_stored
def see_all(request: Request) -> HttpResponse:
    player, form = reader(request), NewestForm(request.POST)
    if form.is_valid():
        notices.see_all(player, form.cleaned_data["newest"], now=timezone.now())
    return SeeOther("notices")


# --- words ----------------------------------------------------------------------------------


def _by_truth(rows: QuerySet[Notice], now: datetime) -> tuple[list[Notice], list[Notice]]:
    """What is still so, with all that line() reads, and what is no longer."""
    rows = rows.select_related("challenge__challenger", "challenge__challenged")
    rows = rows.prefetch_related(Prefetch("game", Game.objects.with_seats()))
    told: list[Notice] = []
    untrue: list[Notice] = []
    for notice in rows:
        (told if notices.still_true(notice, now) else untrue).append(notice)
    return told, untrue


def line(notice: Notice, now: datetime) -> Line:
    left = _left(notice, now)
    return Line(
        url=notice.path,
        text=headline(notice),
        note=_note(notice, left),
        urgent=left is not None and left < URGENT,
        when=notice.created,
    )


def _left(notice: Notice, now: datetime) -> timedelta | None:
    """What is left for the move that the notice asks for."""
    deadline = notice.game.deadline if notice.game else None
    if deadline is None or notice.kind not in {Kind.TURN, Kind.REMINDER}:
        return None
    return max(deadline - now, timedelta())


def _note(notice: Notice, left: timedelta | None) -> str:
    if left is not None:
        return _("%(left)s left") % {"left": span(left)}
    if notice.kind == Kind.OVER and notice.game is not None:
        return how(_own(notice, notice.game))
    return ""


def headline(notice: Notice) -> str:
    """What the notice says, in one line."""
    if notice.challenge is not None:
        return _of_challenge(notice, notice.challenge)
    if notice.game is not None:
        return _of_game(notice, notice.game)
    return {
        Kind.OUTAGE: _("The site was away, and deadlines have moved"),
        Kind.DIGEST: _("Your daily digest"),
        Notice.TEST: _("A test"),
    }[notice.kind]


def _of_challenge(notice: Notice, challenge: Challenge) -> str:
    sent = challenge.challenger_id == notice.player_id
    other = challenge.challenged if sent else challenge.challenger
    text = {
        "received": _("%(name)s challenges you"),
        "accepted": _("%(name)s has accepted your challenge"),
        "declined": _("%(name)s has declined your challenge"),
        "waits": _("The challenge between you and %(name)s has to wait"),
    }[notice.key.rsplit(":", 1)[1]]
    return text % {"name": other.shown_name}


def _of_game(notice: Notice, game: Game) -> str:
    mine = _own(notice, game)
    theirs = next(seat for seat in game.sides if seat is not mine)
    text = _over(mine) if notice.kind == Kind.OVER else _during(notice)
    return text % {"name": theirs.player.shown_name}


def _own(notice: Notice, game: Game) -> Seat:
    return next(seat for seat in game.sides if seat.player_id == notice.player_id)


def _during(notice: Notice) -> str:
    if notice.key.endswith(":away24"):
        return _("Little away time is left in the game against %(name)s")
    return {
        Kind.TURN: _("Your turn against %(name)s"),
        Kind.REMINDER: _("Your time runs out against %(name)s"),
        Kind.DRAW: _("%(name)s offers you a draw"),
        Kind.AWAY: _("Away time is used in the game against %(name)s"),
    }[Kind(notice.kind)]


def _over(seat: Seat) -> str:
    return {
        Seat.Result.WON: _("You won against %(name)s"),
        Seat.Result.LOST: _("You lost against %(name)s"),
        Seat.Result.DRAW: _("A draw against %(name)s"),
        Seat.Result.ABORTED: _("The game against %(name)s was aborted"),
    }[Seat.Result(seat.result)]
