"""The computer's levels, a player row each: kept for ever, later no longer offered."""

from __future__ import annotations

from django.apps.registry import Apps
from django.contrib.auth.hashers import make_password
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

LEVELS = ("random", "two-ply", "four-ply")


def add_levels(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    user = apps.get_model("accounts", "User")
    for level in LEVELS:
        user.objects.get_or_create(
            username=level, defaults={"kind": "engine", "password": make_password(None)}
        )


class Migration(migrations.Migration):
    dependencies = [("games", "0001_initial")]

    operations = [migrations.RunPython(add_levels, migrations.RunPython.noop)]
