"""A command that is cut short ends quietly, whatever cut it short."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
    code = "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(30)"
    ended = run("shell", "--no-imports", "-c", code, stdout=subprocess.DEVNULL)
    assert (ended.returncode, ended.stderr) == (130, b"")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_who_plays_a_match_ends_with_it_however_it_ends() -> None:
    code = (
        "from games.engine.match import Match; from games.engine.players import parse_setting\n"
        "import time\n"
        "if __name__ == '__main__':\n"
        "    random = parse_setting('random')\n"
        "    for pair in Match(a=random, b=random, ms=1).play(10**6, 2):\n"
        "        print(flush=True)\n"
        "        time.sleep(60)\n"
    )
    match = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert match.stdout is not None
        assert match.stdout.readline()
        children = children_of(match.pid)
        assert len(children) >= 2
    finally:
        match.send_signal(signal.SIGKILL)
        match.communicate()
    until = time.monotonic() + 20
    while any(is_running(child) for child in children) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [child for child in children if is_running(child)]


def children_of(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the name in brackets: the state, then the parent.
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(status.parent.name))
    return found


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
