"""How games come about: against the computer at once, or by a challenge to a named player."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import SystemRandom

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from games import away, notices, play
from games.clock import TimeControl
from games.models import Challenge, Game, Kind, Notice, Side

OPEN_FOR = timedelta(days=14)
# A guest's running games against the computer, and a person's challenges nobody answered yet.
GUEST_GAMES = 3
OPEN_CHALLENGES = 50
# Each challenge is a mail: whoever withdraws and challenges again could flood somebody with them.
TO_ONE_A_DAY = 5
DAY = timedelta(days=1)
COMPUTER_GAMES = 100
# Two starts of the same game within this are one press too many.
ONE_PRESS = timedelta(seconds=2)


class Refused(Exception):
    """A challenge that cannot be made or answered; str() is for the player to read."""

    def __str__(self) -> str:
        return _("That cannot be done.")


class NotYours(Refused):
    def __str__(self) -> str:
        return _("This challenge is not yours to answer.")


class NotOpen(Refused):
    def __str__(self) -> str:
        return _("This challenge is no longer open.")


class Gone(Refused):
    def __str__(self) -> str:
        return _("You have logged in meanwhile. Load the page again, then begin.")


class TooMany(Refused):
    def __str__(self) -> str:
        return str(self.args[0])


class CannotPlay(Refused):
    def __str__(self) -> str:
        return str(self.args[0])


def _lock(player: User) -> None:
    """Makes two presses at once count one after the other.

    Without the key: rows that refer to a player must not wait for this, or two challenges
    across could wait for each other.
    """
    if not User.objects.select_for_update(no_key=True).filter(pk=player.pk):
        raise Gone


def play_computer(player: User, level: str, *, colour: str, deck: str, now: datetime) -> Game:
    """Begin a game against a level at once; no clock, unrated. Colour '' is drawn.

    Raises TooMany for a guest with three running games, or a person with a hundred.
    """
    limit = GUEST_GAMES if player.is_guest else COMPUTER_GAMES
    with transaction.atomic():
        _lock(player)
        if player.seats.filter(result="", opponent_kind=User.Kind.ENGINE).count() >= limit:
            raise TooMany(
                _("You have %(limit)d games running against the computer: end one first.")
                % {"limit": limit}
            )
        engine = User.objects.get(kind=User.Kind.ENGINE, username=level)
        blue, red = _seated(player, engine, colour)
        return play.start(blue, red, deck=deck, control=None, private=False, now=now)


def play_computer_once(player: User, level: str, *, colour: str, deck: str, now: datetime) -> Game:
    """As play_computer(), but the second of two presses gives the game of the first."""
    with transaction.atomic():
        _lock(player)
        begun = Game.objects.running()
        just_begun = begun.filter(
            seats__player=player, seats__opponent__username=level, created__gt=now - ONE_PRESS
        ).first()
        return just_begun or play_computer(player, level, colour=colour, deck=deck, now=now)


def _seated(player: User, opponent: User, colour: str) -> tuple[User, User]:
    """Blue and Red, where `player` asked for a colour, or for either."""
    if (colour or SystemRandom().choice(Side.values)) == Side.BLUE:
        return player, opponent
    return opponent, player


def challenge(
    challenger: User,
    challenged: User,
    *,
    control: TimeControl,
    colour: str,
    deck: str,
    private: bool,
    now: datetime,
) -> Challenge:
    """Ask a person for a game; they are told. Raises CannotPlay or TooMany."""
    _refuse_opponent(challenger, challenged)
    with transaction.atomic():
        _lock(challenger)
        _refuse_too_many(challenger, challenged, now)
        row = Challenge(
            challenger=challenger,
            challenged=challenged,
            colour=colour,
            deck=deck,
            private=private,
            created=now,
            expires=now + OPEN_FOR,
        )
        row.control = control
        row.save()
        notices.tell(
            challenged,
            Kind.CHALLENGE,
            f"challenge:c{row.pk}:received",
            now=now,
            challenge=row,
        )
    return row


def _refuse_opponent(challenger: User, challenged: User) -> None:
    if not challenger.is_person:
        raise CannotPlay(_("Sign up to play against people: a guest plays the computer."))
    if not challenged.is_person or not challenged.is_active:
        raise CannotPlay(_("%(name)s cannot be challenged.") % {"name": challenged.shown_name})
    if challenged.pk == challenger.pk:
        raise CannotPlay(_("You cannot challenge yourself."))


def _refuse_too_many(challenger: User, challenged: User, now: datetime) -> None:
    mine = Challenge.objects.filter(challenger=challenger)
    unanswered = mine.filter(status=Challenge.Status.OPEN, expires__gt=now)
    if unanswered.filter(challenged=challenged).exists():
        text = _("Your last challenge to %(name)s still waits for an answer.")
    elif mine.filter(challenged=challenged, created__gt=now - DAY).count() >= TO_ONE_A_DAY:
        text = _("You have challenged %(name)s often enough for today.")
    elif unanswered.count() >= OPEN_CHALLENGES:
        text = _("Too many challenges of yours wait for an answer already.")
    else:
        return
    raise TooMany(text % {"name": challenged.shown_name})


def _open(challenge_id: int, now: datetime) -> Challenge:
    row = (
        Challenge.objects.select_for_update(of=("self",))
        .select_related("challenger", "challenged")
        .get(pk=challenge_id)
    )
    if not row.is_open(now):
        raise NotOpen
    return row


def _close(row: Challenge, status: Challenge.Status, now: datetime, *fields: str) -> None:
    row.status = status
    row.save(update_fields=["status", *fields])
    _withdraw_notices(Challenge.objects.filter(pk=row.pk), now)


def _withdraw_notices(closed: QuerySet[Challenge], now: datetime) -> None:
    """Nobody is asked any more, nor waits for the answer."""
    asks = Q(key__endswith=":received") | Q(key__endswith=":waits")
    Notice.objects.filter(asks, challenge__in=closed, seen=None, withdrawn=None).update(
        withdrawn=now
    )


def accept(challenge_id: int, player: User, *, now: datetime) -> Game:
    """The challenged player agrees: the cards are dealt and the game begins.

    Raises CannotPlay while either has lost games on time and not come back.
    """
    with transaction.atomic():
        row = _open(challenge_id, now)
        if row.challenged_id != player.pk:
            raise NotYours
        _refuse_closed(row)
        _refuse_absent(row)
        blue, red = _seated(row.challenger, row.challenged, row.colour)
        row.game = play.start(
            blue, red, deck=row.deck, control=row.control, private=row.private, now=now
        )
        _close(row, Challenge.Status.ACCEPTED, now, "game")
        _tell_challenger(row, "accepted", now)
        return row.game


def _refuse_closed(row: Challenge) -> None:
    if not row.challenger.is_active:
        text = _("The account of %(name)s is closed: nobody would play this game with you.")
        raise CannotPlay(text % {"name": row.challenger.shown_name})


def _refuse_absent(row: Challenge) -> None:
    if away.is_absent(row.challenger):
        raise CannotPlay(
            _(
                "%(name)s has lost two games on time and has not been here since."
                " You can accept once they are back."
            )
            % {"name": row.challenger.shown_name}
        )
    if away.is_absent(row.challenged):
        raise CannotPlay(
            _("You had lost two games on time without coming back. Now that you are, accept again.")
        )


def decline(challenge_id: int, player: User, reason: str, *, now: datetime) -> Challenge:
    with transaction.atomic():
        row = _open(challenge_id, now)
        if row.challenged_id != player.pk:
            raise NotYours
        row.reason = Challenge.Reason(reason)
        _close(row, Challenge.Status.DECLINED, now, "reason")
        _tell_challenger(row, "declined", now)
    return row


def withdraw(challenge_id: int, player: User, *, now: datetime) -> Challenge:
    with transaction.atomic():
        row = _open(challenge_id, now)
        if row.challenger_id != player.pk:
            raise NotYours
        _close(row, Challenge.Status.WITHDRAWN, now)
    return row


def _tell_challenger(row: Challenge, answer: str, now: datetime) -> None:
    key = f"challenge:c{row.pk}:{answer}"
    notices.tell(row.challenger, Kind.CHALLENGE, key, now=now, challenge=row, game=row.game)


def expire(now: datetime) -> None:
    """Close the challenges nobody answered in a fortnight."""
    expired = Challenge.objects.filter(status=Challenge.Status.OPEN, expires__lte=now)
    with transaction.atomic():
        _withdraw_notices(expired, now)
        expired.update(status=Challenge.Status.EXPIRED)
