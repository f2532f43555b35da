"""Nudges workers after a commit; a nudge may be lost, for the rows say what is due."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from celery import current_app
from django.db import transaction

logger = logging.getLogger(__name__)

# While the broker is away, only one request in so many seconds waits for it to time out.
QUIET_SECONDS = 10.0
# The schedule has found the row by then: a worker that was away shall not wake to a heap.
EXPIRES_SECONDS = 60

_quiet_until = 0.0


@dataclass(frozen=True)
class Nudge:
    """One task with its arguments; equal ones in a transaction are one."""

    task: str
    args: tuple[int | str, ...]

    def __call__(self) -> None:
        global _quiet_until
        if time.monotonic() < _quiet_until:
            return
        try:
            current_app.send_task(
                self.task, args=self.args, retry=False, expires=EXPIRES_SECONDS, ignore_result=True
            )
        except Exception as error:
            # Of every kind: kombu's, redis's, the socket's. The commit stands, whatever it was.
            _quiet_until = time.monotonic() + QUIET_SECONDS
            logger.warning("%s was not nudged: %r", self.task, error)


def nudge(task: str, *args: int | str) -> None:
    """Ask for the task by name once the current transaction, if any, is committed."""
    wanted = Nudge(task, args)
    waiting = transaction.get_connection().run_on_commit
    if not any(func == wanted for _sids, func, _robust in waiting):
        transaction.on_commit(wanted, robust=True)
