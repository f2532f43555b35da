"""The forms of the sign-up family: allauth's, in our words, with every length bounded."""

from __future__ import annotations

from typing import Any

from allauth.account import forms as allauth
from allauth.account.adapter import get_adapter
from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.adapter import ADDRESS_LENGTH
from accounts.models import User

PASSWORD_LENGTH = 200
LABELS = {
    "username": _("Name"),
    "login": _("Name or email address"),
    "email": _("Email address"),
    "password": _("Password"),
    "oldpassword": _("Current password"),
    "password1": _("Password"),
    "password2": _("The same again"),
}
HELP = {
    "username": _("3 to 20 letters, digits, - and _, beginning with a letter. Everybody sees it."),
    "password1": _("At least 8 characters; not a common one, and not like your name or address."),
}
ADDRESSES = {"email", "login"}


class Plain:
    """Labels say what a field is for; nothing is repeated inside it."""

    fields: dict[str, forms.Field]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.label = LABELS[name]
            field.help_text = HELP.get(name, field.help_text)
            field.widget.attrs.pop("placeholder", None)
            if name != "username" and isinstance(field, forms.CharField):
                _bound(field, ADDRESS_LENGTH if name in ADDRESSES else PASSWORD_LENGTH)


def _bound(field: forms.CharField, length: int) -> None:
    field.max_length = length
    field.validators.append(forms.CharField(max_length=length).validators[0])
    field.widget.attrs["maxlength"] = str(length)


class SignupForm(Plain, allauth.SignupForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].help_text = _(
            "For mails about your games, and to let you in again. Nobody else sees it."
        )
        # A script fills it in; without one the zone is chosen under Preferences.
        self.fields["time_zone"] = forms.CharField(
            required=False, widget=forms.HiddenInput(attrs={"data-zone": True})
        )

    def clean_time_zone(self) -> str:
        """The zone, or nothing where there is none of that name: nobody typed it."""
        zone: str = self.cleaned_data["time_zone"]
        return zone if User(time_zone=zone).zone.key == zone else ""


class LoginForm(Plain, allauth.LoginForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].widget.attrs.update(autocomplete="username", autocapitalize="none")


class AddressForm(Plain, allauth.AddEmailForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = _("New email address")

    def save(self, request: HttpRequest) -> Any:
        address = super().save(request)
        # Where no address was confirmed yet, the new one simply takes its place.
        address.set_as_primary(conditional=True)
        return address


class ChangePasswordForm(Plain, allauth.ChangePasswordForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].label = _("New password")


class ResetPasswordForm(Plain, allauth.ResetPasswordForm):
    def clean_email(self) -> str:
        """One mail at most, to whoever confirmed the address or gave it last."""
        email: str = get_adapter().clean_email(self.cleaned_data["email"].lower())
        holders = User.objects.filter(is_active=True)
        confirmed = holders.holding(email, confirmed=True).first()
        latest = holders.holding(email, confirmed=False).first()
        holder = confirmed or latest
        self.users = [holder] if holder else []
        return email


class NewPasswordForm(Plain, allauth.ResetPasswordKeyForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password1"].label = _("New password")


class ReauthenticateForm(Plain, allauth.ReauthenticateForm):
    pass
