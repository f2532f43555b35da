"""The mails of a site that has no mail server, for whoever tries it on their own machine."""

from __future__ import annotations

from collections.abc import Callable
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import wraps

from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from accounts.middleware import Request
from accounts.models import Mail

View = Callable[..., HttpResponse]
PAGE = 50
HEADERS = (
    *("From", "To", "Subject", "Date", "Message-ID", "References", "Auto-Submitted"),
    *("List-Id", "List-Unsubscribe", "List-Unsubscribe-Post"),
)
# The frame's own page: no script, nothing loaded, nothing to get out of.
FRAME_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"


def mailbox_only(view: View) -> View:
    """The runner alone sets ONITAMA_MAILBOX, and settings refuse it beyond loopback."""

    @require_safe
    @never_cache
    @wraps(view)
    def checked(request: Request, *args: int) -> HttpResponse:
        if not settings.MAILBOX:
            raise Http404
        return view(request, *args)

    return checked


@mailbox_only
def mailbox(request: Request) -> HttpResponse:
    """The newest first; `?before=` a mail's number goes on from there."""
    mails = Mail.objects.order_by("-pk").defer("message")
    before = request.GET.get("before", "")
    if before.isascii() and before.isdigit():
        mails = mails.filter(pk__lt=int(before))
    page = list(mails[: PAGE + 1])
    more = page[PAGE - 1].pk if len(page) > PAGE else None
    return render(request, "accounts/mailbox.html", {"mails": page[:PAGE], "more": more})


@mailbox_only
def mail(request: Request, pk: int) -> HttpResponse:
    row = get_object_or_404(Mail, pk=pk)
    message = _parsed(row)
    context = {
        "mail": row,
        "headers": [(name, message[name]) for name in HEADERS if message[name]],
        "text": _body(message, "plain"),
        "has_html": message.get_body(("html",)) is not None,
    }
    return render(request, "accounts/mail.html", context)


@mailbox_only
@xframe_options_sameorigin
def mail_html(request: Request, pk: int) -> HttpResponse:
    body = _body(_parsed(get_object_or_404(Mail, pk=pk)), "html")
    return HttpResponse(body, headers={"Content-Security-Policy": FRAME_POLICY})


def _parsed(row: Mail) -> EmailMessage:
    return message_from_bytes(bytes(row.message), policy=policy.default)


def _body(message: EmailMessage, subtype: str) -> str:
    part = message.get_body((subtype,))
    return str(part.get_content()) if part else ""
