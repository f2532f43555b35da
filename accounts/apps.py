"""The accounts application."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in

from accounts import sessions


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        user_logged_in.connect(sessions.begin, dispatch_uid="accounts.sessions.begin")
