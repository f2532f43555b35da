"""What a player wants to be told and shown, and the address that stops one kind of mail."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from accounts import mail
from accounts.middleware import Request
from accounts.models import User
from games import notices, push
from games.models import Kind, Subscription
from games.preference_forms import PreferencesForm
from games.views.answers import SeeOther, never_stored, reader


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_stored
def preferences(request: Request) -> HttpResponse:
    player = reader(request)
    if request.method == "POST":
        form = PreferencesForm(player, request.POST)
        if form.is_valid():
            _save(player, form)
            messages.success(request, _("Saved."))
            return SeeOther("preferences")
    else:
        form = PreferencesForm(player, initial=_as_it_is(player))
    context = {
        "form": form,
        "address": player.is_person and mail.address(player),
        "last_mail": notices.last_mail(player),
        "now": timezone.now(),
        "push": push.configured(),
    }
    return render(request, "games/preferences.html", context, status=422 if form.errors else 200)


def _as_it_is(player: User) -> dict[str, object]:
    return {
        "mails": notices.wanted(player),
        "time_zone": player.time_zone,
        "confirm_moves": player.confirm_moves,
    }


def _save(player: User, form: PreferencesForm) -> None:
    said = form.cleaned_data
    player.time_zone, player.confirm_moves = said["time_zone"], said["confirm_moves"]
    player.save(update_fields=["time_zone", "confirm_moves"])
    if "mails" in said:
        notices.want(player, said["mails"])


@csrf_exempt  # RFC 8058: the reader's mail program posts here, and knows no cookie of ours.
@require_http_methods(["GET", "HEAD", "POST"])
@cache_control(no_store=True)
def unsubscribe(request: Request, token: str) -> HttpResponse:
    """One kind of mail to one player ends here; looking at the page changes nothing."""
    row = get_object_or_404(Subscription, token=token)
    if request.method == "POST":
        Subscription.objects.filter(pk=row.pk).update(mail=False)
        row.mail = False
    context = {"kind": Kind(row.kind).label, "done": not row.mail}
    answer = render(request, "games/unsubscribe.html", context)
    # The address is a key: no search engine and no other site may learn it.
    answer["X-Robots-Tag"], answer["Referrer-Policy"] = "noindex", "no-referrer"
    return answer
