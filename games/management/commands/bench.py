"""`manage.py bench web`: how fast the site answers, each page beside a bare view; `bench sweep`:
what looking for what is due costs; `bench mail`: how fast notices go out, beside a bare loop;
`bench engine`: how long a human waits for the computer's move."""

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
from django.core.management.base import BaseCommand, CommandError
from psycopg import sql

from games.models import Level
from onitama_site import broker
from onitama_site.bench import bare, engine, mail, sweep, web

# Set where a bench runs, by the process that made the scratch database for it.
INSIDE = "onitama_site.bench.urls"


class Command(BaseCommand):
    help = "Measures the site, on a scratch database beside ours that is dropped at the end."
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        benches = parser.add_subparsers(dest="what", required=True)
        pages = benches.add_parser("web", help="pages, beside a bare Django view")
        pages.add_argument(
            "--seconds", type=float, default=5.0, help="for each measurement (default 5)"
        )
        one = benches.add_parser("sweep", help="one sweep over many games, none of them due")
        one.add_argument("--games", type=int, default=1_000_000, help="default 1,000,000")
        mails = benches.add_parser("mail", help="notices due at once, beside a bare loop")
        mails.add_argument("--notices", type=int, default=10_000, help="default 10,000")

        moves = benches.add_parser("engine", help="the wait for the computer's move, by belt")
        moves.add_argument("--moves", type=int, default=40, help="for each belt (default 40)")
        moves.add_argument("--belts", nargs="+", choices=Level.values, default=Level.values)

    def handle(self, *, what: str, **options: Any) -> None:
        if not 0.5 <= options.get("seconds", 1) <= 60:
            raise CommandError("--seconds must lie between 0.5 and 60.", returncode=2)
        if not 2 <= options.get("games", 2) <= 2_000_000:
            raise CommandError("--games must lie between 2 and 2,000,000.", returncode=2)
        if not 100 <= options.get("notices", 100) <= 100_000:
            raise CommandError("--notices must lie between 100 and 100,000.", returncode=2)
        if not 1 <= options.get("moves", 1) <= 1000:
            raise CommandError("--moves must lie between 1 and 1,000.", returncode=2)
        if settings.ROOT_URLCONF == INSIDE:
            sys.exit(0 if self.measure(what, options) else 1)
        if what == "web":
            self.say("The bare view:\n" + inspect.getsource(bare))
        sys.exit(_again())

    def measure(self, what: str, options: dict[str, Any]) -> bool:
        if what == "web":
            return web.run(options["seconds"], self.say)
        if what == "mail":
            return mail.run(options["notices"], self.say)
        if what == "engine":
            return engine.run(options["belts"], options["moves"], self.say)
        return sweep.run(options["games"], self.say)

    def say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _again() -> int:
    """The same command in an environment of its own; its exit code."""
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="onitama-bench-"))
        server = broker.start(Path(directory) / "broker")
        stack.callback(server.child.kill)
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "onitama_site.bench.settings",
            "ONITAMA_DATA": directory,
            # A worker that is killed leaves its own there.
            "TMPDIR": directory,
            "DATABASE_URL": _scratch(stack, directory),
            "REDIS_URL": server.url,
            "SITE_URL": "http://127.0.0.1:8000",
            "ONITAMA_MAILBOX": "1",
        }
        return subprocess.call([sys.executable, *sys.argv], env=environment)  # noqa: S603 - ourselves


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
