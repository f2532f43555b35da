"""What a player wants to be told and shown, and the address that stops one kind of mail."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from accounts import mail
from accounts.middleware import Request
from accounts.models import User
from games import digests, notices, push, reminders
from games.models import Delivery, Kind, Subscription
from games.preference_forms import CHANNELS, PreferencesForm
from games.views.answers import SeeOther, login_leads_to, never_stored, reader
from games.views.bell import line
from games.waking import wake_mail

# What the form says of the player's own row.
OWN = (
    *("mail_mode", "time_zone", "digest_hour", "quiet_from", "quiet_until"),
    *("confirm_moves", "out_of_time", "language"),
)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_stored
def preferences(request: Request) -> HttpResponse:
    player, now = reader(request), timezone.now()
    pushes = push.configured()
    if request.method == "POST":
        form = PreferencesForm(player, request.POST, push=pushes)
        if form.is_valid():
            _save(player, form, now)
            messages.success(request, _("Saved."))
            return SeeOther("preferences")
        # The page is long, and begins far above the field with the error.
        messages.error(request, _("Not saved. A field below needs another answer."))
    else:
        form = PreferencesForm(player, initial=_as_it_is(player), push=pushes)
    last = notices.last_mail(player)
    context = {
        "form": form,
        "address": _address(player),
        "last_mail": last,
        "last_mail_about": last and line(last.notice, now),
        "pushes": pushes,
        "now": now,
    }
    return render(request, "games/preferences.html", context, status=422 if form.errors else 200)


def _address(player: User) -> str:
    """The confirmed address, or empty; also one that refuses mails, which may be tried again."""
    return mail.confirmed([player]).get(player.pk, "")


def _as_it_is(player: User) -> dict[str, object]:
    told = notices.channels(player)
    ticked = {
        channel: [kind for kind, ways in told.items() if ways[n]]
        for n, channel in enumerate(CHANNELS)
    }
    return {
        **ticked,
        "reminder_hours": player.reminder_hours,
        **{name: getattr(player, name) for name in OWN},
    }


def _save(player: User, form: PreferencesForm, now: datetime) -> None:
    said = form.cleaned_data
    changed = [name for name in OWN if name in said and getattr(player, name) != said[name]]
    with transaction.atomic():
        for name in changed:
            setattr(player, name, said[name])
        player.save(update_fields=changed)
        if {"mail_mode", "digest_hour", "time_zone"} & set(changed):
            digests.plan(player, now=now)
        if said.get("reminder_hours", player.reminder_hours) != player.reminder_hours:
            reminders.choose(player, said["reminder_hours"], now=now)
        notices.set_channels(player, _wanted(player, form))
        if {"quiet_from", "quiet_until", "time_zone"} & set(changed):
            notices.look_again(player, now=now)
            wake_mail()


def _wanted(player: User, form: PreferencesForm) -> dict[str, tuple[bool, bool, bool]]:
    """Each kind by each channel; what the form does not show stays as it was."""
    told = notices.channels(player)
    for kind in form.kinds:
        site, by_mail, by_push = (
            kind in form.cleaned_data[channel] if channel in form.fields else was
            for channel, was in zip(CHANNELS, told[kind], strict=True)
        )
        told[kind] = (site, by_mail, by_push)
    return told


@require_POST
@login_leads_to("preferences")
@never_stored
def send_test(request: Request) -> HttpResponse:
    """A mail at once, and a message to each device: what arrives arrives for notices, too."""
    player, now = reader(request), timezone.now()
    try:
        for said in _tests(player, now):
            messages.info(request, said)
    except notices.TooSoon:
        messages.error(request, _("A test has just been sent. Wait a minute for the next one."))
    wake_mail()
    return SeeOther("preferences")


def _tests(player: User, now: datetime) -> Iterator[str]:
    """Send what can be sent; say where each has gone."""
    address = _address(player)
    devices = player.push_devices.count() if push.configured() else 0
    if not (address or devices):
        yield _("There is no way yet to send you one.")
    if address:
        notices.send_test(player, Delivery.Channel.MAIL, now=now)
        yield _("A test mail is on its way to %(address)s.") % {"address": address}
    if devices:
        notices.send_test(player, Delivery.Channel.PUSH, now=now)
        yield ngettext(
            "A test message is on its way to %(n)d device.",
            "A test message is on its way to %(n)d devices.",
            devices,
        ) % {"n": devices}


@csrf_exempt  # RFC 8058: the reader's mail program posts here, and knows no cookie of ours.
@require_http_methods(["GET", "HEAD", "POST"])
@cache_control(no_store=True)
def unsubscribe(request: Request, token: str) -> HttpResponse:
    """One kind of mail to one player ends here; looking at the page changes nothing."""
    row = get_object_or_404(Subscription.objects.select_related("player"), token=token)
    if request.method == "POST":
        Subscription.objects.filter(pk=row.pk).update(mail=False)
        row.mail = False
    alone = row.kind == Kind.DIGEST and row.player.mail_mode == User.MailMode.DIGEST
    context = {"kind": Kind(row.kind).label, "done": not row.mail, "alone": alone}
    answer = render(request, "games/unsubscribe.html", context)
    # The address is a key: no search engine and no other site may learn it.
    answer["X-Robots-Tag"], answer["Referrer-Policy"] = "noindex", "no-referrer"
    return answer
