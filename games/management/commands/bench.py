"""`manage.py bench web`: how fast the site answers, each page beside a bare view."""

from __future__ import annotations

import inspect
import os
import secrets
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand
from psycopg import sql

from onitama_site import broker
from onitama_site.bench import bare, web


class Command(BaseCommand):
    help = "Measures the site against a bare Django view, on a scratch database beside ours."
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("what", choices=["web"])
        parser.add_argument(
            "--seconds", type=float, default=5.0, help="for each measurement (default 5)"
        )

    def handle(self, *, seconds: float, **options: Any) -> None:
        if not 0.5 <= seconds <= 60:
            self.stderr.write("--seconds must lie between 0.5 and 60.")
            sys.exit(2)
        if settings.ROOT_URLCONF == web.URLS:
            sys.exit(0 if web.run(seconds, self.say) else 1)
        self.stdout.write("The bare view:\n" + inspect.getsource(bare) + "\n")
        self.stdout.flush()
        with ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="onitama-bench-"))
            server = broker.start(Path(directory) / "broker")
            stack.callback(server.child.kill)
            environment = {
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "onitama_site.bench.settings",
                "ONITAMA_DATA": directory,
                "DATABASE_URL": _scratch(stack, directory),
                "REDIS_URL": server.url,
                "SITE_URL": "http://127.0.0.1:8000",
                "ONITAMA_MAILBOX": "1",
            }
            again = [sys.executable, *sys.argv[:1], "bench", "web", "--seconds", str(seconds)]
            code = subprocess.call(again, env=environment)  # noqa: S603 - ourselves
        sys.exit(code)

    def say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _scratch(stack: ExitStack, directory: str) -> str:
    """The address of an empty database of the kind that the settings name, dropped at the end."""
    database = settings.DATABASES["default"]
    if database["ENGINE"] == "django.db.backends.sqlite3":
        return f"sqlite:///{directory}/bench.sqlite3"
    name = f"onitama_bench_{secrets.token_hex(4)}"
    url = os.environ["DATABASE_URL"]
    connection = stack.enter_context(psycopg.connect(url, autocommit=True))
    connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    stack.callback(
        lambda: connection.execute(
            sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        )
    )
    head, _, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/{name}" + (f"?{query}" if query else "")
