"""Starts the site's processes for tests as copies of one that has loaded what they all need.

To load Django and Celery takes a process more time than most tests let it work. What of it is the
site's own, or asks for settings, each copy loads by itself. tests/test_runner.py starts everything
as `make play` does.
"""

from __future__ import annotations

import os
import runpy
import socket
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import SIGKILL

# None of these asks for a setting while it is loaded.
_LOADED = [
    *("celery.apps.beat", "celery.apps.worker", "celery.bin.celery"),
    *("celery.concurrency.prefork", "celery.contrib.django.task", "kombu.transport.redis"),
    *("django.contrib.admin.widgets", "django.contrib.auth.hashers", "django.core.handlers.wsgi"),
    *("django.core.management", "django.db.models", "django.forms", "django.template.loader_tags"),
    *("django.views.generic", "gunicorn.app.wsgiapp", "gunicorn.workers.gthread", "icalendar"),
]
_FORGE = get_context("forkserver")
_FORGE.set_forkserver_preload(_LOADED)


@dataclass(frozen=True)
class Copy:
    """A process in a session of its own, with all that it starts."""

    process: BaseProcess

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        listener: socket.socket | None = None,
    ) -> Copy:
        """Run `python ... -m MODULE ARGUMENTS`; a listener goes where its number stands."""
        arguments = tuple(command[command.index("-m") + 1 :])
        process = _FORGE.Process(target=_become, args=(arguments, environment, log, listener))
        process.start()
        return cls(process)

    def kill(self) -> None:
        """At once, and all it started."""
        pid = self.process.pid
        assert pid is not None
        # It may not have a session yet; then it has started nothing.
        with suppress(ProcessLookupError):
            os.killpg(pid, SIGKILL)
        self.process.kill()
        self.process.join()


def _become(
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    log: Path,
    listener: socket.socket | None,
) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    # Only now: it brings the application, which reads them.
    from onitama_site.tied import die_with

    die_with(os.getppid())
    for number, path, how in ((0, os.devnull, os.O_RDONLY), (1, log, os.O_WRONLY | os.O_APPEND)):
        opened = os.open(path, how | os.O_CREAT, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.dup2(1, 2)
    module, *rest = arguments
    if listener is not None:
        rest = [f"fd://{listener.fileno()}" if it.startswith("fd://") else it for it in rest]
    warnings.filterwarnings("ignore", "You're running the worker with superuser privileges")
    sys.argv[1:] = rest
    runpy.run_module(module, run_name="__main__", alter_sys=True)
