"""Processes that work for another one."""

from __future__ import annotations

import multiprocessing
import os
import signal
from threading import Thread


def end_with_parent() -> None:
    """Called in a child: it is sent SIGTERM when its parent is gone, who, killed, could not."""
    Thread(target=_wait_for_the_end, daemon=True).start()


def _wait_for_the_end() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - only a child has one to end with
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
