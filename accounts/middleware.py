"""What every request says about its reader: who, whether they came on their own, their zone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django_htmx.middleware import HtmxDetails

from accounts import sessions
from accounts.models import NAVIGATION_KEPT_TO, User

GetResponse = Callable[[HttpRequest], HttpResponse]


class Request(HttpRequest):
    """A request as the views get it."""

    user: User | AnonymousUser
    htmx: HtmxDetails
    # Somebody opened this page; no poll, no fetch by a script, no HEAD, no prefetch.
    is_navigation: bool


class CacheMiddleware:
    """Every page names its reader, or may carry a message for them alone: unless its view says
    otherwise, no cache keeps it for others, and a browser asks before it shows it again."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_cache=True)
        return response


class CookieMiddleware:
    """Drops cookies that no browser of ours sends and no database takes (RFC 6265 allows no NUL,
    but a quoted one is decoded to it), and all where the address says enough: whoever opens that
    in a browser is nobody, and is not here."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        nameless = request.path_info.startswith(settings.NAMELESS_PATHS)
        for name in [name for name, value in request.COOKIES.items() if nameless or "\0" in value]:
            del request.COOKIES[name]
        return self.get_response(request)


class ReaderMiddleware:
    """Sets is_navigation and the time zone; notes when a player was last here."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: Request) -> HttpResponse:
        _refuse_nul(request)
        request.is_navigation = is_navigation(request)
        user = request.user
        if not user.is_authenticated:
            with timezone.override(None):
                return self.get_response(request)
        if request.is_navigation:
            _note_navigation(user, timezone.now())
            sessions.renew(request, timezone.now())
        with timezone.override(user.zone):
            return self.get_response(request)


def is_navigation(request: HttpRequest) -> bool:
    headers = request.headers
    purpose = headers.get("Sec-Purpose", "") + headers.get("Purpose", "") + headers.get("X-Moz", "")
    return (
        request.method == "GET"
        and "HX-Request" not in headers
        and "prefetch" not in purpose.lower()
        # Browsers say both; a client that says nothing is believed.
        and headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
        and headers.get("Sec-Fetch-Dest", "document") == "document"
    )


def _note_navigation(user: User, now: datetime) -> None:
    last = user.last_navigation
    # To the minute; yet whoever comes back from a mail must be seen to.
    back = last is not None and user.turn_mailed is not None and user.turn_mailed > last
    if last is None or back or now - last >= NAVIGATION_KEPT_TO:
        user.last_navigation = now
        User.objects.filter(pk=user.pk).update(last_navigation=now)


def _refuse_nul(request: HttpRequest) -> None:
    """A NUL is in no name, move or word, and PostgreSQL takes none in a text."""
    if any("\0" in text for text in _texts(request)):
        raise BadRequest("NUL")


def _texts(request: HttpRequest) -> Iterable[str]:
    yield request.path_info
    for name, values in request.GET.lists():
        yield from (name, *values)
    if request.method == "POST":
        try:
            fields = list(request.POST.lists())
        except UnreadablePostError:
            return  # the client went away; whoever reads the body next finds the same
        for name, values in fields:
            yield from (name, *(value for value in values if isinstance(value, str)))
