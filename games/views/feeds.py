"""The feeds, at addresses that are keys, and the page where a player makes and ends these."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.middleware import Request
from accounts.models import User
from games import feed_addresses
from games import feeds as documents
from games.models import Feed
from games.views.answers import SeeOther, login_leads_to, never_stored, person, reader


@require_safe
@never_stored
def turns(request: Request, token: str) -> HttpResponse:
    return _document(request, Feed.Form.ATOM, token)


@require_safe
@never_stored
def deadlines(request: Request, token: str) -> HttpResponse:
    return _document(request, Feed.Form.ICAL, token)


def _document(request: Request, form: Feed.Form, token: str) -> HttpResponse:
    """Whole, or 304 to a program that has it."""
    feed = feed_addresses.find(form, token)
    if feed is None:
        raise Http404
    document = documents.document(feed)
    answer = HttpResponse(document.content, content_type=document.content_type)
    answer["X-Robots-Tag"], answer["Referrer-Policy"] = "noindex", "no-referrer"
    answer["Content-Language"] = document.language
    answer["ETag"] = quote_etag(sha256(document.content).hexdigest())
    # No Last-Modified: it says nothing of two moves in a second, nor of another time zone.
    return get_conditional_response(request, etag=answer["ETag"], response=answer) or answer


# --- the page of addresses ------------------------------------------------------------------


@dataclass(frozen=True)
class Section:
    """One feed on the page; its address is known only while it is new."""

    form: Feed.Form
    feed: Feed | None
    offer: str
    address: str


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@cache_control(private=True, no_store=True)
def feeds(request: Request) -> HttpResponse:
    """The answer to a post shows the address, so it is no redirect; sent again it does no harm."""
    if request.method != "POST":
        return _page(request, reader(request))
    player = person(request)
    try:
        new = feed_addresses.take(player, request.POST.get("offer", ""), now=timezone.now())
    except feed_addresses.NotOffered:
        messages.error(request, _("This page had become old, and nothing was changed."))
        return _page(request, player, status=409)
    return _page(request, player, new=new)


def _page(
    request: Request, player: User, *, new: tuple[Feed.Form, str] | None = None, status: int = 200
) -> HttpResponse:
    rows = {row.form: row for row in player.feeds.all()}
    sections = [
        Section(
            form=form,
            feed=rows.get(form),
            offer=feed_addresses.offer(player, form, rows.get(form)),
            address=new[1] if new and new[0] == form else "",
        )
        for form in Feed.Form
    ]
    return render(request, "games/feeds.html", {"sections": sections}, status=status)


@require_POST
@login_leads_to("feeds")
def remove_feed(request: Request, form: str) -> HttpResponse:
    player = reader(request)
    if form not in Feed.Form:
        raise Http404
    feed_addresses.remove(player, Feed.Form(form))
    messages.success(request, _("The address is removed: it leads nowhere any more."))
    return SeeOther("feeds")
