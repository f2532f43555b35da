"""Processes that work for another one."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread


@contextmanager
def unheard_by_children() -> Iterator[None]:
    """A Ctrl-C at the terminal, which goes to all: processes started inside never hear it, not even
    while they still load. It is for this one, which asks them to end. In the main thread only."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def end_with_parent() -> None:
    """Called in a child: it is sent SIGTERM when its parent is gone, who, killed, could not."""
    Thread(target=_wait_for_the_end, daemon=True).start()


def _wait_for_the_end() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - only a child has one to end with
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
