"""Pages that need no game: the landing page and the rules."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.middleware import Request
from games.belts import BELTS
from games.models import Level
from games.onitama.cards import BLUE, CARDS
from games.onitama.position import START_BOARD, Move, Position, parse_square
from games.views.board import BoardView, Choice, choose

# What the landing page shows: Red has just played, Blue holds a card over a piece.
_SHOWN = Position.parse("0021101000100003033030400 mantis,crane,tiger,crab,dragon b")
_LAST = Move("dragon", parse_square("e5"), parse_square("c4"))
_CHOICE = Choice("mantis", parse_square("b2"))

_SETS = {
    "base": _("The 16 base cards"),
    "senseis_path": _("Sensei’s Path"),
    "promo": _("Goat and Sheep"),
}
CARDS_BY_SET = [
    (title, [name for name, card in CARDS.items() if card.set == key])
    for key, title in _SETS.items()
]


@require_safe
def landing(request: Request) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("your_turn")
    shown = {"board": _picture(), "level": Level.WHITE, "belts": BELTS}
    return render(request, "games/landing.html", shown)


def _picture() -> BoardView:
    """A position in the middle of a choice, to look at only."""
    view = choose(
        _SHOWN, BLUE, _LAST, legal=_SHOWN.legal_moves(), choice=_CHOICE, ply=1, confirm=True
    )
    return replace(
        view,
        cells=tuple(replace(cell, query="") for cell in view.cells),
        below=tuple(replace(card, query="") for card in view.below),
    )


@require_safe
def rules(request: Request) -> HttpResponse:
    return render(request, "games/rules.html", {"sets": CARDS_BY_SET, "start": START_BOARD})
