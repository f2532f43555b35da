"""The pages of the sign-up family, where they differ from allauth's."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account import views as allauth
from allauth.account.adapter import get_adapter
from allauth.account.utils import get_login_redirect_url
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from accounts.adapter import NameTaken, NoGuest
from accounts.forms import SignupForm
from accounts.middleware import Request

View = Callable[..., HttpResponseBase]
# Longer than the answer takes for any address, so that its length tells nothing.
RESET_SECONDS = 0.25


def person_required(view: View) -> View:
    """For pages about an account: a guest has none yet."""

    @login_required
    @wraps(view)
    def checked(request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated and not request.user.is_person:
            return redirect("account_signup")
        return view(request, *args, **kwargs)

    return checked


def _has_account(request: HttpRequest) -> bool:
    return request.user.is_authenticated and not request.user.is_guest


class SignupView(allauth.SignupView):
    """Also for guests, who keep their row: see AccountAdapter.new_user."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if _has_account(request):
            return HttpResponseRedirect(get_login_redirect_url(request))
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: SignupForm) -> HttpResponse:
        try:
            response: HttpResponse = super().form_valid(form)
        except NameTaken:
            form.add_error("username", get_adapter().error_messages["username_taken"])
            again: HttpResponse = self.form_invalid(form)
            return again
        except NoGuest:
            return HttpResponseRedirect(get_login_redirect_url(self.request))
        # Always, and the same: allauth's own message is left out when a mail was sent lately.
        messages.info(
            self.request,
            _("We have sent a mail to %(email)s. Its link confirms that the address is yours.")
            % {"email": form.cleaned_data["email"]},
        )
        return response


class LoginView(allauth.LoginView):
    """Also for guests, whose games go with them: see AccountAdapter.login."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if _has_account(request):
            return HttpResponseRedirect(get_login_redirect_url(request))
        return super().dispatch(request, *args, **kwargs)


class ConfirmEmailView(allauth.ConfirmEmailView):
    def logout_other_user(self, confirmation: Any) -> None:
        """allauth would log out whoever opens somebody else's link; a GET changes nothing here."""


class PasswordResetView(allauth.PasswordResetView):
    def post(self, *args: Any, **kwargs: Any) -> HttpResponse:
        began = time.monotonic()
        response: HttpResponse = super().post(*args, **kwargs)
        time.sleep(max(0.0, RESET_SECONDS - (time.monotonic() - began)))
        return response


class PasswordResetFromKeyView(allauth.PasswordResetFromKeyView):
    def logout(self) -> None:
        """allauth would log out whoever opens the link; a guest would lose the games with it."""


class AddressView(allauth.EmailView):
    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        self._say_sent(form.cleaned_data["email"])
        return response

    def _action_send(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        address = self._get_email_address(request)
        if address and not address.verified:
            super()._action_send(request, *args, **kwargs)
            self._say_sent(address.email)

    def _say_sent(self, email: str) -> None:
        messages.info(
            self.request,
            _("A mail is on its way to %(email)s. Its link confirms that the address is yours.")
            % {"email": email},
        )


signup = SignupView.as_view()
log_in = LoginView.as_view()
confirm_email = ConfirmEmailView.as_view()
reset_password = PasswordResetView.as_view()
reset_password_from_key = PasswordResetFromKeyView.as_view()
address = person_required(AddressView.as_view())
change_password = person_required(allauth.password_change)
set_password = person_required(allauth.password_set)
reauthenticate = person_required(allauth.reauthenticate)
