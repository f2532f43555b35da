"""What allauth asks the site about: names, addresses, mails, and who is logged in."""

from __future__ import annotations

from typing import Any, cast

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress
from django.contrib import messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.core.mail.message import sanitize_address
from django.db import IntegrityError, transaction
from django.forms import BaseForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.client_ip import client_ip
from accounts.guests import become_person, guest_became
from accounts.letters import letter
from accounts.links import link
from accounts.models import User
from accounts.names import refuse_reserved

ADDRESS_LENGTH = 254
_MISMATCH = _("This name or address and this password do not belong together.")


class NameTaken(Exception):
    """Somebody else got the name between the look and the deed."""


class NoGuest(Exception):
    """The guest of this session has become a person already."""


class AccountAdapter(DefaultAccountAdapter):
    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "account_inactive": _("This account is closed."),
        "duplicate_email": _("This is your address already."),
        "email_password_mismatch": _MISMATCH,
        "enter_current_password": _("This is not your current password."),
        "incorrect_password": _("This is not your password."),
        "invalid_password_reset": _("This link is no longer valid."),
        "too_many_login_attempts": _(
            "Too many attempts failed. Wait five minutes, then try again."
        ),
        "username_password_mismatch": _MISMATCH,
        "username_taken": _("This name is taken."),
    }

    # --- names and addresses ----------------------------------------------------------------

    def clean_username(self, username: str, shallow: bool = False) -> str:
        refuse_reserved(username)
        return super().clean_username(username, shallow)

    def clean_email(self, email: str) -> str:
        """Refuse what passes for an address in a form, and not in a mail's head."""
        local = email.rpartition("@")[0]
        try:
            wire = sanitize_address(email, "utf-8")
        except (ValueError, IndexError):
            wire = ""
        odd = not local.isascii() or any(c in '"\\' or c <= " " for c in local)
        if not wire or len(wire) > ADDRESS_LENGTH or odd:
            raise ValidationError(_("Enter a valid email address."), code="invalid")
        return email

    def can_delete_email(self, email_address: EmailAddress) -> bool:
        """A change that waits can be called off; an account keeps an address."""
        return not email_address.primary

    def confirm_email(self, request: HttpRequest, email_address: EmailAddress) -> bool:
        try:
            with transaction.atomic():
                done = super().confirm_email(request, email_address)
                if done:
                    # Whatever the old address refused, or this one before.
                    User.objects.filter(pk=email_address.user_id).update(bounces=0)
                return done
        except IntegrityError:
            # Two accounts confirmed one address at once; the database let the first through.
            template = "account/messages/email_confirmation_failed.txt"
            self.add_message(request, messages.ERROR, template, {"email": email_address.email})
            return False

    # --- signing up and logging in ----------------------------------------------------------

    def new_user(self, request: HttpRequest) -> User:
        """A guest who signs up keeps the row, and with it the games."""
        if _is_guest(request):
            guest: User = User.objects.get(pk=request.user.pk)
            return guest
        return User()

    def save_user(
        self, request: HttpRequest, user: AbstractBaseUser, form: BaseForm, commit: bool = True
    ) -> User:
        data, person = form.cleaned_data, cast("User", user)
        person.username, person.email = data["username"], data["email"]
        person.set_password(data["password1"])
        person.time_zone = data["time_zone"] or person.time_zone
        try:
            if person.pk is None:
                with transaction.atomic():
                    person.save(force_insert=True)
            elif not become_person(person, timezone.now()):
                raise NoGuest
        except IntegrityError as error:
            raise NameTaken from error
        return person

    def login(self, request: HttpRequest, user: AbstractBaseUser) -> None:
        guest = request.user
        with transaction.atomic():
            if _is_guest(request) and guest.pk != user.pk:
                guest_became.send(sender=User, guest=guest, person=user)
            super().login(request, user)

    # --- mails ------------------------------------------------------------------------------

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        letter(template_prefix.rpartition("/")[2], email, context).send()

    def send_confirmation_mail(
        self, request: HttpRequest, emailconfirmation: Any, signup: bool
    ) -> None:
        """To an address that is somebody's already, a mail that tells them so instead.

        The same work for both, so that its time tells nothing.
        """
        address = emailconfirmation.email_address
        context = {
            "user": address.user,
            "holder": User.objects.holding(address.email, confirmed=True).first(),
            "activate_url": self.get_email_confirmation_url(request, emailconfirmation),
        }
        name = "email_confirmation_signup" if signup else "email_confirmation"
        name = "account_already_exists" if context["holder"] else name
        self.send_mail(f"account/email/{name}", address.email, context)

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        return link("account_confirm_email", emailconfirmation.key)

    def get_reset_password_from_key_url(self, key: str) -> str:
        number, _dash, secret = key.partition("-")
        return link("account_reset_password_from_key", number, secret)

    # --- requests ---------------------------------------------------------------------------

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_ip(request)

    def is_ajax(self, request: HttpRequest) -> bool:
        """These pages answer everybody alike, with pages."""
        return False


def _is_guest(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_guest
