"""The site's Celery application with an engine that sleeps a tenth of what it should think:
`celery -A tests.hasty_engine`. Each call is noted in the file ENGINE_CALLS, a line of JSON.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from celery.signals import worker_process_init

from games import thinking
from games.onitama.position import Action, Position
from onitama_site import celery_app as app

__all__ = ["app"]

TENTH = 0.1


def choose(history: Sequence[Position], level: str, *, seed: int, seconds: float | None) -> Action:
    call = {"at": time.time(), "pid": os.getpid(), "level": level, "seconds": seconds}
    # Short enough to be appended whole.
    with Path(os.environ["ENGINE_CALLS"]).open("a") as calls:
        calls.write(json.dumps(call) + "\n")
    time.sleep(TENTH * (thinking.seconds(level) if seconds is None else seconds))
    return history[-1].legal_moves()[seed % len(history[-1].legal_moves())]


@worker_process_init.connect
def replace_the_engine(**_: Any) -> None:
    """Once Django is there, which the engine's room needs."""
    vars(import_module("games.engine_room"))["choose"] = choose
