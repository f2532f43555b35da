"""Runs the suite on SQLite, then on PostgreSQL: `python -m tests [options of pytest]`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack

import pytest

from tests import postgres

# Two cores have enough to do with three, and are no sooner done with four.
PYTEST = ("-p", "tests.lineup", "-n", "3", "--dist", "worksteal")
# What the user has set for a site of theirs must not change what the tests see.
UNSET = (
    "ALLOWED_HOSTS",
    "DATABASE_URL",
    "DJANGO_SETTINGS_MODULE",
    "EMAIL_URL",
    "ENGINE_COMPILE",
    "ENGINE_TIME_LIMIT",
    "ENGINE_WORKERS",
    "MAIL_FROM",
    "MAIL_LEASE",
    "ONITAMA_MAILBOX",
    "PORT",
    # A process that may not keep what it has compiled compiles it all again at each start.
    "PYTHONDONTWRITEBYTECODE",
    "REDIS_URL",
    "SECRET_KEY",
    "SITE_URL",
    "SMTP_TIMEOUT",
    "SWEEP_SECONDS",
    "TABLES_LIMIT_MB",
    "TEST_DATABASE_URL",
    "TRUSTED_PROXY_COUNT",
    "VISIBILITY_TIMEOUT",
    "WEB_CONCURRENCY",
)


def suite(title: str, options: list[str], **extra: str) -> int:
    """One run, with its state in a directory of its own; pytest's exit code."""
    sys.stdout.write(f"\n--- the suite on {title} ---\n")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="onitama-tests-") as data:
        kept = {name: value for name, value in os.environ.items() if name not in UNSET}
        return subprocess.call(
            [sys.executable, "-m", "pytest", *PYTEST, *options],
            env={**kept, "ONITAMA_DATA": data, **extra},
        )


def main(options: list[str]) -> int:
    # Before two processes of the suite would do it at once.
    subprocess.call([sys.executable, "-m", "games.engine.compile"])
    if code := suite("SQLite", options):
        return code
    with ExitStack() as stack:
        url = os.environ.get("TEST_DATABASE_URL") or stack.enter_context(postgres.server())
        code = suite("PostgreSQL", ["--again", *options], TEST_DATABASE_URL=url)
    return 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
