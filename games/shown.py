"""A game as a mail shows it to one of its players, in characters and as cells of a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.links import link
from accounts.models import User
from games import characters
from games.models import Game, Ply, Seat
from games.onitama.cards import Colour
from games.onitama.position import Move, Position, parse_move
from games.wording import card_name, moment, span


def read_records(games: Iterable[Game]) -> None:
    """The `tokens` of all these games in one query."""
    by_game: dict[int, list[tuple[int, str]]] = defaultdict(list)
    games = list(games)
    plies = Ply.objects.filter(game__in=games).values_list("game", "number", "action")
    for pk, number, action in plies:
        by_game[pk].append((number, action))
    for game in games:
        game.tokens = [action for n, action in sorted(by_game[game.pk]) if n <= game.plies]


@dataclass(frozen=True, slots=True)
class Cell:
    """A square of the HTML board; letters tell the pieces apart, colours and shapes only help."""

    character: str
    # "blue" or "red"; empty on an empty square.
    side: str
    master: bool
    # The last ply began or ended here.
    played: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """What a mail shows of one game to one player."""

    game: Game
    seat: Seat | None
    opponent: User
    colour: Colour
    position: Position
    # The last ply in words and as its token; empty before the first.
    last: str
    token: str
    deadline: str
    left: str
    link: str

    @classmethod
    def of(cls, game: Game, player: User, now: datetime) -> Shown:
        seat = game.seat_of(player.pk)
        return cls(
            game=game,
            seat=seat,
            opponent=opponent_of(game, player),
            colour=Colour(seat.colour) if seat else Colour.BLUE,
            position=game.current,
            last=_last_ply(game),
            token=game.tokens[-1] if game.tokens else "",
            deadline=moment(game.deadline) if game.deadline else "",
            left=_left(game.deadline, now) if game.deadline else "",
            link=link("game", game.pk),
        )

    @property
    def to_move(self) -> bool:
        return not self.game.is_over and self.game.turn == self.colour

    @property
    def offered(self) -> bool:
        return self.game.draw_offer == self.colour.other

    @property
    def board(self) -> str:
        return characters.board(self.position, self.colour)

    @property
    def files(self) -> str:
        return characters.files(self.colour)

    @property
    def mine(self) -> str:
        return ", ".join(map(card_name, self.position.hand(self.colour)))

    @property
    def theirs(self) -> str:
        return ", ".join(map(card_name, self.position.hand(self.colour.other)))

    @property
    def side_card(self) -> str:
        return card_name(self.position.side_card)

    @property
    def cards(self) -> str:
        """All five in characters: my hand, the side card, the other hand turned towards me."""
        return characters.side_by_side(self._cards())

    @property
    def drawn(self) -> list[tuple[str, str]]:
        """The same five, each with its name."""
        return [
            (card_name(name), "\n".join(characters.card(name, turned=turned)))
            for name, turned in self._cards()
        ]

    def _cards(self) -> list[tuple[str, bool]]:
        mine, theirs = self.position.hand(self.colour), self.position.hand(self.colour.other)
        near = [(name, False) for name in (*mine, self.position.side_card)]
        return near + [(name, True) for name in theirs]

    @property
    def rows(self) -> list[tuple[int, list[Cell]]]:
        action = parse_move(self.token) if self.token else None
        played = {action.origin, action.target} if isinstance(action, Move) else set()
        return [
            (rank + 1, [_cell(self.position.board, square, played) for square in squares])
            for rank, squares in characters.squares(self.colour)
        ]


def _cell(board: str, square: int, played: set[int]) -> Cell:
    digit = board[square]
    side = "" if digit == "0" else "blue" if digit in "12" else "red"
    return Cell(characters.piece(board, square), side, digit in "24", square in played)


def opponent_of(game: Game, player: User) -> User:
    return next(seat.player for seat in game.sides if seat.player_id != player.pk)


def _last_ply(game: Game) -> str:
    if not game.tokens:
        return ""
    *before, last = map(parse_move, game.tokens)
    position = game.start
    for action in before:
        position = position.after(action)
    return characters.ply(position, last)


def _left(deadline: datetime, now: datetime) -> str:
    """Never wrapped between a number and its unit."""
    return span(max(deadline - now, timedelta())).replace(" ", "\N{NO-BREAK SPACE}")
