"""Draws pieces, cards and small boards as SVG; the shapes are in templates/_sprite.html.

After {% load board %}:

{% card name facing edge %}
    One move card. facing: "up" as its holder reads it, "down" turned round (the opponent's).
    edge: "b" or "r", whose hand it is in; "" at the side.
{% small_board position viewer last %}
    25 squares without links, for lists. position: the one-line text (Game.position).
    viewer: "b" or "r", whose side is below. last: the last ply's token ("boar:a1a2") or "".
{% square_picture digit temple ghost %}
    What stands on a square: a digit of a board's text; "blue" or "red" where a temple is.
{% squares board.cells %}
    The squares of a board (games.views.board.Cell): links, or forms, where something can be chosen.
{% icon name %}
    One of first prev next last flip close.
{% record_ply pk ply query swap current %}
    A ply of the record (views.scene.Played) as a link to its replay; `query` goes along, with
    `swap` HTMX fetches it, the one numbered `current` is marked.
{{ "sea_snake"|card_name }}, {{ "boar:a1a2"|ply_text }}
    "Sea Snake", "Boar a1–a2"; a pass is "passed with Boar".

Times are drawn by the filters of times.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext, ngettext

from games.onitama.cards import CARDS, Colour, Step
from games.onitama.position import SIZE, Action, Move, Pass, parse_move, square_name
from games.wording import card_name as card_name

register = template.Library()

_CELL = 20


register.filter(card_name)


@register.filter
def ply_text(token: str) -> str:
    action = parse_move(token)
    card = card_name(action.card)
    if isinstance(action, Move):
        return f"{card} {square_name(action.origin)}–{square_name(action.target)}"
    return gettext("passed with %(card)s") % {"card": card}


@register.filter
def square(number: int) -> str:
    return square_name(number)


@register.filter
def is_pass(action: Action) -> bool:
    return isinstance(action, Pass)


@register.simple_tag
@lru_cache(maxsize=256)
def square_picture(digit: str, temple: str = "", ghost: str = "") -> SafeString:
    """What stands on a square; a ghost is a piece that would come there."""
    picture = ""
    if temple:
        picture += f'<svg class="temple {temple}" aria-hidden="true"><use href="#temple"/></svg>'
    for piece, extra in ((digit, ""), (ghost, " ghost")):
        if piece not in ("", "0"):
            side = "blue" if piece in "12" else "red"
            picture += (
                f'<svg class="piece {side}{extra}" aria-hidden="true">'
                f'<use href="#piece-{piece}"/></svg>'
            )
    return _markup(picture)


class Square(Protocol):
    """What a square needs to be drawn."""

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def classes(self) -> str: ...
    @property
    def digit(self) -> str: ...
    @property
    def temple(self) -> str: ...
    @property
    def ghost(self) -> str: ...
    @property
    def chosen(self) -> bool: ...
    @property
    def query(self) -> str: ...
    @property
    def sends(self) -> Move | None: ...


@register.simple_tag(takes_context=True)
def squares(context: Context, cells: Iterable[Square]) -> SafeString:
    """One tag for all: a template takes longer for 25 squares than for the rest of a page."""
    lines = []
    for cell in cells:
        if cell.sends:
            line = _square_form(context, cell)
        elif cell.query:
            line = _linked_square(cell, context["game_url"], context["board_url"])
        else:
            line = _plain_square(cell.name, cell.label, cell.classes, cell.digit, cell.temple)
        lines.append(line)
    return SafeString("".join(lines))


def _square_form(context: Context, cell: Square) -> SafeString:
    fields: dict[str, Any] = {str(name): value for name, value in context.flatten().items()}
    return render_to_string("games/_square_form.html", {**fields, "cell": cell})


def _linked_square(cell: Square, game_url: str, board_url: str) -> SafeString:
    return format_html(
        '<a id="square-{}" class="square {}" aria-label="{}" href="{}?{}" hx-get="{}?{}"{}>{}'
        "</a>\n",
        cell.name,
        cell.classes,
        cell.label,
        game_url,
        cell.query,
        board_url,
        cell.query,
        mark_safe(' aria-current="true"') if cell.chosen else "",
        square_picture(cell.digit, cell.temple, cell.ghost),
    )


@lru_cache(maxsize=4096)
def _plain_square(name: str, label: str, classes: str, digit: str, temple: str) -> SafeString:
    return format_html(
        '<button type="button" id="square-{}" class="square {}" aria-label="{}" disabled>{}'
        "</button>\n",
        name,
        classes,
        label,
        square_picture(digit, temple),
    )


@register.simple_tag
def icon(name: str) -> SafeString:
    return format_html('<svg class="icon" aria-hidden="true"><use href="#icon-{}"/></svg>', name)


# --- cards ----------------------------------------------------------------------------------


# The letters of a name that stand beside the stamp in full size; a longer one is set smaller.
_SHORT = 7


@register.simple_tag
def card(name: str, facing: str = "up", edge: str = "") -> SafeString:
    return _card(name, facing, edge, get_language())


@lru_cache(maxsize=1024)
def _card(name: str, facing: str, edge: str, language: str | None) -> SafeString:
    it = CARDS[name]
    steps = it.moves_for(Colour.BLUE if facing == "up" else Colour.RED)
    return format_html(
        '<span class="card{}{}{}">{}<span class="card-foot"><span class="card-name">{}</span>'
        '<svg class="seal {}" viewBox="0 0 12 12" role="img" aria-label="{}"><use href="#seal-{}"/>'
        '</svg></span><span class="visually-hidden">{}</span></span>',
        f" edge-{edge}" if edge else "",
        " turned" if facing != "up" else "",
        " long" if len(card_name(name)) > _SHORT else "",
        _grid(steps),
        card_name(name),
        it.stamp.word,
        gettext("red stamp") if it.stamp is Colour.RED else gettext("blue stamp"),
        it.stamp.value,
        ". " + "; ".join(map(_step_text, it.moves)),
    )


def _grid(steps: tuple[Step, ...]) -> SafeString:
    moves = format_html_join(
        "",
        '<rect class="card-move" x="{}" y="{}" width="18" height="18" rx="1.8"/>',
        ((_CELL * (2 + files) + 1, _CELL * (2 - ranks) + 1) for files, ranks in steps),
    )
    return format_html(
        '<svg class="card-grid" viewBox="0 0 100 100" aria-hidden="true">'
        '<use href="#card-squares"/>{}</svg>',
        moves,
    )


def _step_text(step: Step) -> str:
    """One move in words, seen by the holder of the card."""
    files, ranks = step
    parts = []
    if ranks:
        text = (
            ngettext("%(n)d forward", "%(n)d forward", ranks)
            if ranks > 0
            else ngettext("%(n)d back", "%(n)d back", -ranks)
        )
        parts.append(text % {"n": abs(ranks)})
    if files:
        text = (
            ngettext("%(n)d right", "%(n)d right", files)
            if files > 0
            else ngettext("%(n)d left", "%(n)d left", -files)
        )
        parts.append(text % {"n": abs(files)})
    return " ".join(parts)


# --- the record -----------------------------------------------------------------------------


@register.simple_tag
def record_ply(pk: int, ply: Any, query: str, swap: bool, current: int) -> SafeString:
    return _record_ply(pk, ply.number, str(ply), query or "", bool(swap), ply.number == current)


@lru_cache(maxsize=8192)
def _record_ply(
    pk: int, number: int, text: str, query: str, swap: bool, current: bool
) -> SafeString:
    """Kept, for a record grows by one ply and is shown whole after each."""
    address = reverse("replay", args=[pk, number]) + query
    return format_html(
        '<a id="ply-{}" href="{}"{}{}>{}</a>',
        number,
        address,
        format_html(' hx-get="{}"', address) if swap else "",
        mark_safe(' class="strong" aria-current="true"') if current else "",
        text,
    )


# --- small boards ---------------------------------------------------------------------------


@register.simple_tag
def small_board(position: str, viewer: str = "b", last: str = "") -> SafeString:
    return _small_board(position[: SIZE * SIZE], viewer or "b", last)


@lru_cache(maxsize=4096)
def _small_board(board: str, viewer: str, last: str) -> SafeString:
    action = parse_move(last) if last else None
    played = {action.origin, action.target} if isinstance(action, Move) else set()
    gold = "".join(_small_square(_place(square, viewer)) for square in sorted(played))
    pieces = "".join(
        f'<use href="#dot-{digit}" x="{x}" y="{y}" width="20" height="20"/>'
        for square, digit in enumerate(board)
        if digit != "0"
        for x, y in [_place(square, viewer)]
    )
    squares = "".join(_small_square(_place(square, viewer)) for square in range(SIZE * SIZE))
    return _markup(
        '<svg class="small-board" viewBox="-1 -1 102 102" aria-hidden="true">'
        '<rect class="frame" x="-1" y="-1" width="102" height="102" rx="3"/>'
        f'<path class="wood" d="{squares}"/>'
        + (f'<path class="gold" d="{gold}"/>' if gold else "")
        + f"{pieces}</svg>"
    )


def _place(square: int, viewer: str) -> tuple[int, int]:
    rank, file = divmod(square, SIZE)
    if viewer == "r":
        return (SIZE - 1 - file) * _CELL, rank * _CELL
    return file * _CELL, (SIZE - 1 - rank) * _CELL


def _small_square(place: tuple[int, int]) -> str:
    x, y = place
    return f"M{x + 0.5} {y + 0.5}h19v19h-19z"


def _markup(text: str) -> SafeString:
    # Only numbers and words of ours are in it.
    return mark_safe(text)  # noqa: S308
