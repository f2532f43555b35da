"""Compiling beside the running site: what `make play` says of it, whatever the child does."""

from __future__ import annotations

import sys
from pathlib import Path

from onitama_site.compiler import Compiler
from tests.servers import wait_for

BEGINS = "The computer's engine is being compiled, once; until then it plays simply."


def watched(directory: Path, code: str, until: str) -> list[str]:
    """All that is said, from the start until these words."""
    said: list[str] = []
    compiler = Compiler(directory / "compile.log", said.append, [sys.executable, "-c", code])
    compiler.start()

    def heard() -> bool:
        compiler.look()
        return any(until in line for line in said)

    try:
        wait_for(heard, 30, every=0.02)
        compiler.look()
    finally:
        compiler.stop()
    return said


def test_it_tells_each_step_and_the_end(tmp_path: Path) -> None:
    code = "print('1/2 first 1.0 s'); print('2/2 second 9.0 s')"
    assert watched(tmp_path, code, "compiled:") == [
        BEGINS,
        "  1/2 first 1.0 s",
        "  2/2 second 9.0 s",
        "The engine is compiled: the computer plays at full strength.",
    ]


def test_it_tells_a_step_as_soon_as_it_is_done(tmp_path: Path) -> None:
    code = "import time; print('1/2 first', flush=True); print('2', end='', flush=True);"
    said = watched(tmp_path, code + " time.sleep(60)", "first")
    assert said == [BEGINS, "  1/2 first"]


def test_it_says_where_to_read_why_it_failed(tmp_path: Path) -> None:
    said = watched(tmp_path, "raise SystemExit('no room')", "could not")
    assert said[-1] == (
        f"The engine could not be compiled: see {tmp_path / 'compile.log'}."
        " The computer plays simply."
    )
    assert "no room" in (tmp_path / "compile.log").read_text()


def test_a_stop_ends_it_at_once(tmp_path: Path) -> None:
    compiler = Compiler(
        tmp_path / "log", lambda _: None, [sys.executable, "-c", "import time; time.sleep(60)"]
    )
    compiler.start()
    child = compiler._child
    assert child is not None
    compiler.stop()
    assert child.ended
    compiler.look()
