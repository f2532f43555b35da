"""The games application."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class GamesConfig(AppConfig):
    name = "games"

    def ready(self) -> None:
        # It listens to accounts. By name, for at the top of this file no models are there yet.
        import_module("games.guests")
