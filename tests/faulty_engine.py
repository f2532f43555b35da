"""The site's Celery application with an engine that fails: `celery -A tests.faulty_engine`.

ENGINE_FAULT says how (raise or hang); each call is first noted in the file ENGINE_CALLS, and each
process that can be called in that file's `.ready`.
"""

from __future__ import annotations

import os
import time
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from celery.signals import worker_process_init

from onitama_site import celery_app as app

__all__ = ["app"]


def note(path: Path) -> None:
    with path.open("a") as lines:
        lines.write(f"{os.getpid()}\n")


def choose(*_position: Any, **_budget: Any) -> NoReturn:
    note(Path(os.environ["ENGINE_CALLS"]))
    if os.environ["ENGINE_FAULT"] == "raise":
        raise RuntimeError("an engine that fails")
    while True:
        time.sleep(1)


@worker_process_init.connect
def replace_the_engine(**_: Any) -> None:
    """Once Django is there, which the engine's room needs."""
    room = vars(import_module("games.engine_room"))
    # The real one, which takes seconds to load, is not needed.
    room |= {"choose": choose, "prepare": lambda: None}
    note(Path(os.environ["ENGINE_CALLS"]).with_suffix(".ready"))
