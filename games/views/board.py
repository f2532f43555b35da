"""What a reader sees of a position, and what each square and card there would choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlencode

from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from games.onitama.cards import BLUE, RED, Colour
from games.onitama.position import SIZE, TEMPLES, Action, Move, Pass, Position, square_name

_PIECES = {
    "0": gettext_lazy("empty"),
    "1": gettext_lazy("blue student"),
    "2": gettext_lazy("blue master"),
    "3": gettext_lazy("red student"),
    "4": gettext_lazy("red master"),
}
_TEMPLES = {"b": gettext_lazy("blue temple"), "r": gettext_lazy("red temple")}


@dataclass(frozen=True, slots=True)
class Choice:
    """What the reader has picked so far, in any order; nothing of it is ever stored."""

    card: str = ""
    origin: int | None = None
    target: int | None = None

    def __bool__(self) -> bool:
        return self != Choice()

    def query(self, ply: int) -> str:
        """The choice as an address carries it; the ply says for which position it was made."""
        pairs: list[tuple[str, object]] = [("ply", ply)]
        if self.card:
            pairs.append(("card", self.card))
        if self.origin is not None:
            pairs.append(("from", square_name(self.origin)))
        if self.target is not None:
            pairs.append(("to", square_name(self.target)))
        return urlencode(pairs)

    def allowed(self, legal: Sequence[Action]) -> Choice:
        """As much of the choice as can still become a legal action."""
        moves = [action for action in legal if isinstance(action, Move)]
        card = self.card if any(action.card == self.card for action in legal) else ""
        if self.origin is None or not any(move.origin == self.origin for move in moves):
            return Choice(card)
        here = [move for move in moves if move.origin == self.origin]
        if not any(card in ("", move.card) for move in here):
            card = ""
        reached = {move.target for move in here if card in ("", move.card)}
        return Choice(card, self.origin, self.target if self.target in reached else None)


@dataclass(frozen=True, slots=True)
class Cell:
    """One square. `query` is the choice that pressing it makes; `sends` the move it sends."""

    name: str
    digit: str
    temple: str
    label: str
    classes: str
    ghost: str = ""
    chosen: bool = False
    query: str = ""
    sends: Move | None = None


@dataclass(frozen=True, slots=True)
class HandCard:
    """One card on the table; `query` and `sends` as for a square."""

    name: str
    facing: str
    edge: str
    chosen: bool = False
    asked: bool = False
    query: str = ""
    sends: Action | None = None


@dataclass(frozen=True, slots=True)
class BoardView:
    """A position seen from one side, whose own squares and cards are below."""

    viewer: Colour
    cells: tuple[Cell, ...]
    ranks: str
    files: str
    above: tuple[HandCard, ...]
    below: tuple[HandCard, ...]
    side: HandCard
    choice: Choice = Choice()
    # The complete choice, which waits for one more press.
    sends: Action | None = None
    # Both cards reach the chosen square: the two moves to ask about.
    asks: tuple[Move, ...] = ()
    passing: bool = False


def look(position: Position, viewer: Colour, last: Action | None = None) -> BoardView:
    """A position to look at, where nothing can be chosen."""
    return choose(position, viewer, last, legal=(), choice=Choice(), ply=0, confirm=True)


def choose(
    position: Position,
    viewer: Colour,
    last: Action | None,
    *,
    legal: Sequence[Action],
    choice: Choice,
    ply: int,
    confirm: bool,
) -> BoardView:
    """A position in which ply number `ply` may be chosen among the `legal` actions.

    With `confirm` off, what would complete the choice sends it instead.
    """
    allowed = choice.allowed(legal)
    table = _Table(position, viewer, last, tuple(legal), _by_origin(legal), allowed, ply, confirm)
    return table.view()


def _by_origin(legal: Sequence[Action]) -> dict[int, list[Move]]:
    moves: dict[int, list[Move]] = {}
    for action in legal:
        if isinstance(action, Move):
            moves.setdefault(action.origin, []).append(action)
    return moves


@dataclass(frozen=True, slots=True)
class _Table:
    position: Position
    viewer: Colour
    last: Action | None
    legal: tuple[Action, ...]
    moves: Mapping[int, list[Move]]
    choice: Choice
    ply: int
    confirm: bool

    def view(self) -> BoardView:
        viewer, position = self.viewer, self.position
        complete = self.complete()
        return BoardView(
            viewer=viewer,
            cells=self.cells(),
            ranks="54321" if viewer is BLUE else "12345",
            files="abcde" if viewer is BLUE else "edcba",
            above=self.hand(viewer.other),
            below=self.hand(viewer),
            # Gold, as the squares: it is the card that was played last.
            side=HandCard(
                position.side_card, self.facing(position.turn), "last" if self.last else ""
            ),
            choice=self.choice,
            sends=complete[0] if len(complete) == 1 else None,
            asks=tuple(move for move in complete if isinstance(move, Move) and len(complete) > 1),
            passing=any(isinstance(action, Pass) for action in self.legal),
        )

    def facing(self, reader: Colour) -> str:
        return "up" if reader is self.viewer else "down"

    def moves_from(self, origin: int | None, card: str = "") -> list[Move]:
        """Legal moves of a piece by one card, or by either when none is named."""
        if origin is None:
            return []
        return [move for move in self.moves.get(origin, ()) if card in ("", move.card)]

    def complete(self) -> list[Action]:
        """The legal actions the choice fits once nothing is left to choose but the card."""
        choice = self.choice
        if Pass(choice.card) in self.legal:
            return [Pass(choice.card)]
        if choice.target is None:
            return []
        moves = self.moves_from(choice.origin, choice.card)
        return [move for move in moves if move.target == choice.target]

    # --- squares ----------------------------------------------------------------------------

    def cells(self) -> tuple[Cell, ...]:
        reached = self.moves_from(self.choice.origin, self.choice.card)
        language = get_language()
        return tuple(
            self.cell(
                _untouched(square, self.position.board[square], language),
                square,
                [move for move in reached if move.target == square],
            )
            for square in _SEEN_FROM[self.viewer]
        )

    def cell(self, untouched: Cell, square: int, ways: list[Move]) -> Cell:
        target = bool(ways) and square == self.choice.target
        origin = square == self.choice.origin
        said, classes = self.marks(square, untouched.digit, bool(ways), target, origin)
        query = self.square_query(square, bool(ways))
        if not said and not query:
            return untouched
        return replace(
            untouched,
            label=", ".join([untouched.label, *said]),
            classes=classes,
            ghost=self.ghost(target),
            chosen=target or origin,
            query=query,
            sends=ways[0] if len(ways) == 1 and not self.confirm else None,
        )

    def marks(
        self, square: int, digit: str, reached: bool, target: bool, origin: bool
    ) -> tuple[list[str], str]:
        """What sets a square apart, in words for the ear and in classes for the eye."""
        said, classes = [], []
        if isinstance(self.last, Move) and square in (self.last.origin, self.last.target):
            classes.append("last")
            said.append(_("left last") if square == self.last.origin else _("moved last"))
        if origin:
            classes.append("chosen")
            said.append(_("chosen"))
        if target:
            classes.append("target")
            said.append(_("chosen target"))
        elif reached and digit != "0":
            classes.append("capture")
            said.append(_("can be taken"))
        elif reached:
            classes.append("legal")
            said.append(_("can be reached"))
        return said, " ".join(classes)

    def ghost(self, target: bool) -> str:
        origin = self.choice.origin
        return self.position.board[origin] if target and origin is not None else ""

    def square_query(self, square: int, reached: bool) -> str:
        choice = self.choice
        if reached:
            return Choice(choice.card, choice.origin, square).query(self.ply)
        if square == choice.origin:
            return Choice(choice.card).query(self.ply)
        if not self.moves_from(square):
            return ""
        card = choice.card if self.moves_from(square, choice.card) else ""
        return Choice(card, square).query(self.ply)

    # --- cards ------------------------------------------------------------------------------

    def hand(self, colour: Colour) -> tuple[HandCard, ...]:
        mine = colour is self.viewer
        return tuple(
            self.playable(name) if mine else HandCard(name, "down", colour.value)
            for name in self.position.hand(colour)
        )

    def playable(self, name: str) -> HandCard:
        complete = self.complete()
        fits = [action for action in complete if action.card == name]
        asked = len(complete) > 1 and bool(fits)
        return HandCard(
            name,
            "up",
            self.viewer.value,
            chosen=self.choice.card == name or (bool(fits) and not asked),
            asked=asked,
            query=self.card_query(name),
            sends=self.card_sends(name, fits if asked else []),
        )

    def card_sends(self, name: str, asked: list[Action]) -> Action | None:
        if self.confirm:
            return None
        if Pass(name) in self.legal:
            return Pass(name)
        return asked[0] if asked else None

    def card_query(self, name: str) -> str:
        if not any(action.card == name for action in self.legal):
            return ""
        if self.choice.card == name:
            return Choice("", self.choice.origin, None).query(self.ply)
        wider = Choice(name, self.choice.origin, self.choice.target).allowed(self.legal)
        # A card that the chosen piece cannot use is chosen alone.
        return (wider if wider.card == name else Choice(name)).query(self.ply)


# All squares as each side reads them on the screen, from the top left.
_BLUE_SEES = [rank * SIZE + file for rank in reversed(range(SIZE)) for file in range(SIZE)]
_SEEN_FROM = {BLUE: _BLUE_SEES, RED: _BLUE_SEES[::-1]}


@lru_cache(maxsize=1024)
def _untouched(square: int, digit: str, _language: str | None) -> Cell:
    """A square of which there is nothing to tell but what it is, in the reader's language."""
    temple = next((colour for colour, at in TEMPLES.items() if at == square), None)
    words = [square_name(square), str(_PIECES[digit])]
    if temple:
        words.append(str(_TEMPLES[temple]))
    return Cell(
        name=square_name(square),
        digit=digit,
        temple=temple.word if temple else "",
        label=", ".join(words),
        classes="",
    )
