"""The tests, and what they must find set before anything of ours is imported."""

from __future__ import annotations

import os
from pathlib import Path

# Compiled once for every run, though each has its other state in a directory of its own.
os.environ["NUMBA_CACHE_DIR"] = str(Path(__file__).parent.parent / ".venv" / "numba")
