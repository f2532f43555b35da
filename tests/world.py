"""Plain builders of the people and games that tests are about; deeds go through games.play."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import TypeVar
from unittest.mock import Mock, patch

from allauth.account.models import EmailAddress
from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from accounts.models import User
from games import notices, play
from games.clock import PRESETS, TimeControl
from games.models import Deck, Game, Ply, Seat, Side, Subscription
from games.onitama.cards import DECKS, Colour, Deal
from games.onitama.position import Position, parse_move
from games.strengths import LADDER, Match

# Blue begins. Short games under this deal, one for each ending that the board alone brings.
DEAL: Deal = ("tiger", "crab", "mantis", "crane", "ox")
BLUE_BY_STONE = ("crab:b1b2", "mantis:c5b4", "tiger:b2b4")
RED_BY_STONE = ("crab:a1a2", "crane:b5b4", "tiger:c1c3", "mantis:b4c3")
BLUE_BY_STREAM = ("crab:c1c2", "crane:a5a4", "ox:c2c3", "crab:c5c4", "tiger:c3c5")
RED_BY_STREAM = (
    *("crab:a1a2", "crane:c5c4", "tiger:b1b3"),
    *("crab:c4c3", "crane:c1c2", "tiger:c3c1"),
)
_ROUND = (
    *("crab:a1a2", "mantis:a5b4", "ox:a2a1", "crane:b4a5"),
    *("mantis:a1b2", "crab:a5a4", "crane:b2a1", "ox:a4a5"),
)
REPETITION = (*_ROUND, *_ROUND)
# Red begins under this one, and Blue must pass in the end.
PASS_DEAL: Deal = ("crane", "giraffe", "dog", "sheep", "frog")
FORCED_PASS = (
    *("sheep:b5c4", "giraffe:c1a2", "dog:c4d3", "crane:e1e2"),
    *("frog:d3e2", "sheep:d1e1", "crane:e2e1", "dog:pass"),
)
CONTROL = PRESETS["3+1"]
# Levels that are offered no more; the first needs no time to think.
OLD_LEVELS = ("random", "two-ply", "four-ply")
PASSWORD = "correct horse battery"

Row = TypeVar("Row", bound=Model)


# --- players --------------------------------------------------------------------------------


def person(
    name: str, *, password: str | None = None, confirmed: bool = True, away: bool = True
) -> User:
    """Somebody with an account at <name>@example.org; without a password only force_login works.

    Hashing one costs a tenth of a second: give PASSWORD where the test types it. With away=False
    no away time is used: where the clock runs out, the flag falls.
    """
    user: User = User.objects.create_user(
        name, f"{name.lower()}@example.org", password, away_on=away
    )
    EmailAddress.objects.create(user=user, email=user.email, verified=confirmed, primary=True)
    return user


def guest(name: str = "guest-0a1b2c3d") -> User:
    user: User = User.objects.create_user(name, kind=User.Kind.GUEST)
    return user


def level(name: str = "random") -> User:
    user: User = User.objects.get(username=name, kind=User.Kind.ENGINE)
    return user


def subscription(player: User, kind: str) -> Subscription:
    """The row of that kind, with the token that its mails carry."""
    row, _made = Subscription.objects.get_or_create(player=player, kind=kind)
    return row


def wanted(player: User) -> list[str]:
    """The kinds of notice that the player wants by mail."""
    told = notices.channels(player)
    return [kind for kind, (_site, by_mail, _push) in told.items() if by_mail]


# --- the belts ------------------------------------------------------------------------------


def measured() -> tuple[Match, ...]:
    """Matches that make a ladder of equal steps, and one against an old level."""
    played = date(2026, 12, 1)
    command = "python manage.py engine_match {} {} --games 200"
    pairs = [*pairwise(LADDER), ("random", "white-belt")]
    return tuple(
        Match(upper, lower, 140, 20, 40, 130, 250, command.format(upper, lower), played)
        for lower, upper in pairs
    )


# --- games ----------------------------------------------------------------------------------


def running(
    blue: User,
    red: User,
    actions: Iterable[str] = (),
    *,
    deal: Deal = DEAL,
    first: Colour | None = None,
    control: TimeControl | None = CONTROL,
    private: bool = False,
    now: datetime | None = None,
) -> Game:
    """A game under a known deal, these plies played; the stamp says who began unless `first` does.

    Against a level give control=None, as the site does.
    """
    deck = Deck.BASE if set(deal) <= set(DECKS["base"]) else Deck.ALL34
    start = Position.start(deal, first)
    known = patch.multiple(play, deal=lambda *_: deal, Position=Mock(start=lambda _deal: start))
    now = now or timezone.now()
    with known, transaction.atomic():
        game = play.start(blue, red, deck=deck, control=control, private=private, now=now)
    return played(game, actions, now=now)


def played(game: Game, actions: Iterable[str], *, now: datetime | None = None) -> Game:
    """The same game after these plies, each made by whoever is to move."""
    for action in actions:
        mover = Game.objects.get(pk=game.pk).seat(game.turn).player
        game = play.play_move(
            game.pk, mover, game.plies + 1, parse_move(action), now=now or timezone.now()
        )
    return fresh(game)


def finished(
    blue: User,
    red: User,
    actions: Iterable[str] = BLUE_BY_STREAM,
    *,
    control: TimeControl | None = CONTROL,
    private: bool = False,
    now: datetime | None = None,
) -> Game:
    """A game that these plies end on the board."""
    game = running(blue, red, actions, control=control, private=private, now=now)
    assert game.is_over, "these plies end no game"
    return game


def against_level(
    player: User,
    name: str = "random",
    *,
    colour: str = Side.BLUE,
    actions: Iterable[str] = (),
    now: datetime | None = None,
) -> Game:
    """A game of the player, on this side, against the computer; nobody but you moves in it."""
    seats = (player, level(name)) if colour == Side.BLUE else (level(name), player)
    return running(*seats, actions, control=None, now=now)


def fresh(game: Game) -> Game:
    """The row as it stands now."""
    return Game.objects.get(pk=game.pk)


def copies(game: Game, count: int, *, apart: timedelta = timedelta(minutes=1)) -> list[Game]:
    """So many more games like this one, each that much older; rows alone, without notices."""
    seats, plies = list(game.seats.all()), list(game.record.all())
    games = Game.objects.bulk_create(_aged(game, apart * n) for n in range(1, count + 1))
    Seat.objects.bulk_create(
        _copy(seat, game=new, ended=new.ended) for new in games for seat in seats
    )
    Ply.objects.bulk_create(_copy(ply, game=new) for new in games for ply in plies)
    return games


def _aged(game: Game, age: timedelta) -> Game:
    times = ("created", "turn_began", "ended", "deadline")
    return _copy(game, **{name: (at := getattr(game, name)) and at - age for name in times})


def _copy(row: Row, **changes: object) -> Row:
    """An unsaved row with the same values but its key, and the changes."""
    fields = [field.attname for field in row._meta.concrete_fields if not field.primary_key]
    new = type(row)(**{name: getattr(row, name) for name in fields})
    for name, value in changes.items():
        setattr(new, name, value)
    return new
