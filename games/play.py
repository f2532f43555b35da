"""What can be done to a game: start it, move, resign, offer and answer a draw, abort, flag it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from random import SystemRandom

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.translation import gettext as _

from accounts.models import User
from games import absence, away, away_hours, notices, reminders
from games.clock import TimeControl
from games.models import Game, Heartbeat, Kind, Ply, Seat
from games.onitama.cards import Colour, deal
from games.onitama.position import Action, IllegalMove, Position, parse_move

# A heartbeat older than this means that the site was away.
OUTAGE = timedelta(minutes=10)
REPETITIONS = 3


class Refused(Exception):
    """A deed that cannot be done; str() is for the player to read."""

    def __str__(self) -> str:
        return _("That cannot be done.")


class NotYourGame(Refused):
    def __str__(self) -> str:
        return _("Only the two players can do that.")


class NotYourTurn(Refused):
    def __str__(self) -> str:
        return _("It is not your turn.")


class StaleGame(Refused):
    def __str__(self) -> str:
        return _("The game has moved on. This is how it stands now.")


class GameOver(Refused):
    def __str__(self) -> str:
        return _("The game is over.")


class IllegalAction(Refused):
    def __str__(self) -> str:
        return _("That move is not legal here.")


class NoOffer(Refused):
    def __str__(self) -> str:
        return _("There is no draw offer to answer.")


class OfferedAlready(Refused):
    def __str__(self) -> str:
        return _("You can offer a draw once between two moves of yours.")


class TooLateToAbort(Refused):
    def __str__(self) -> str:
        return _("Both have moved: the game can be resigned, not aborted.")


# --- starting -------------------------------------------------------------------------------


def start(
    blue: User,
    red: User,
    *,
    deck: str,
    control: TimeControl | None,
    private: bool,
    now: datetime,
) -> Game:
    """Deal the cards and begin; the caller holds the transaction."""
    cards = deal(deck, SystemRandom())
    position = Position.start(cards)
    game = Game(
        deck=deck,
        cards=",".join(cards),
        first=position.turn,
        private=private,
        position=str(position),
        turn=position.turn,
        created=now,
        turn_began=now,
    )
    game.control = control
    game.save()
    game.sides = [
        Seat.objects.create(
            game=game,
            player=player,
            colour=colour,
            bank=control and control.bank,
            opponent=opponent,
            opponent_kind=opponent.kind,
        )
        for colour, player, opponent in (("b", blue, red), ("r", red, blue))
    ]
    _begin_turn(game, now)
    game.save(update_fields=_TURN_FIELDS)
    return game


_TURN_FIELDS = (
    "turn_began",
    "deadline",
    "next_reminder",
    "outage",
    "engine_due",
    "engine_tries",
    "engine_nudges",
)


def _begin_turn(game: Game, now: datetime) -> None:
    """The player to move gets the clock, and is told; the computer is asked for its move."""
    seat = game.seat(game.turn)
    game.turn_began, game.outage = now, None
    game.deadline = now + seat.bank if seat.bank is not None else None
    reminders.set_next(game, seat.player.reminder_hours, now)
    game.engine_due = now if seat.player.is_engine else None
    game.engine_tries = game.engine_nudges = 0
    ply = game.plies + 1
    notices.tell(
        seat.player,
        Kind.TURN,
        f"turn:g{game.pk}:p{ply}",
        now=now,
        game=game,
        ply=ply,
        wait=notices.patience(seat.player, seat.opponent, now),
    )


# --- time -----------------------------------------------------------------------------------


def settle(game_id: int, now: datetime) -> None:
    """Make the game what it is as of now: what the sweep does, and each deed that finds it due.

    The hours of away time come first, then the flag. Locks in one order, the player and then
    the games by their numbers: so never called while a game is locked.
    """
    # Asked first: of many games due in one hour the settling of one has put off all.
    due = Seat.objects.filter(game=game_id, game__deadline__lte=now, colour=F("game__turn"))
    mover = due.values_list("player", flat=True).first()
    if mover is None:
        return
    with transaction.atomic():
        player = User.objects.select_for_update(no_key=True).get(pk=mover)
        until = _deadlines_count_until(now)
        soon = Game.objects.running().filter(
            seats__player=player, seats__colour=F("turn"), deadline__lt=until + away.HOUR
        )
        games = list(soon.select_for_update(of=("self",)).order_by("pk"))
        away_hours.put_off(player, games, until, now)
        for game in games:
            # Of the others each is flagged by its own settling: what fails holds up no other.
            if game.pk == game_id and game.out_of_time(until):
                _flag(game, now)


def time_is_up(game: Game, now: datetime) -> bool:
    """Out of time, and not through an outage of the site that the sweep has yet to see."""
    return game.out_of_time(now) and game.out_of_time(_deadlines_count_until(now))


def is_lost(game: Game, now: datetime) -> bool:
    """Whether settling would flag it: out of time, and no away time to go on by."""
    return time_is_up(game, now) and not away.covers(game, now)


def _deadlines_count_until(now: datetime) -> datetime:
    """Now; or the last heartbeat, where it is so old that the site must have been away."""
    heartbeat = Heartbeat.objects.values_list("at", flat=True).first()
    return heartbeat if heartbeat and now - heartbeat > OUTAGE else now


def _flag(game: Game, now: datetime) -> None:
    loser = Colour(game.turn)
    wanted = game.seat(loser.other).player.out_of_time
    if _has_moved(game, loser) and wanted == User.OutOfTime.WIN:
        _end(game, Game.Termination.TIME, winner=loser.other, by=None, now=now)
        absence.tell_others(game.seat(loser).player, now)
    else:
        _end(game, Game.Termination.ABORTED, winner=None, by=None, now=now)


def _has_moved(game: Game, colour: Colour) -> bool:
    return game.plies >= (1 if colour == game.first else 2)


# --- the frame of a deed --------------------------------------------------------------------


@contextmanager
def _deed(game_id: int, player: User, now: datetime) -> Iterator[tuple[Game, Seat]]:
    """The running game, settled and then locked, with the player's seat, in a transaction."""
    while True:
        with transaction.atomic():
            game = _locked(game_id)
            seat = game.seat_of(player.pk)
            if seat is None:
                raise NotYourGame
            if game.is_over:
                raise GameOver
            if not time_is_up(game, now):
                # Whoever does something in the game has seen what was to be told of it so far.
                notices.see(player, game, now=now)
                yield game, seat
                return
        # In a transaction of its own: refusing the deed must not undo it, and it locks the
        # player's row before the game's.
        settle(game_id, now)


def _locked(game_id: int) -> Game:
    return Game.objects.select_for_update().get(pk=game_id)


def _save(game: Game, *fields: str) -> Game:
    game.version += 1
    game.save(update_fields=["version", *fields])
    return game


# --- moving ---------------------------------------------------------------------------------


def play_move(game_id: int, player: User, ply: int, action: Action, *, now: datetime) -> Game:
    """Play ply number `ply`, which must be the one awaited: else the answer is StaleGame."""
    with _deed(game_id, player, now) as (game, seat):
        if ply != game.plies + 1:
            raise StaleGame
        if seat.colour != game.turn:
            raise NotYourTurn
        before = game.current
        try:
            after = before.play(action)
        except IllegalMove:
            raise IllegalAction from None
        _write_ply(game, ply, action, now)
        _stop_clock(game, seat, now)
        if seat.away_hours:
            notices.withdraw(game, (Kind.AWAY,), now=now)
        if game.draw_offer == Colour(seat.colour).other:
            game.draw_offer = ""
        game.position, game.turn, game.plies = str(after), after.turn, ply
        _after_ply(game, player, after, now)
    return game


def _write_ply(game: Game, number: int, action: Action, now: datetime) -> None:
    try:
        Ply.objects.create(game=game, number=number, action=str(action), played=now)
    except IntegrityError:
        raise StaleGame from None


def _stop_clock(game: Game, seat: Seat, now: datetime) -> None:
    control = game.control
    if control is None or game.deadline is None:
        return
    if game.out_of_time(now):
        game.spared = True
    seat.bank = control.bank_after_move(game.deadline - now)
    seat.save(update_fields=["bank"])


def _after_ply(game: Game, player: User, position: Position, now: datetime) -> None:
    fields = ("position", "turn", "plies", "draw_offer", "spared")
    outcome = position.outcome()
    if outcome is not None:
        termination = Game.Termination(outcome.termination)
        _end(game, termination, winner=outcome.winner, by=player, now=now, changed=fields)
    elif _repeated(game, position):
        repetition = Game.Termination.REPETITION
        _end(game, repetition, winner=None, by=player, now=now, changed=fields)
    else:
        _begin_turn(game, now)
        _save(game, *fields, *_TURN_FIELDS)


def positions(game: Game) -> list[Position]:
    """Every position of the game, the starting one first, from its record."""
    result = [game.start]
    for token in game.told.values_list("action", flat=True):
        result.append(result[-1].after(parse_move(token)))
    return result


def _repeated(game: Game, position: Position) -> bool:
    # A third occurrence lies at least eight plies in: two rounds of four to come back.
    return game.plies >= 8 and Counter(positions(game))[position] >= REPETITIONS


# --- ending ---------------------------------------------------------------------------------


def _end(
    game: Game,
    termination: Game.Termination,
    *,
    winner: Colour | None,
    by: User | None,
    now: datetime,
    changed: tuple[str, ...] = (),
) -> None:
    """End the game and tell everybody but `by`, whose deed it was."""
    game.status, game.termination = Game.Status.OVER, termination
    game.winner, game.ended = winner or "", now
    game.deadline = game.next_reminder = game.engine_due = None
    game.draw_offer = ""
    ending = ("status", "termination", "winner", "ended", "deadline", "next_reminder")
    _save(game, *{*changed, *ending, "engine_due", "draw_offer"})
    notices.withdraw(game, (Kind.TURN, Kind.REMINDER, Kind.DRAW, Kind.AWAY), now=now)
    for seat in game.sides:
        _end_seat(game, seat, now)
        if by is None or seat.player_id != by.pk:
            wait = notices.patience(seat.player, seat.opponent, now)
            key = f"over:g{game.pk}"
            notices.tell(seat.player, Kind.OVER, key, now=now, game=game, wait=wait)


def _end_seat(game: Game, seat: Seat, now: datetime) -> None:
    if game.winner:
        seat.result = Seat.Result.WON if seat.colour == game.winner else Seat.Result.LOST
    elif game.termination == Game.Termination.ABORTED:
        seat.result = Seat.Result.ABORTED
    else:
        seat.result = Seat.Result.DRAW
    seat.termination, seat.plies, seat.ended = game.termination, game.plies, now
    seat.save(update_fields=["result", "termination", "plies", "ended"])


def resign(game_id: int, player: User, *, now: datetime) -> Game:
    with _deed(game_id, player, now) as (game, seat):
        winner = Colour(seat.colour).other
        _end(game, Game.Termination.RESIGNATION, winner=winner, by=player, now=now)
    return game


def can_abort(game: Game) -> bool:
    """Until both have made one move."""
    return not game.is_over and game.plies < 2


def abort(game_id: int, player: User, *, now: datetime) -> Game:
    with _deed(game_id, player, now) as (game, _seat):
        if not can_abort(game):
            raise TooLateToAbort
        _end(game, Game.Termination.ABORTED, winner=None, by=player, now=now)
    return game


# --- draws ----------------------------------------------------------------------------------


def can_offer_draw(game: Game, seat: Seat) -> bool:
    """Once between own moves, while no offer stands."""
    if game.is_over or game.draw_offer:
        return False
    parity = 1 if seat.colour == game.first else 0
    own_last = game.plies if game.plies % 2 == parity else max(game.plies - 1, 0)
    return seat.offered_at_ply is None or seat.offered_at_ply < own_last


def offer_draw(game_id: int, player: User, ply: int, *, now: datetime) -> Game:
    """Offer a draw while ply number `ply` is awaited; the computer declines on the spot."""
    with _deed(game_id, player, now) as (game, seat):
        if ply != game.plies + 1:
            raise StaleGame
        if not can_offer_draw(game, seat):
            raise OfferedAlready
        seat.offered_at_ply = game.plies
        seat.save(update_fields=["offered_at_ply"])
        game.draw_offers += 1
        if not seat.opponent.is_engine:
            game.draw_offer = seat.colour
            notices.tell(
                seat.opponent,
                Kind.DRAW,
                f"draw:g{game.pk}:o{game.draw_offers}",
                now=now,
                game=game,
                wait=notices.patience(seat.opponent, player, now),
            )
        _save(game, "draw_offer", "draw_offers")
    return game


@contextmanager
def _answer(game_id: int, player: User, ply: int, now: datetime) -> Iterator[Game]:
    with _deed(game_id, player, now) as (game, seat):
        if ply != game.plies + 1:
            raise StaleGame
        if game.draw_offer != Colour(seat.colour).other:
            raise NoOffer
        yield game


def accept_draw(game_id: int, player: User, ply: int, *, now: datetime) -> Game:
    with _answer(game_id, player, ply, now) as game:
        _end(game, Game.Termination.AGREEMENT, winner=None, by=player, now=now)
    return game


def decline_draw(game_id: int, player: User, ply: int, *, now: datetime) -> Game:
    with _answer(game_id, player, ply, now) as game:
        game.draw_offer = ""
        _save(game, "draw_offer")
    return game
