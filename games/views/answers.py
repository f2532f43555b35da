"""What views of every family need: who asks, for which game, and where a post leads."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.views.decorators.cache import cache_control

from accounts.middleware import Request
from accounts.models import User
from games.models import Game, Seat

# What one reader was shown is shown to nobody else, and asked for anew each time.
never_stored = cache_control(private=True, no_cache=True)


class SeeOther(HttpResponseRedirect):
    """After a deed: get that page instead of repeating the post. Takes what redirect() takes."""

    status_code = 303

    def __init__(self, to: str, *args: object) -> None:
        super().__init__(resolve_url(to, *args))


def reader(request: Request) -> User:
    """The player who asks, in a view that login_required or a check of its own guards."""
    user = request.user
    if not user.is_authenticated:
        raise PermissionDenied
    return user


def visible_game(request: Request, pk: int) -> Game:
    """The game with its seats; to others than its players a private one does not exist."""
    game = _with_seats(pk)
    if game is None or (game.private and game.seat_of(request.user.pk) is None):
        raise Http404
    return game


def _with_seats(pk: int) -> Game | None:
    """One query for what Game.sides would ask for in a second one; two rows need no ORDER BY."""
    # By game__pk, which finds nothing for a number that no column holds; by game it is an error.
    seats = list(Seat.objects.filter(game__pk=pk).select_related("game", "player"))
    if not seats:
        return None
    blue, red = sorted(seats, key=lambda seat: seat.colour)
    blue.opponent, red.opponent = red.player, blue.player
    game = red.game = blue.game
    game.sides = [blue, red]
    return game
