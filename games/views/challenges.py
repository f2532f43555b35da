"""How games begin: against the computer at once, or by a challenge and the answer to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import guests
from accounts.middleware import Request
from accounts.models import User
from games import away, belts, challenges, notices
from games.challenge_forms import ChallengeForm, ComputerForm, DeclineForm
from games.models import Challenge, Level
from games.views.answers import SeeOther, never_stored, reader
from games.waking import wake, wake_mail


def _start_page(
    request: Request,
    *,
    computer: ComputerForm | None = None,
    challenge: ChallengeForm | None = None,
    away_note: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "away_note": away_note,
        "computer": computer or ComputerForm(),
        "challenge": challenge or ChallengeForm(),
        # Whoever comes with a name, or had an error there, is about to challenge.
        "challenging": challenge is not None,
    }
    return render(request, "games/new_game.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@never_stored
def new_game(request: Request) -> HttpResponse:
    """Both ways to begin; posting is the challenge, for play_computer has its own address."""
    if request.method == "POST":
        return _send_challenge(request)
    name, level = request.GET.get("opponent", "")[:20], request.GET.get("level", "")
    opponent = User.objects.named(name).first() if name else None
    note = _away_note(opponent, timezone.now()) if opponent else ""
    asked = {"opponent": name, "warned": name if note else ""}
    return _start_page(
        request,
        computer=ComputerForm(initial={"level": _level(level, request.user)}),
        challenge=ChallengeForm(initial=asked) if name else None,
        away_note=note,
    )


def _level(asked: str, user: User | AnonymousUser) -> str:
    """The one asked for, else that of the reader's last game against the computer."""
    if asked in Level.values:
        return asked
    if not user.is_authenticated:
        return Level.WHITE
    over = user.seats.filter(opponent_kind=User.Kind.ENGINE, ended__isnull=False)
    last = over.order_by("-ended", "-id").values_list("opponent__username", flat=True).first()
    return belts.nearest(last).name if last else Level.WHITE


def _away_note(player: User, now: datetime) -> str:
    """Why a challenge to this player may wait longer than others, if so."""
    until = away.until(player, now)
    if away.is_absent(player):
        text = _(
            "%(name)s has lost two games on time and has not been here since. A challenge can be"
            " accepted once %(name)s is back."
        )
    elif until:
        text = _("%(name)s is away until %(day)s, and may answer only then.")
    else:
        return ""
    return text % {"name": player.shown_name, "day": date_format(until, "l j F") if until else ""}


def _send_challenge(request: Request) -> HttpResponse:
    if not request.user.is_authenticated:
        return redirect_to_login(reverse("new_game"))
    form = ChallengeForm(request.POST)
    if not form.is_valid():
        return _start_page(request, challenge=form, status=422)
    asked = form.cleaned_data
    note = _away_note(asked["opponent"], timezone.now())
    if note and asked["warned"].lower() != asked["opponent"].username.lower():
        again = ChallengeForm({**request.POST.dict(), "warned": asked["opponent"].username})
        return _start_page(request, challenge=again, away_note=note)
    try:
        row = challenges.challenge(
            reader(request),
            asked["opponent"],
            control=asked["control"],
            colour=asked["colour"],
            deck=asked["deck"],
            private=asked["private"],
            now=timezone.now(),
        )
    except challenges.Refused as refusal:
        form.add_error("opponent", str(refusal))
        return _start_page(request, challenge=form, status=422)
    wake_mail()
    said = _("Your challenge is sent. You will be told when %(name)s answers.")
    messages.success(request, said % {"name": row.challenged.shown_name})
    return SeeOther("challenge", row.pk)


@require_POST
def play_computer(request: Request) -> HttpResponse:
    """Begin at once; a visitor without an account becomes a guest by it."""
    form = ComputerForm(request.POST)
    if not form.is_valid():
        return _start_page(request, computer=form, status=422)
    now, user = timezone.now(), request.user
    try:
        player = user if user.is_authenticated else guests.create_guest(request, now=now)
        game = challenges.play_computer_once(player, **form.cleaned_data, now=now)
    except guests.TooManyGuests as refusal:
        return render(request, "games/too_many_guests.html", {"said": str(refusal)}, status=429)
    except challenges.Refused as refusal:
        form.add_error(None, str(refusal))
        return _start_page(request, computer=form, status=422)
    wake(game)
    return SeeOther("game", game.pk)


# --- a challenge and its answer -------------------------------------------------------------


def _between(player: User, pk: int) -> Challenge:
    """The challenge, for the two it is between; for anybody else there is none."""
    mine = Challenge.objects.filter(Q(challenger=player) | Q(challenged=player))
    return get_object_or_404(mine.select_related("challenger", "challenged", "game"), pk=pk)


@require_safe
@login_required
@never_stored
def challenge(request: Request, pk: int) -> HttpResponse:
    player, now = reader(request), timezone.now()
    row = _between(player, pk)
    if request.is_navigation:
        notices.see_challenge(player, row, now=now)
    sent, is_open = row.challenger_id == player.pk, row.is_open(now)
    other = row.challenged if sent else row.challenger
    context = {
        "challenge": row,
        "sent": sent,
        "open": is_open,
        "other": other,
        "absent": is_open and away.is_absent(other),
        "away_until": away.until(other, now) if is_open else None,
        "decline": DeclineForm(),
    }
    return render(request, "games/challenge.html", context)


Deed = Callable[[Request, Challenge, User], HttpResponse]


def _deed(view: Deed) -> Callable[[Request, int], HttpResponse]:
    """Post only, by one of the two; what is refused is said on the challenge's page."""

    @require_POST
    @wraps(view)
    def checked(request: Request, pk: int) -> HttpResponse:
        if not request.user.is_authenticated:
            return redirect_to_login(reverse("challenge", args=[pk]))
        row = _between(request.user, pk)
        try:
            return view(request, row, request.user)
        except challenges.Refused as refusal:
            messages.error(request, str(refusal))
            return SeeOther("challenge", pk)

    return checked


@_deed
def accept_challenge(request: Request, row: Challenge, player: User) -> HttpResponse:
    try:
        game = challenges.accept(row.pk, player, now=timezone.now())
    except challenges.NotOpen:
        # The second of two presses leads where the first one led.
        row.refresh_from_db(fields=["game"])
        if row.game is None or player.pk != row.challenged_id:
            raise
        return SeeOther("game", row.game.pk)
    wake(game)
    return SeeOther("game", game.pk)


@_deed
def decline_challenge(request: Request, row: Challenge, player: User) -> HttpResponse:
    form = DeclineForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose one of the reasons in the list."))
        return SeeOther("challenge", row.pk)
    challenges.decline(row.pk, player, form.cleaned_data["reason"], now=timezone.now())
    wake_mail()
    said = _("You have declined the challenge of %(name)s.")
    messages.success(request, said % {"name": row.challenger.shown_name})
    return SeeOther("your_turn")


@_deed
def withdraw_challenge(request: Request, row: Challenge, player: User) -> HttpResponse:
    challenges.withdraw(row.pk, player, now=timezone.now())
    said = _("Your challenge to %(name)s is withdrawn.")
    messages.success(request, said % {"name": row.challenged.shown_name})
    return SeeOther("your_turn")
