"""A game at one moment for one reader: what they see, may choose, and are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from games import away, play, wording
from games.models import Game, Seat
from games.onitama.cards import Colour
from games.onitama.position import Action, Move, Pass, parse_move, square_name
from games.templatetags.board import card_name
from games.views import board
from games.views.board import Choice

_MASTERS = "24"


@dataclass(frozen=True, slots=True)
class Played:
    """One ply as the record tells it."""

    number: int
    action: Action
    mover: Colour
    # The digit of the piece that was on the target square; "0" for none.
    taken: str
    when: datetime

    def __str__(self) -> str:
        card = card_name(self.action.card)
        if isinstance(self.action, Pass):
            return _("%(card)s, pass") % {"card": card}
        sign = "–" if self.taken == "0" else "×"
        return f"{card} {square_name(self.action.origin)}{sign}{square_name(self.action.target)}"

    @property
    def sentence(self) -> str:
        """What was done, to stand after a name."""
        if isinstance(self.action, Pass):
            return _("passed with %(card)s") % {"card": card_name(self.action.card)}
        said = {
            "card": card_name(self.action.card),
            "origin": square_name(self.action.origin),
            "target": square_name(self.action.target),
        }
        if self.taken == "0":
            return _("played %(card)s %(origin)s–%(target)s") % said
        if self.taken in _MASTERS:
            return _("took the master, %(card)s %(origin)s–%(target)s") % said
        return _("took a student, %(card)s %(origin)s–%(target)s") % said


def played(game: Game) -> list[Played]:
    """The record, with who moved and what was taken."""
    position, result = game.start, []
    for number, token, when in game.told.values_list("number", "action", "played"):
        action = parse_move(token)
        taken = position.board[action.target] if isinstance(action, Move) else "0"
        result.append(Played(number, action, position.turn, taken, when))
        position = position.after(action)
    return result


@dataclass(frozen=True, slots=True)
class Side:
    """One player's line beside the board."""

    seat: Seat
    is_reader: bool
    to_move: bool
    left: timedelta | None
    urgent: bool
    out_of_time: bool
    last: Played | None
    # What the opponent announced; whether the turn goes on by away time.
    away: str = ""
    on_away_time: bool = False

    @property
    def word(self) -> str:
        return Colour(self.seat.colour).word

    @property
    def name(self) -> str:
        return _("You") if self.is_reader else self.seat.player.shown_name

    @property
    def hand_label(self) -> str:
        if self.is_reader:
            return _("Your cards")
        return _("Cards of %(name)s") % {"name": self.seat.player.shown_name}


@dataclass(frozen=True, slots=True)
class Panel:
    """The box that says what is to be done."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the reader has picked, as far as the request made sense."""

    choice: Choice = Choice()
    ply: int | None = None
    ask: str = ""

    @classmethod
    def read(cls, picked: dict[str, Any]) -> Wanted:
        choice = Choice(picked.get("card") or "", picked.get("from"), picked.get("to"))
        return cls(choice, picked.get("ply"), picked.get("ask") or "")


class Scene:
    """What is not for this reader's eyes is never put in: a partial can be asked for by name."""

    def __init__(self, game: Game, user: Any, now: datetime, wanted: Wanted) -> None:
        self.game, self.now = game, now
        self.me = game.seat_of(user.pk)
        self.viewer = Colour(self.me.colour if self.me else "b")
        self.ply = game.plies + 1
        self.position = game.current
        self.record = played(game)
        self.confirm: bool = getattr(user, "confirm_moves", True)
        self.late = play.is_lost(game, now)
        self.on_away_time = away.in_use(game)
        self.can_move = (
            self.me is not None
            and not game.is_over
            and not self.late
            and game.turn == self.me.colour
        )
        # A choice made on another position is no choice in this one.
        fits = wanted.ply in (None, self.ply)
        choice = wanted.choice if fits and self.can_move else Choice()
        self.ask = self._ask(wanted.ask)
        self.board = board.choose(
            self.position,
            self.viewer,
            self.record[-1].action if self.record else None,
            legal=self.position.legal_moves() if self.can_move and not self.ask else (),
            choice=choice,
            ply=self.ply,
            confirm=self.confirm,
        )
        self.choice = self.board.choice

    def _ask(self, ask: str) -> str:
        if self.me is None or self.game.is_over or self.late:
            return ""
        if ask == "abort" and not play.can_abort(self.game):
            return ""
        return ask

    # --- the two sides ----------------------------------------------------------------------

    def side(self, colour: Colour) -> Side:
        seat, game = self.game.seat(colour), self.game
        to_move = not game.is_over and game.turn == colour
        left = None if game.is_over else seat.left(self.now)
        last = self.record[-1] if self.record else None
        until = None if game.is_over else away.until(seat.player, self.now)
        return Side(
            seat=seat,
            is_reader=seat == self.me,
            to_move=to_move,
            left=left,
            urgent=to_move and left is not None and left < wording.URGENT,
            out_of_time=to_move and self.late,
            last=last if last is not None and last.mover is colour else None,
            away=wording.away_until(until, self.now) if until else "",
            on_away_time=to_move and self.on_away_time,
        )

    def name(self, colour: Colour) -> str:
        return self.side(colour).name

    # --- words ------------------------------------------------------------------------------

    def panel(self) -> Panel:
        game = self.game
        if game.is_over:
            return Panel(self._result(), self._termination())
        if self.late:
            return Panel(_("Out of time"), self._out_of_time())
        if self.ask:
            return self._asked()
        if self.can_move:
            return self._my_turn()
        return self._their_turn()

    def _out_of_time(self) -> str:
        if self.side(Colour(self.game.turn)).is_reader:
            return _("You have no time left. The game is being ended.")
        name = self.game.seat(self.game.turn).player.shown_name
        return _("%(name)s has no time left. The game is being ended.") % {"name": name}

    def _asked(self) -> Panel:
        if self.ask == "abort":
            return Panel(
                _("Abort this game?"),
                _("It ends at once, without a winner, and stays visible."),
            )
        assert self.me is not None  # noqa: S101  # only a player is asked
        return Panel(
            _("Resign this game?"),
            _("%(name)s wins at once. It cannot be taken back.")
            % {"name": self.me.opponent.shown_name},
        )

    def _their_turn(self) -> Panel:
        mover = self.game.seat(self.game.turn)
        name = mover.player.shown_name
        if self.me is None:
            title = _("Red to move") if mover.colour == "r" else _("Blue to move")
            return Panel(title, _("It is the turn of %(name)s.") % {"name": name})
        title = _("Waiting for %(name)s") % {"name": name}
        if mover.player.is_engine:
            return Panel(title, _("The computer answers within seconds."))
        if self.offer() == "theirs":
            return Panel(title, "")
        if self.on_away_time:
            text = _("Time ran out for %(name)s, whose away time is used hour by hour.")
            return Panel(title, text % {"name": name})
        return Panel(title, _("There is nothing to do until then."))

    def _my_turn(self) -> Panel:
        view = self.board
        if view.passing:
            return Panel(_("You must pass"), self._passing())
        if view.sends is not None:
            return Panel(_("Your move"), self._ready(view.sends))
        if view.asks:
            target = square_name(view.asks[0].target)
            return Panel(
                _("Which card?"), _("Both of your cards reach %(square)s.") % {"square": target}
            )
        return Panel(_("Your move"), self._next_step(view.choice))

    def _passing(self) -> str:
        side = card_name(self.position.side_card)
        if self.board.sends is None:
            return _(
                "Neither of your cards moves any piece. Choose the card to exchange for %(side)s."
            ) % {"side": side}
        return _(
            "%(card)s goes to the side, %(side)s comes to you. Press once more to send it."
        ) % {
            "card": card_name(self.board.sends.card),
            "side": side,
        }

    def _ready(self, action: Action) -> str:
        if isinstance(action, Pass):
            return ""
        digits = self.position.board
        said = {
            "card": card_name(action.card),
            "piece": _("master") if digits[action.origin] in _MASTERS else _("student"),
            "origin": square_name(action.origin),
            "target": square_name(action.target),
        }
        taken = digits[action.target]
        if taken == "0":
            text = _("%(card)s, %(piece)s %(origin)s to %(target)s.")
        elif taken in _MASTERS:
            text = _("%(card)s, %(piece)s %(origin)s takes the master on %(target)s.")
        else:
            text = _("%(card)s, %(piece)s %(origin)s takes the student on %(target)s.")
        return text % said + " " + _("Press once more to send it.")

    def _next_step(self, choice: Choice) -> str:
        if choice.origin is not None:
            square = square_name(choice.origin)
            return _("Choose where the piece on %(square)s goes.") % {"square": square}
        if choice.card:
            return _("Choose the piece that %(card)s moves.") % {"card": card_name(choice.card)}
        if self.on_away_time and self.me is not None:
            said = {"left": wording.hours(away.left(self.me, self.now))}
            return _("Your time ran out. Away time is used: %(left)s more for this game.") % said
        return _("Choose a card or a piece.")

    def _result(self) -> str:
        game, me = self.game, self.me
        if game.termination == Game.Termination.ABORTED:
            return _("Game aborted")
        if not game.winner:
            return _("Draw")
        if me is None:
            return _("Blue won") if game.winner == "b" else _("Red won")
        return _("You won") if me.colour == game.winner else _("You lost")

    def _termination(self) -> str:
        game = self.game
        last = str(self.record[-1]) if self.record else ""
        loser = self.side(Colour(game.winner).other) if game.winner else None
        name = loser.seat.player.shown_name if loser else ""
        you = loser is not None and loser.is_reader
        texts = {
            Game.Termination.STONE: _("By the Way of the Stone: %(last)s took the master."),
            Game.Termination.STREAM: _("By the Way of the Stream: %(last)s reached the temple."),
            Game.Termination.RESIGNATION: _("You resigned.") if you else _("%(loser)s resigned."),
            Game.Termination.TIME: _("You ran out of time.")
            if you
            else _("%(loser)s ran out of time."),
            Game.Termination.AGREEMENT: _("Both agreed to a draw."),
            Game.Termination.REPETITION: _("The same position came up for the third time."),
            Game.Termination.ABORTED: self._aborted(),
        }
        return texts[Game.Termination(game.termination)] % {"last": last, "loser": name}

    def _aborted(self) -> str:
        """Once both have moved, only because the player to move ran out of time."""
        if self.game.plies < 2:
            return _("It ended without a winner.")
        if self.me is not None and self.me.colour == self.game.turn:
            return _("You ran out of time. The game counts for nobody.")
        name = self.game.seat(self.game.turn).player.shown_name
        return _("%(name)s ran out of time. The game counts for nobody.") % {"name": name}

    def status(self, panel: Panel, message: str) -> str:
        """What a screen reader is told of a change."""
        title = panel.title if panel.title.endswith("?") else panel.title + "."
        parts = [message, title, panel.text]
        if self.record and not self.choice and not self.ask and not self.game.is_over:
            last = self.record[-1]
            said = {"name": self.name(last.mover), "deed": last.sentence}
            parts.insert(1, _("%(name)s %(deed)s.") % said)
        if self.me is not None and self.offer() == "theirs":
            parts.append(_("%(name)s offers a draw.") % {"name": self.me.opponent.shown_name})
        if self.offer() == "declined" and not self.choice and not self.ask:
            parts.append(_("Your draw offer was declined."))
        return " ".join(filter(None, parts))

    def rows(self) -> list[tuple[int, Sequence[Played]]]:
        """The record by numbers: the starter's ply, then the other's."""
        return [(i // 2 + 1, self.record[i : i + 2]) for i in range(0, len(self.record), 2)]

    def offer(self) -> str:
        """A draw offer from the reader's side: "mine" or "theirs", which stands; "declined", which
        was theirs to answer and can't be made again yet; or none."""
        game, me = self.game, self.me
        if me is None or game.is_over or self.late:
            return ""
        if game.draw_offer:
            return "mine" if game.draw_offer == me.colour else "theirs"
        return "" if play.can_offer_draw(game, me) else "declined"
