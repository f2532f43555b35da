"""Addresses of accounts: the mailbox, and where our pages stand before allauth's."""

from __future__ import annotations

from django.urls import path, re_path

from accounts import mailbox, views

MAILBOX = [
    path("mailbox/", mailbox.mailbox, name="mailbox"),
    re_path(r"^mailbox/([0-9]{1,18})/$", mailbox.mail, name="mail"),
    re_path(r"^mailbox/([0-9]{1,18})/html/$", mailbox.mail_html, name="mail_html"),
]
# Each at the address and under the name that allauth gives it.
ACCOUNT = [
    path("accounts/signup/", views.signup, name="account_signup"),
    path("accounts/login/", views.log_in, name="account_login"),
    path("accounts/email/", views.address, name="account_email"),
    re_path(
        r"^accounts/confirm-email/(?P<key>[-:\w]+)/$",
        views.confirm_email,
        name="account_confirm_email",
    ),
    path("accounts/password/change/", views.change_password, name="account_change_password"),
    path("accounts/password/set/", views.set_password, name="account_set_password"),
    path("accounts/password/reset/", views.reset_password, name="account_reset_password"),
    re_path(
        r"^accounts/password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        views.reset_password_from_key,
        name="account_reset_password_from_key",
    ),
    path("accounts/reauthenticate/", views.reauthenticate, name="account_reauthenticate"),
]
urlpatterns = [*MAILBOX, *ACCOUNT]
