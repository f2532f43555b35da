"""Any game ply by ply, each at an address of its own, and its record as a file."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.links import link
from accounts.middleware import Request
from games.archive import record_of
from games.models import Game, Side
from games.onitama.cards import Colour
from games.onitama.position import Position
from games.views import scene
from games.views.answers import never_stored, visible_game
from games.views.board import look
from games.views.scene import Panel, Played, Scene, Wanted


@require_safe
@never_stored
def record(request: Request, pk: int) -> HttpResponse:
    game = visible_game(request, pk)
    text = record_of(game, link("game", game.pk)).write()
    headers = {"Content-Disposition": f'attachment; filename="onitama-{game.pk}.txt"'}
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers)


@require_safe
@never_stored
def replay(request: Request, pk: int, number: int) -> HttpResponse:
    game = visible_game(request, pk)
    if number > game.plies:
        raise Http404
    now = Scene(game, request.user, timezone.now(), Wanted())
    asked = request.GET.get("side")
    viewer = Colour(asked) if asked in Side.values else now.viewer
    return render(request, "games/replay.html", Replay(now, number, viewer).context())


class Replay:
    """A game as it stood after a number of plies, for one reader, this side below."""

    def __init__(self, now: Scene, number: int, viewer: Colour) -> None:
        self.now, self.game, self.number, self.viewer = now, now.game, number, viewer
        self.last = now.record[number - 1] if number else None
        self.position = _after(self.game, now.record[:number])

    def context(self) -> dict[str, Any]:
        game, panel = self.game, self.panel()
        return {
            "game": game,
            "names": {seat.colour: seat.player.shown_name for seat in game.sides},
            "board": look(self.position, self.viewer, self.last.action if self.last else None),
            "above": self.side(self.viewer.other),
            "below": self.side(self.viewer),
            "side_note": self.side_note(),
            "rows": self.now.rows(),
            "current": self.number,
            "panel": panel,
            "query": self.query(self.viewer),
            "flip_url": self.address(self.number) + self.query(self.viewer.other),
            "steps": self.steps(),
        }

    def side(self, colour: Colour) -> scene.Side:
        moved = self.last is not None and self.last.mover is colour
        return scene.Side(
            seat=self.game.seat(colour),
            is_reader=self.game.seat(colour) == self.now.me,
            to_move=not self.ended and self.position.turn is colour,
            left=None,
            urgent=False,
            out_of_time=False,
            last=self.last if moved else None,
        )

    @property
    def ended(self) -> bool:
        return self.game.is_over and self.number == self.game.plies

    def panel(self) -> Panel:
        if self.ended:
            return self.now.panel()
        title = _("Ply %(n)d of %(all)d") % {"n": self.number, "all": self.game.plies}
        if self.last is None:
            name = self.game.seat(self.position.turn).player.shown_name
            return Panel(title, _("The cards are dealt, %(name)s begins.") % {"name": name})
        said = {"name": self.now.name(self.last.mover), "deed": self.last.sentence}
        return Panel(title, _("%(name)s %(deed)s.") % said)

    def side_note(self) -> str:
        if self.ended:
            return ""
        seat = self.game.seat(self.position.turn)
        if seat == self.now.me:
            return _("comes to you next")
        return _("goes to %(name)s next") % {"name": seat.player.shown_name}

    # --- addresses --------------------------------------------------------------------------

    def address(self, number: int) -> str:
        return reverse("replay", args=[self.game.pk, number])

    def query(self, viewer: Colour) -> str:
        return "" if viewer is self.now.viewer else f"?side={viewer.value}"

    def steps(self) -> list[dict[str, str]]:
        """The four buttons; one that leads nowhere has no address."""
        number, plies = self.number, self.game.plies
        ways = [
            ("first", _("To the start"), 0 if number else None),
            ("prev", _("One ply back"), number - 1 if number else None),
            ("next", _("One ply on"), number + 1 if number < plies else None),
            ("last", _("To the last ply"), plies if number < plies else None),
        ]
        query = self.query(self.viewer)
        return [
            {"id": id_, "text": text, "url": "" if to is None else self.address(to) + query}
            for id_, text, to in ways
        ]


def _after(game: Game, record: list[Played]) -> Position:
    position = game.start
    for ply in record:
        position = position.after(ply.action)
    return position
