"""A notice of every kind, with rows as play makes them, for tests of what is written from it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils import timezone

from accounts.models import User
from games import challenges, play
from games.models import Challenge, Game, Kind, Notice, Outage, Seat
from tests.world import (
    BLUE_BY_STONE,
    BLUE_BY_STREAM,
    CONTROL,
    REPETITION,
    against_level,
    finished,
    fresh,
    running,
)


def notice(
    player: User,
    kind: str,
    key: str,
    *,
    game: Game | None = None,
    challenge: Challenge | None = None,
    ply: int | None = None,
) -> Notice:
    """The row, of the players as they are now; the one there is where play has written it."""
    game = game and fresh(game)
    now = timezone.now()
    row, _made = Notice.objects.update_or_create(
        player=player,
        key=key,
        defaults={
            "kind": kind,
            "game": game,
            "challenge": challenge,
            "ply": ply,
            "created": now,
            "not_before": now,
        },
    )
    return Notice.objects.select_related("player", "game", "challenge").get(pk=row.pk)


def ask(alice: User, bob: User) -> Challenge:
    """A new one, whatever the limits say of earlier ones."""
    Challenge.objects.filter(challenger=alice, challenged=bob).delete()
    return challenges.challenge(
        alice,
        bob,
        control=CONTROL,
        colour="",
        deck="base",
        private=False,
        now=timezone.now(),
    )


def turn(alice: User, bob: User) -> Notice:
    game = running(alice, bob, BLUE_BY_STREAM[:1])
    return notice(bob, Kind.TURN, f"turn:g{game.pk}:p2", game=game, ply=2)


def first_turn(alice: User, bob: User) -> Notice:
    game = running(bob, alice)
    return notice(bob, Kind.TURN, f"turn:g{game.pk}:p1", game=game, ply=1)


def turn_against_computer(alice: User, bob: User) -> Notice:
    game = against_level(bob, actions=BLUE_BY_STONE[:2])
    return notice(bob, Kind.TURN, f"turn:g{game.pk}:p3", game=game, ply=3)


def reminder(alice: User, bob: User) -> Notice:
    game = turn(alice, bob).game
    assert game is not None
    return notice(bob, Kind.REMINDER, f"reminder:g{game.pk}:p2:24h", game=game, ply=2)


def last_hours(alice: User, bob: User) -> Notice:
    """168 hours a game, of which 144 are used."""
    game = turn(alice, bob).game
    assert game is not None
    Seat.objects.filter(game=game, player=bob).update(away_hours=144)
    return notice(bob, Kind.REMINDER, f"reminder:g{game.pk}:p2:away24", game=game, ply=2)


def my_away_time(alice: User, bob: User) -> Notice:
    game = turn(alice, bob).game
    assert game is not None
    Seat.objects.filter(game=game, player=bob).update(away_hours=1)
    return notice(bob, Kind.AWAY, f"away:g{game.pk}:p2", game=game, ply=2)


def their_away_time(alice: User, bob: User) -> Notice:
    game = running(alice, bob, BLUE_BY_STREAM[:2])
    return notice(bob, Kind.AWAY, f"away:g{game.pk}:p3", game=game, ply=3)


def draw(alice: User, bob: User) -> Notice:
    game = running(alice, bob, REPETITION[:3])
    play.offer_draw(game.pk, alice, 4, now=timezone.now())
    return notice(bob, Kind.DRAW, f"draw:g{game.pk}:o1", game=game)


def over(alice: User, bob: User) -> Notice:
    game = finished(alice, bob)
    return notice(bob, Kind.OVER, f"over:g{game.pk}", game=game)


def lost_on_time(alice: User, bob: User, *, now: datetime | None = None) -> Notice:
    """Both have moved, and bob has no away time that would save him."""
    User.objects.filter(pk=bob.pk).update(away_on=False)
    now = now or timezone.now()
    game = running(alice, bob, BLUE_BY_STREAM[:3], now=now - timedelta(days=10))
    play.settle(game.pk, now)
    return notice(bob, Kind.OVER, f"over:g{game.pk}", game=game)


def challenged(alice: User, bob: User) -> Notice:
    row = ask(alice, bob)
    return notice(bob, Kind.CHALLENGE, f"challenge:c{row.pk}:received", challenge=row)


def accepted(alice: User, bob: User) -> Notice:
    row = ask(bob, alice)
    game = challenges.accept(row.pk, alice, now=timezone.now())
    row.refresh_from_db()
    return notice(bob, Kind.CHALLENGE, f"challenge:c{row.pk}:accepted", challenge=row, game=game)


def declined(alice: User, bob: User) -> Notice:
    row = challenges.decline(ask(bob, alice).pk, alice, "busy", now=timezone.now())
    return notice(bob, Kind.CHALLENGE, f"challenge:c{row.pk}:declined", challenge=row)


def waits(alice: User, bob: User) -> Notice:
    row = ask(bob, alice)
    return notice(bob, Kind.CHALLENGE, f"challenge:c{row.pk}:waits", challenge=row)


def outage(alice: User, bob: User) -> Notice:
    game, now = turn(alice, bob).game, timezone.now()
    assert game is not None
    row = Outage.objects.create(began=now - timedelta(hours=3), ended=now)
    Game.objects.filter(pk=game.pk).update(outage=row)
    return notice(bob, Kind.OUTAGE, f"outage:o{row.pk}")


def digest(alice: User, bob: User) -> Notice:
    turn(alice, bob)
    running(alice, bob)
    ask(alice, bob)
    return notice(bob, Kind.DIGEST, "digest:2026-12-01")


def a_test(alice: User, bob: User) -> Notice:
    return notice(bob, Notice.TEST, "test:mail:1")


# All of them are for bob.
NOTICES: dict[str, Callable[[User, User], Notice]] = {
    "turn": turn,
    "first turn": first_turn,
    "turn against the computer": turn_against_computer,
    "reminder": reminder,
    "last hours of away time": last_hours,
    "my away time": my_away_time,
    "their away time": their_away_time,
    "draw": draw,
    "over": over,
    "lost on time": lost_on_time,
    "challenged": challenged,
    "accepted": accepted,
    "declined": declined,
    "waits": waits,
    "outage": outage,
    "digest": digest,
    "test": a_test,
}
