"""What views of every family need: who asks, for which game, and where a post leads."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.views.decorators.cache import cache_control

from accounts.middleware import Request
from accounts.models import User
from games.models import Game, Seat, facing

View = Callable[..., HttpResponse]

# What one reader was shown is shown to nobody else, and asked for anew each time.
never_stored = cache_control(private=True, no_cache=True)


class SeeOther(HttpResponseRedirect):
    """After a deed: get that page instead of repeating the post. Takes what redirect() takes."""

    status_code = 303

    def __init__(self, to: str, *args: object) -> None:
        super().__init__(resolve_url(to, *args))


def login_leads_to(page: str) -> Callable[[View], View]:
    """As login_required, for a deed that nobody can look at: to the page with its button."""

    def guard(view: View) -> View:
        @wraps(view)
        def guarded(request: Request, *args: object, **kwargs: object) -> HttpResponse:
            if request.user.is_authenticated:
                return view(request, *args, **kwargs)
            return redirect_to_login(reverse(page))

        return guarded

    return guard


def reader(request: Request) -> User:
    """The player who asks, in a view that login_required or a check of its own guards."""
    user = request.user
    if not user.is_authenticated:
        raise PermissionDenied
    return user


def person(request: Request) -> User:
    """As reader(), for what guests do not have: they are refused."""
    player = reader(request)
    if not player.is_person:
        raise PermissionDenied
    return player


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
    game = seats[0].game = seats[1].game
    game.sides = facing(seats)
    return game
