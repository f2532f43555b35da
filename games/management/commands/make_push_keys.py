"""`manage.py make_push_keys`: the key that turns web push on."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from onitama_site import environment


class Command(BaseCommand):
    help = "Makes a key for web push and prints the line that sets it."
    requires_system_checks: tuple[str, ...] = ()

    def handle(self, **options: Any) -> None:
        if environment.push_is_missing():
            raise CommandError(environment.PUSH_IS_MISSING)
        key = import_module("onitama_site.vapid").make()
        self.stdout.write(f"export VAPID_PRIVATE_KEY={key}")
        self.stderr.write(
            "Set it for the web server and all workers, and keep it secret. Keep it for good, too:"
            " under another one each player has to enable each browser again."
        )
