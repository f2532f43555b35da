"""The games application."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig

from accounts import names


class GamesConfig(AppConfig):
    name = "games"

    def ready(self) -> None:
        # It listens to accounts. By name, for at the top of this file no models are there yet.
        import_module("games.guests")
        levels = import_module("games.models").Level
        names.CALLED.update({level.value: level.label for level in levels})
