"""The page of one game, the board that it asks for, and what its players do there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Protocol
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from accounts.middleware import Request
from accounts.models import User
from games import notices, play
from games.forms import ChoiceForm, MoveForm, PlyForm
from games.models import Game
from games.views.answers import SeeOther, never_stored, visible_game
from games.views.page import context
from games.views.scene import Scene, Wanted
from games.waking import wake

View = Callable[[Request, int], HttpResponse]


def _player_only(view: View) -> View:
    """Without a login the way leads there, and back to the game."""

    @wraps(view)
    def checked(request: Request, pk: int) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, pk)
        back = reverse("game", args=[pk])
        if request.htmx:
            login = f"{resolve_url(settings.LOGIN_URL)}?{urlencode({'next': back})}"
            return HttpResponseClientRedirect(login)
        return redirect_to_login(back)

    return checked


# --- looking --------------------------------------------------------------------------------


@require_safe
@never_stored
def game(request: Request, pk: int) -> HttpResponse:
    row, now = visible_game(request, pk), timezone.now()
    if request.is_navigation and isinstance(request.user, User) and row.seat_of(request.user.pk):
        notices.see(request.user, row, now=now)
    scene = Scene(row, request.user, now, _wanted(request))
    return render(request, "games/game.html", context(scene, focus="page"))


@require_safe
@never_stored
def board(request: Request, pk: int) -> HttpResponse:
    """The part that changes: for a choice, and for a poll, which carries version and until."""
    now = timezone.now()
    polled = "version" in request.GET
    if polled and _unchanged(request, pk, now):
        return HttpResponse(status=204)
    row = visible_game(request, pk)
    scene = Scene(row, request.user, now, _wanted(request))
    if polled:
        return _part(request, scene)
    # Focus follows what was pressed; what is gone hands it to the words that say what is next.
    gone = request.htmx.trigger == "undo" or bool(scene.ask)
    return _part(request, scene, focus="title" if gone else "next")


def _wanted(request: Request) -> Wanted:
    return Wanted.read(ChoiceForm(request.GET).picked) if request.GET else Wanted()


def _unchanged(request: Request, pk: int, now: datetime) -> bool:
    # visible_to() as a join: of one game, asked by every open page, half the work.
    mine = Q(seats__player=request.user.pk or 0)
    visible = Game.objects.filter(Q(private=False) | mine, pk=pk)
    version = visible.values_list("version", flat=True).first()
    if version is None:
        raise Http404
    # Until when nothing shown changes by itself, as the page was told; nothing said: for ever.
    until = request.GET.get("until", "")
    outdated = bool(until) and not str(int(now.timestamp())) < until.zfill(10)
    return request.GET["version"] == str(version) and not outdated


def _part(
    request: Request, scene: Scene, *, status: int = 200, focus: str = "", message: str = ""
) -> HttpResponse:
    """What is swapped into the page, with the side parts that ride along."""
    shown = context(scene, message=message, focus=focus)
    # A poll that only brings the clocks up to date has nothing to tell.
    shown["silent"] = request.GET.get("version") == str(scene.game.version)
    return render(request, "games/game.html#answer", shown, status=status)


# --- deeds ----------------------------------------------------------------------------------


@require_POST
@never_stored
@_player_only
def move(request: Request, pk: int) -> HttpResponse:
    form = MoveForm(request.POST)
    if not form.is_valid():
        return _refuse(request, pk, _("That is not a move. Please choose again."), 422)
    ply, action = form.cleaned_data["ply"], form.action
    return _do(request, pk, lambda player, now: play.play_move(pk, player, ply, action, now=now))


@require_POST
@never_stored
@_player_only
def resign(request: Request, pk: int) -> HttpResponse:
    return _do(request, pk, lambda player, now: play.resign(pk, player, now=now))


@require_POST
@never_stored
@_player_only
def abort(request: Request, pk: int) -> HttpResponse:
    return _do(request, pk, lambda player, now: play.abort(pk, player, now=now))


@require_POST
@never_stored
@_player_only
def offer_draw(request: Request, pk: int) -> HttpResponse:
    return _about_draw(request, pk, play.offer_draw)


@require_POST
@never_stored
@_player_only
def accept_draw(request: Request, pk: int) -> HttpResponse:
    return _about_draw(request, pk, play.accept_draw)


@require_POST
@never_stored
@_player_only
def decline_draw(request: Request, pk: int) -> HttpResponse:
    return _about_draw(request, pk, play.decline_draw)


class DrawDeed(Protocol):
    def __call__(self, game_id: int, player: User, ply: int, *, now: datetime) -> Game: ...


def _about_draw(request: Request, pk: int, deed: DrawDeed) -> HttpResponse:
    form = PlyForm(request.POST)
    if not form.is_valid():
        return _refuse(request, pk, _("That does not say which ply it answers."), 422)
    ply = form.cleaned_data["ply"]
    return _do(request, pk, lambda player, now: deed(pk, player, ply, now=now))


def _do(request: Request, pk: int, deed: Callable[[User, datetime], Game]) -> HttpResponse:
    """Do it, wake whoever has something to do now, and show the game as it has become."""
    player, now = request.user, timezone.now()
    assert isinstance(player, User)  # noqa: S101  # _player_only has seen to it
    try:
        row = deed(player, now)
    except Game.DoesNotExist:
        raise Http404 from None
    except play.IllegalAction as refusal:
        return _refuse(request, pk, str(refusal), 422)
    except play.NotYourGame:
        visible_game(request, pk)
        raise PermissionDenied from None
    except play.Refused as refusal:
        return _refuse(request, pk, str(refusal), 409)
    wake(row)
    if not request.htmx:
        return SeeOther("game", pk)
    return _part(request, Scene(row, player, now, Wanted()), focus="title")


def _refuse(request: Request, pk: int, message: str, status: int) -> HttpResponse:
    """The game as it stands, with the reason; to a stranger the same as any deed of theirs."""
    row = visible_game(request, pk)
    if row.seat_of(request.user.pk) is None:
        raise PermissionDenied
    scene = Scene(row, request.user, timezone.now(), Wanted())
    if request.htmx:
        return _part(request, scene, status=status, focus="title", message=message)
    return render(request, "games/game.html", context(scene, message=message), status=status)
