"""A game in characters and words, for mails: the board, the cards, a ply."""

from __future__ import annotations

from django.utils.translation import gettext as _

from games.onitama.cards import CARDS, Colour
from games.onitama.position import SIZE, TEMPLES, Action, Move, Position, square_name
from games.wording import card_name

EMPTY, EMPTY_TEMPLE = ".", "^"
_PIECES = {"0": EMPTY, "1": "b", "2": "B", "3": "r", "4": "R"}
_MASTERS = ("2", "4")
# A card as its player reads it: the piece, where it may go, forward is up.
_PIECE, _TARGET = "o", "x"
_REACH = range(-2, 3)


def files(colour: Colour) -> str:
    """The names of the files from left to right, this side at the bottom."""
    return "abcde" if colour is Colour.BLUE else "edcba"


def squares(colour: Colour) -> list[tuple[int, list[int]]]:
    """(rank, from 0, and its squares from left to right) from the top down, likewise."""
    across = list(range(SIZE)) if colour is Colour.BLUE else list(reversed(range(SIZE)))
    ranks = reversed(across)
    return [(rank, [rank * SIZE + file for file in across]) for rank in ranks]


def piece(board: str, square: int) -> str:
    if board[square] == "0" and square in TEMPLES.values():
        return EMPTY_TEMPLE
    return _PIECES[board[square]]


def board(position: Position, colour: Colour) -> str:
    """Six lines: five ranks with their number, then the files."""
    lines = [
        f"{rank + 1}  " + " ".join(piece(position.board, square) for square in row)
        for rank, row in squares(colour)
    ]
    return "\n".join([*lines, "   " + " ".join(files(colour))])


def card(name: str, *, turned: bool) -> list[str]:
    """Five lines; turned as the opponent's lie, so that up is always up the board."""
    moves = set(CARDS[name].moves_for(Colour.RED if turned else Colour.BLUE))
    return [
        " ".join(
            _PIECE if (file, rank) == (0, 0) else _TARGET if (file, rank) in moves else EMPTY
            for file in _REACH
        )
        for rank in reversed(_REACH)
    ]


def side_by_side(cards: list[tuple[str, bool]]) -> str:
    """Cards, each with whether it is turned, in columns under their names."""
    columns = [[card_name(name), *card(name, turned=turned)] for name, turned in cards]
    width = 2 * SIZE - 1
    rows = zip(*columns, strict=True)
    return "\n".join("  ".join(text.ljust(width) for text in row).rstrip() for row in rows)


def ply(before: Position, action: Action) -> str:
    """`Crab: student b1–b2, takes a student`, for a move played in that position."""
    name = card_name(action.card)
    if not isinstance(action, Move):
        return _("passed with %(card)s") % {"card": name}
    mover = _("master") if before.board[action.origin] in _MASTERS else _("student")
    text = _("%(card)s: %(piece)s %(origin)s–%(target)s") % {
        "card": name,
        "piece": mover,
        "origin": square_name(action.origin),
        "target": square_name(action.target),
    }
    taken = before.board[action.target]
    if taken == "0":
        return text
    return f"{text}, {_('takes the master') if taken in _MASTERS else _('takes a student')}"
