"""Where Numba is missing, what cannot do without it says so in a line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import ROOT

MANAGE = "from django.core.management import *; execute_from_command_line(['manage.py', *{!r}])"
COMPILE = "import runpy; runpy.run_module('games.engine.compile', run_name='__main__')"


@pytest.mark.parametrize(
    "code",
    [
        COMPILE,
        MANAGE.format(["compile_engine"]),
        MANAGE.format(["engine_figures", "speed"]),
        MANAGE.format(["tune_engine", "weights.npz"]),
    ],
)
def test_it_says_so_and_fails(code: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.modules['numba'] = None; {code}"],
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert "engine needs" in ran.stderr and "import of numba" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
