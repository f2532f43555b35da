"""The eight belts, a player row each; the older levels keep theirs."""

from __future__ import annotations

from django.apps.registry import Apps
from django.contrib.auth.hashers import make_password
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

BELTS = (
    *("white-belt", "yellow-belt", "orange-belt", "green-belt"),
    *("blue-belt", "brown-belt", "black-belt", "grandmaster"),
)


def add_belts(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    user = apps.get_model("accounts", "User")
    for belt in BELTS:
        user.objects.get_or_create(
            username=belt, defaults={"kind": "engine", "password": make_password(None)}
        )


def remove_belts(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Those that have played stay, as a player of any game does."""
    user = apps.get_model("accounts", "User")
    user.objects.filter(username__in=BELTS, kind="engine", seats=None).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_preferences"),
        ("games", "0003_telling"),
    ]

    operations = [migrations.RunPython(add_belts, remove_belts)]
