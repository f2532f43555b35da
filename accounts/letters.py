"""The mails about accounts: what is said in them, and the one link each has."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _

from accounts.links import link


class Kind(NamedTuple):
    """A subject, which value of the context the link is, and what its button says."""

    subject: Any
    link: str
    button: Any


_CONFIRM = Kind(_("Onitama: confirm your address"), "activate_url", _("Confirm the address"))
_PASSWORD = Kind(_("Onitama: your password has changed"), "reset", _("It was not me"))
# By the names of allauth's templates, which are those of ours in templates/mail/account/.
KINDS = {
    "account_already_exists": Kind(_("Onitama: you have an account"), "log_in", _("Log in")),
    "email_changed": Kind(_("Onitama: your address has changed"), "log_in", _("Log in")),
    "email_confirmation": _CONFIRM,
    "email_confirmation_signup": _CONFIRM,
    "email_deleted": Kind(_("Onitama: your address stays"), "log_in", _("Log in")),
    "password_changed": _PASSWORD,
    "password_reset": _PASSWORD,
    "password_reset_key": Kind(
        _("Onitama: choose a new password"), "password_reset_url", _("Choose a new password")
    ),
    "password_set": _PASSWORD,
    "unknown_account": Kind(_("Onitama: no account here"), "sign_up", _("Sign up")),
}


def letter(name: str, address: str, context: dict[str, Any]) -> EmailMultiAlternatives:
    """The mail of that name in the reader's language; it has none of the List headers."""
    kind = KINDS[name]
    context = {
        **context,
        "address": address,
        "site_url": settings.SITE_URL,
        "log_in": link("account_login"),
        "sign_up": link("account_signup"),
        "reset": link("account_reset_password"),
    }
    context |= {"link": context[kind.link], "button": kind.button}
    context["said"] = render_to_string(f"mail/account/{name}.txt", context).strip()
    message = EmailMultiAlternatives(
        subject=str(kind.subject),
        body=render_to_string("mail/account/letter.txt", context),
        to=[address],
    )
    message.attach_alternative(render_to_string("mail/account/letter.html", context), "text/html")
    return message
