"""How a finished game is told in lists, from one seat's side.

After {% load finished %}:

{{ seat|how:last }}     "Way of the Stream, Tiger c3–c5"; last: the token of the last ply or ""
{{ seat|dealt }}        "Tiger Crab · Mantis Crane · Dragon": own hand, the other, the side card
"""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from games.models import Game, Seat
from games.onitama.cards import Colour
from games.templatetags.board import card_name, ply_text

register = template.Library()

_BOARD_ENDS = (Game.Termination.STONE, Game.Termination.STREAM, Game.Termination.REPETITION)


@register.filter
def how(seat: Seat, last: str = "") -> str:
    text = _ending(seat)
    if last and seat.termination in _BOARD_ENDS:
        return f"{text}, {ply_text(last)}"
    return text


def _ending(seat: Seat) -> str:
    match seat.termination:
        case Game.Termination.RESIGNATION if seat.result == Seat.Result.WON:
            return _("the opponent resigned")
        case Game.Termination.RESIGNATION:
            return _("resigned")
        case Game.Termination.AGREEMENT:
            return _("by agreement")
        case Game.Termination.REPETITION:
            return _("third repetition")
        case Game.Termination.ABORTED:
            return _("out of time") if seat.plies >= 2 else _("before both had moved")
        case _other:
            return str(seat.get_termination_display())


@register.filter
def dealt(seat: Seat) -> str:
    deal = list(map(card_name, seat.game.cards.split(",")))
    hands = [" ".join(deal[:2]), " ".join(deal[2:4])]
    if seat.colour == Colour.RED:
        hands.reverse()
    return " · ".join([*hands, deal[4]])
