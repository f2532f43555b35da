"""`make` says in plain words which Python it needs, before it installs anything."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import ROOT, clean_environment

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")


def make_venv(directory: Path, version: str) -> subprocess.CompletedProcess[str]:
    """With a Python that says it is of that version."""
    python = directory / "python"
    pretend = f"import sys; sys.version_info = {tuple(map(int, version.split('.')))}"
    python.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = --version ] && exec echo "Python {version}"\n'
        f'exec {sys.executable} -c "{pretend}; exec(sys.argv[1])" "$2"\n'
    )
    python.chmod(0o700)
    return subprocess.run(
        ["make", "venv", f"VENV={directory / 'venv'}", f"PYTHON={python}"],
        cwd=ROOT,
        env=clean_environment(directory),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("version", "reason"),
    [("3.10.12", "is too old"), ("3.16.0", "is too new for Numba"), ("4.0.0", "is too new")],
)
def test_it_names_the_pythons_it_can_use(tmp_path: Path, version: str, reason: str) -> None:
    run = make_venv(tmp_path, version)
    assert run.returncode != 0
    said = run.stderr.splitlines()[0]
    assert said.startswith(f"Python {version} {reason}")
    assert "install Python 3.11 to 3.15" in said
    assert not (tmp_path / "venv").exists()
