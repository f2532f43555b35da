"""The site's Celery application with an engine that fails: `celery -A tests.faulty_engine`.

ENGINE_FAULT says how (raise or hang); each call is first noted in the file ENGINE_CALLS.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NoReturn

from games.engine import levels
from onitama_site import celery_app as app

__all__ = ["app"]


def choose(*_position: Any, **_budget: Any) -> NoReturn:
    with Path(os.environ["ENGINE_CALLS"]).open("a") as calls:
        calls.write(f"{os.getpid()}\n")
    if os.environ["ENGINE_FAULT"] == "raise":
        raise RuntimeError("an engine that fails")
    while True:
        time.sleep(1)


vars(levels)["choose"] = choose
