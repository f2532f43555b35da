"""The page on which players see the away time they hold, and say when they are away."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.middleware import Request
from accounts.models import AWAY_A_MONTH, AWAY_AT_MOST, AWAY_AT_START, User
from games import away as away_time
from games.away_forms import AwayForm
from games.views.answers import SeeOther, never_stored, person, reader


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_stored
def away(request: Request) -> HttpResponse:
    player, today = reader(request), timezone.localdate()
    if request.method == "POST":
        player = person(request)
        form = AwayForm(today, request.POST)
        if form.is_valid():
            _save(player, form)
            messages.success(request, _("Saved."))
            return SeeOther("away")
    else:
        form = AwayForm(today, initial=_as_it_is(player))
    context = _figures(player) | {
        "form": form,
        "ledger": away_time.ledger(player, _before(request)),
    }
    return render(request, "games/away.html", context, status=422 if form.errors else 200)


def _before(request: Request) -> int | None:
    """The entry before which the ledger is to go on."""
    before = request.GET.get("before", "")
    if before and not (before.isascii() and before.isdigit() and len(before) < 19):
        raise BadRequest("before")
    return int(before) if before else None


def _as_it_is(player: User) -> dict[str, object]:
    return {
        "away_on": player.away_on,
        "away_until": away_time.until(player, timezone.now()),
    }


def _save(player: User, form: AwayForm) -> None:
    player.away_on = form.cleaned_data["away_on"]
    player.away_until = form.cleaned_data["away_until"]
    player.save(update_fields=["away_on", "away_until"])


def _figures(player: User) -> dict[str, object]:
    now = timezone.now()
    credit_at, credit = away_time.next_credit(player, now)
    return {
        "held": away_time.held(player, now),
        "credit": credit,
        "credit_at": credit_at,
        "at_start": AWAY_AT_START,
        "a_month": AWAY_A_MONTH,
        "at_most": AWAY_AT_MOST,
        "in_a_game": away_time.IN_A_GAME,
    }
