"""What the template of a game's page gets: the scene, and where every press leads."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts import names
from games import belts, play, wording
from games.models import Seat
from games.onitama.cards import Colour
from games.onitama.position import Pass, square_name
from games.templatetags.board import card_name
from games.views.scene import Scene

# How often an open page asks, and how long it asks every second while the computer thinks.
SLOW, FAST, FAST_FOR = 10, 1, wording.MINUTE


def context(scene: Scene, *, message: str = "", focus: str = "") -> dict[str, Any]:
    """`message` tells of a refusal. `focus` goes to what is "next" to press, or to the
    "title" of the panel; on a whole "page" to what is next. A poll gives none, and moves none.
    """
    game, panel = scene.game, scene.panel()
    return {
        **_addresses(scene),
        **_powers(scene),
        **_waiting(scene),
        "game": game,
        "names": {seat.colour: seat.player.shown_name for seat in game.sides},
        "board": scene.board,
        "above": scene.side(scene.viewer.other),
        "below": scene.side(scene.viewer),
        "mover": scene.side(Colour(game.turn)),
        "me": scene.me,
        "ply": scene.ply,
        "rows": scene.rows(),
        "panel": panel,
        "message": message,
        "status": scene.status(panel, message),
        "ask": scene.ask,
        "asks": _asks(scene),
        "confirm": scene.confirm,
        "sends_text": _sends_text(scene),
        "side_note": _side_note(scene),
        "offer": scene.offer(),
        "poll": _poll(scene),
        "rematch": _rematch(scene),
        "focus": focus,
    }


def _waiting(scene: Scene) -> dict[str, Any]:
    """How many games wait for the reader, and the most urgent of them, this one apart.

    One query for both; the count also keeps the context processor from asking for it.
    """
    if scene.me is None:
        return {}
    seats = Seat.objects.to_move(scene.me.player_id)
    waiting = list(seats.values_list("game", "opponent__username", "game__deadline"))
    others = (row for row in waiting if row[0] != scene.game.pk)
    urgent = min(others, key=_urgency, default=None)
    return {"turn_count": len(waiting), "next_game": _next_game(urgent, scene.now)}


def _urgency(row: tuple[int, str, datetime | None]) -> tuple[bool, datetime | None, int]:
    """Least time left first, no clock last."""
    pk, _opponent, deadline = row
    return deadline is None, deadline, pk


def _next_game(
    row: tuple[int, str, datetime | None] | None, now: datetime
) -> dict[str, Any] | None:
    if row is None:
        return None
    pk, opponent, deadline = row
    return {
        "pk": pk,
        "opponent": names.shown(opponent),
        "left": deadline and max(deadline - now, timedelta()),
    }


def _poll(scene: Scene) -> dict[str, Any] | None:
    """How the page asks on; None once the game is over.

    `until` is when the page shows something else although nobody did anything.
    """
    game = scene.game
    if game.is_over:
        return None
    fast_until = game.turn_began + FAST_FOR
    fast = game.engine_due is not None and scene.now < fast_until
    until = fast_until if fast else _clock_changes(scene)
    query = {"version": game.version, "until": int(until.timestamp()) + 1}
    extra = "&ask=" + scene.ask if scene.ask else ""
    return {
        "seconds": FAST if fast else SLOW,
        "query": f"{urlencode(query)}&{scene.choice.query(scene.ply)}{extra}",
    }


def _rematch(scene: Scene) -> belts.Belt | None:
    """Which belt the reader may play next after a game against the computer."""
    if scene.me is None or not scene.game.is_over or not scene.me.opponent.is_engine:
        return None
    return belts.nearest(scene.me.opponent.username)


def _clock_changes(scene: Scene) -> datetime:
    """A moment until which the clocks shown are near enough."""
    deadline = scene.game.deadline
    if deadline is None or deadline <= scene.now:
        return scene.now + 10 * wording.MINUTE
    step = 10 if deadline - scene.now > wording.HOUR else 1
    return min(scene.now + step * wording.MINUTE, deadline)


def _sends_text(scene: Scene) -> str:
    """What the button of the last press says."""
    action = scene.board.sends
    if action is None:
        return ""
    if isinstance(action, Pass):
        return _("Pass with %(card)s") % {"card": card_name(action.card)}
    return _("Play %(card)s %(origin)s–%(target)s") % {
        "card": card_name(action.card),
        "origin": square_name(action.origin),
        "target": square_name(action.target),
    }


def _asks(scene: Scene) -> list[dict[str, Any]]:
    """The cards to choose from, where both reach the chosen square."""
    return [
        {
            "card": action.card,
            "action": action,
            "query": replace(scene.choice, card=action.card).query(scene.ply),
        }
        for action in scene.board.asks
    ]


def _side_note(scene: Scene) -> str:
    """Who gets the side card: the newcomer wonders why a card has changed places."""
    if scene.game.is_over:
        return ""
    if scene.me is not None and scene.game.turn == scene.me.colour:
        return _("comes to you after your move")
    return _("goes to %(name)s next") % {"name": scene.game.seat(scene.game.turn).player.shown_name}


def _addresses(scene: Scene) -> dict[str, str]:
    pk = scene.game.pk
    views = {"game_url": "game", "board_url": "board", "move_url": "move"}
    if scene.ask:
        views["ask_url"] = scene.ask
    return {key: reverse(name, args=[pk]) for key, name in views.items()}


def _powers(scene: Scene) -> dict[str, bool]:
    """What else than a move the reader may do now."""
    me, game = scene.me, scene.game
    if me is None or game.is_over or scene.late:
        return {}
    return {
        "can_resign": True,
        "can_abort": play.can_abort(game),
        "can_offer": play.can_offer_draw(game, me),
    }
