"""A command that is cut short ends quietly, whatever cut it short."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")
ROOT = Path(__file__).parent.parent
START = "1121100000000000000033433 boar,ox,horse,elephant,crab b"


def run(*arguments: str, stdout: int) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )


def test_it_ends_with_its_reader() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = run("perft", START, "1", stdout=writing)
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_it_says_in_a_line_that_the_disk_is_full() -> None:
    with open("/dev/full", "wb") as full:
        ended = run("perft", START, "1", stdout=full.fileno())
    assert (ended.returncode, ended.stderr) == (1, b"No space left on device\n")


def test_an_interrupt_ends_it_without_a_traceback() -> None:
    # As it is at a terminal: whoever runs the tests in the background has it ignored.
    code = (
        "import os, signal, time; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "os.kill(os.getpid(), signal.SIGINT); time.sleep(30)"
    )
    ended = run("shell", "--no-imports", "-c", code, stdout=subprocess.DEVNULL)
    assert (ended.returncode, ended.stderr) == (130, b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_closed_streams_do_not_end_it(closed: str) -> None:
    command = f"{sys.executable} manage.py analyse --stdin --nodes 10 {closed}"
    ended = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, input=START, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (
            "engine_match engine:seconds=90 engine:seconds=90 --games 4 --jobs 2",
            1,
            "stopped after 0 pairs\n"
            "CommandError: Stopped before the first pair of games was over.\n",
        ),
        ("tune_engine {} --games 10000 --nodes 100000 --jobs 2", 130, ""),
    ],
    ids=["engine_match", "tune_engine"],
)
def test_ctrl_c_ends_who_works_for_a_command_without_a_word(
    tmp_path: Path, command: str, code: int, said: str
) -> None:
    """As a terminal sends it, to all of them at once, while the children still load."""
    arguments = command.format(tmp_path / "out.npz").split()
    started = subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever runs the tests in the background has it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        children = wait_until(lambda: at_work(started.pid, 0.2), 60)
        os.killpg(started.pid, signal.SIGINT)
        _, complaints = started.communicate(timeout=20)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
    assert (started.returncode, complaints) == (code, said)
    wait_until(lambda: not any(map(is_running, children)), 20)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
@pytest.mark.parametrize(
    "command",
    [
        "engine_match engine:seconds=90 engine:seconds=90 --games 4 --jobs 2",
        "tune_engine {} --games 10000 --nodes 100000 --jobs 2",
    ],
    ids=lambda command: command.split()[0],
)
def test_who_works_for_a_command_ends_with_it_however_it_ends(tmp_path: Path, command: str) -> None:
    """Deep in thought, where it hears of nothing else for long."""
    arguments = command.format(tmp_path / "out.npz").split()
    started = subprocess.Popen([sys.executable, "manage.py", *arguments], cwd=ROOT)
    try:
        children = wait_until(lambda: at_work(started.pid, 3), 60)
    finally:
        started.kill()
        started.wait()
    wait_until(lambda: not any(map(is_running, children)), 20)


def at_work(parent: int, seconds: float) -> list[int]:
    """Its children, once two have been at it for so many seconds of the processor's."""
    children = children_of(parent)
    return children if sum(seconds_used(child) > seconds for child in children) >= 2 else []


def wait_until(found: Callable[[], T], seconds: float) -> T:
    until = time.monotonic() + seconds
    while not (what := found()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return what


def children_of(parent: int) -> list[int]:
    found = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [process for process in found if status_of(process)[1] == str(parent)]


def is_running(process: int) -> bool:
    return status_of(process)[0] not in "ZX"


def seconds_used(process: int) -> float:
    return int(status_of(process)[11]) / os.sysconf("SC_CLK_TCK")


def status_of(process: int) -> list[str]:
    """After the name in brackets: the state, the parent, ...; as of a dead one where it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["X", *["0"] * 50]
