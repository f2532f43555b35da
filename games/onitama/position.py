"""A position, the moves it allows, how it ends, and the text form of all of these."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from games.onitama.cards import BLUE, CARDS, RED, Colour, Deal

SIZE = 5
START_BOARD = "1121100000000000000033433"
_C1, _C5 = 2, 22
TEMPLES: Mapping[Colour, int] = MappingProxyType({BLUE: _C1, RED: _C5})

_PIECES = {BLUE: "12", RED: "34"}
_STUDENTS = {BLUE: "1", RED: "3"}
_MASTERS = {BLUE: "2", RED: "4"}
# Own master, the master to take, the temple to reach.
_AIMS = {BLUE: ("2", "4", TEMPLES[RED]), RED: ("4", "2", TEMPLES[BLUE])}
_SWAPPED = str.maketrans("1234", "3412")
_MOVE_TEXT = re.compile(r"([a-z_]+):(?:(pass)|([a-e][1-5])([a-e][1-5]))")


class BadText(ValueError):
    """The text does not say anything in our notation."""


class IllegalMove(ValueError):
    """The move is well written, but the rules do not allow it here."""


def quoted(text: str) -> str:
    """A foreign text made fit for a one-line message."""
    return repr(text if len(text) <= 60 else text[:60] + "…")


def square_name(square: int) -> str:
    rank, file = divmod(square, SIZE)
    return f"{'abcde'[file]}{rank + 1}"


_SQUARES = {square_name(square): square for square in range(SIZE * SIZE)}


def parse_square(text: str) -> int:
    try:
        return _SQUARES[text]
    except KeyError:
        raise BadText(f"{quoted(text)} is not a square from a1 to e5") from None


@dataclass(frozen=True, slots=True)
class Move:
    card: str
    origin: int
    target: int

    def __str__(self) -> str:
        return f"{self.card}:{square_name(self.origin)}{square_name(self.target)}"


@dataclass(frozen=True, slots=True)
class Pass:
    card: str

    def __str__(self) -> str:
        return f"{self.card}:pass"


Action = Move | Pass


def parse_move(text: str) -> Action:
    match = _MOVE_TEXT.fullmatch(text)
    if match is None:
        raise BadText(f"{quoted(text)} is not a move like boar:a1a2 or boar:pass")
    card, passed, origin, target = match.groups()
    if card not in CARDS:
        raise BadText(f"{quoted(card)} is not a card")
    return Pass(card) if passed else Move(card, _SQUARES[origin], _SQUARES[target])


def _moves_by_origin(card: str, colour: Colour) -> tuple[tuple[Move, ...], ...]:
    steps = CARDS[card].moves_for(colour)
    return tuple(
        tuple(
            Move(card, origin, origin + files + SIZE * ranks)
            for files, ranks in steps
            if 0 <= origin % SIZE + files < SIZE and 0 <= origin // SIZE + ranks < SIZE
        )
        for origin in range(SIZE * SIZE)
    )


# Every move there is on an empty board, made once: by colour, card and origin.
_MOVES = {
    colour: {card: _moves_by_origin(card, colour) for card in CARDS} for colour in (BLUE, RED)
}


@dataclass(frozen=True, slots=True)
class Outcome:
    termination: str
    winner: Colour


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """Built by parse() or start(), which check what they are given; the constructor does not."""

    board: str
    cards: Deal
    turn: Colour

    @classmethod
    def start(cls, cards: Deal, turn: Colour | None = None) -> Position:
        """The set-up for a deal; the side card's stamp says who begins, unless `turn` does."""
        _check_cards(cards)
        return cls(START_BOARD, cards, CARDS[cards[4]].stamp if turn is None else turn)

    @classmethod
    def parse(cls, text: str) -> Position:
        fields = text.split(" ")
        if len(fields) != 3:
            raise BadText(f"{quoted(text)} is not a board, five cards and a turn, one space apart")
        board, card_list, turn = fields
        cards = tuple(card_list.split(","))
        _check_board(board)
        _check_cards(cards)
        if turn not in (BLUE.value, RED.value):
            raise BadText(f"the turn must be b or r, not {quoted(turn)}")
        blue_1, blue_2, red_1, red_2, side = cards
        return cls(board, (blue_1, blue_2, red_1, red_2, side), Colour(turn))

    def __str__(self) -> str:
        return f"{self.board} {','.join(self.cards)} {self.turn.value}"

    def _key(self) -> tuple[object, ...]:
        blue_1, blue_2, red_1, red_2, side = self.cards
        hands = frozenset((blue_1, blue_2)), frozenset((red_1, red_2))
        return self.board, hands, side, self.turn

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Position):
            return NotImplemented
        return self.board == other.board and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def side_card(self) -> str:
        return self.cards[4]

    def hand(self, colour: Colour) -> tuple[str, str]:
        return self.cards[:2] if colour is BLUE else self.cards[2:4]

    def outcome(self) -> Outcome | None:
        board = self.board
        if "2" in board and "4" in board and board[_C5] != "2" and board[_C1] != "4":
            return None
        # The side that has just moved is asked first, should a set-up show two wins at once.
        sides = (self.turn.other, self.turn)
        for winner in sides:
            if _MASTERS[winner.other] not in board:
                return Outcome("stone", winner)
        stepped_in = board[TEMPLES[sides[1]]] == _MASTERS[sides[0]]
        return Outcome("stream", sides[0] if stepped_in else sides[1])

    def moves_of(self, colour: Colour) -> list[Move]:
        """Where the pieces of a colour could go by its cards, whoever's turn it is."""
        board = self.board
        own = _PIECES[colour]
        origins = [square for square, piece in enumerate(board) if piece in own]
        table = _MOVES[colour]
        first, second = self.hand(colour)
        # In a fixed order, so that equal positions list the same moves alike.
        return [
            move
            for card in ((first, second) if first < second else (second, first))
            for origin in origins
            for move in table[card][origin]
            if board[move.target] not in own
        ]

    def legal_moves(self) -> list[Action]:
        if self.outcome() is not None:
            return []
        moves = self.moves_of(self.turn)
        if moves:
            return list(moves)
        return [Pass(card) for card in sorted(self.hand(self.turn))]

    def winning(self, legal: list[Action]) -> list[Action]:
        """Those of the legal actions that end the game; quicker than asking each position."""
        board = self.board
        master, prey, temple = _AIMS[self.turn]
        return [
            action
            for action in legal
            if isinstance(action, Move)
            and (
                board[action.target] == prey
                or (action.target == temple and board[action.origin] == master)
            )
        ]

    def capturing(self, legal: list[Action]) -> list[Action]:
        board = self.board
        return [a for a in legal if isinstance(a, Move) and board[a.target] != "0"]

    def play(self, action: Action) -> Position:
        if action not in self.legal_moves():
            raise IllegalMove(f"{action} is not legal in {self}")
        return self.after(action)

    def after(self, action: Action) -> Position:
        """play() without its check, for an action that came from legal_moves()."""
        board = self.board
        if isinstance(action, Move):
            origin, target = action.origin, action.target
            piece = board[origin]
            board = f"{board[:origin]}0{board[origin + 1 :]}"
            board = f"{board[:target]}{piece}{board[target + 1 :]}"
        blue_1, blue_2, red_1, red_2, side = self.cards
        card = action.card
        if self.turn is BLUE:
            hand = (side, blue_2) if card == blue_1 else (blue_1, side)
            return Position(board, (*hand, red_1, red_2, card), RED)
        hand = (side, red_2) if card == red_1 else (red_1, side)
        return Position(board, (blue_1, blue_2, *hand, card), BLUE)

    def turned(self) -> Position:
        """The same position seen from the other side: board turned, colours exchanged."""
        blue_1, blue_2, red_1, red_2, side = self.cards
        board = self.board[::-1].translate(_SWAPPED)
        return Position(board, (red_1, red_2, blue_1, blue_2, side), self.turn.other)


def _check_board(board: str) -> None:
    if len(board) != SIZE * SIZE or not set(board) <= set("01234"):
        raise BadText(f"a board is 25 digits from 0 to 4, not {quoted(board)}")
    for colour in (BLUE, RED):
        if board.count(_MASTERS[colour]) > 1:
            raise BadText(f"{colour.word} has more than one master")
        if board.count(_STUDENTS[colour]) > 4:
            raise BadText(f"{colour.word} has more than four students")
    if not any(master in board for master in _MASTERS.values()):
        raise BadText("neither side has a master")


def _check_cards(cards: tuple[str, ...]) -> None:
    for card in cards:
        if card not in CARDS:
            raise BadText(f"{quoted(card)} is not a card")
    if len(cards) != 5:
        raise BadText(f"there must be five cards, not {len(cards)}")
    if len(set(cards)) != 5:
        raise BadText(f"a card is there twice in {','.join(cards)}")
