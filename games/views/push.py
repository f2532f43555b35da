"""The browsers that tell a player by web push, and the service worker that runs in them."""

from __future__ import annotations

from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.middleware import Request
from accounts.models import User
from games import push
from games.push_forms import PushDeviceForm
from games.views.answers import SeeOther, View, login_leads_to, never_stored, person, reader


def when_configured(view: View) -> View:
    """Without keys nothing of push is there."""

    @wraps(view)
    def guarded(request: Request, *args: object, **kwargs: object) -> HttpResponse:
        if not push.configured():
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


@when_configured
@require_safe
@login_required
@never_stored
def devices(request: Request) -> HttpResponse:
    return _page(request, reader(request))


@when_configured
@require_POST
@login_leads_to("push_devices")
@never_stored
def add_device(request: Request) -> HttpResponse:
    player, form = person(request), PushDeviceForm(request.POST)
    if not form.is_valid():
        return _page(request, player, _("That is no subscription of a browser."))
    name = push.device_name(request.headers.get("User-Agent", ""))
    try:
        push.add(player, **form.cleaned_data, name=name, now=timezone.now())
    except push.HostRefused:
        return _page(request, player, _("This browser’s push service is none that we send to."))
    messages.success(request, _("This browser tells you from now on."))
    return SeeOther("push_devices")


@when_configured
@require_POST
@login_leads_to("push_devices")
@never_stored
def remove_device(request: Request, device: int) -> HttpResponse:
    get_object_or_404(person(request).push_devices, pk=device).delete()
    messages.success(request, _("Removed."))
    return SeeOther("push_devices")


def _page(request: Request, player: User, error: str = "") -> HttpResponse:
    context = {"devices": player.push_devices.order_by("-pk"), "key": push.public_key()}
    status = 422 if error else 200
    return render(request, "games/push_devices.html", {**context, "error": error}, status=status)


@when_configured
@require_http_methods(["GET", "HEAD"])
@cache_control(no_cache=True)
def service_worker(request: Request) -> HttpResponse:
    """Served from the root, for a worker looks after the pages below its own address alone."""
    return render(request, "sw.js", content_type="text/javascript")
