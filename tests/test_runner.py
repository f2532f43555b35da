"""`make play`'s runner as its users meet it: starting, refusing, stopping, and being killed."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings

from onitama_site.processes import Child
from onitama_site.runner import PATIENCE, QUEUES
from tests.servers import ROOT, Mood, PostOffice, clean_environment, free_port, wait_for

pytestmark = pytest.mark.processes
# As long as the runner itself may wait for its children, one kind after the other.
PATIENT = sum(PATIENCE.values())
START_SECONDS = 60
COMMAND = [sys.executable, "-m", "onitama_site.runner"]
# Each worker has a process that works, the engine's several.
WORKERS = 2 * len(QUEUES) + settings.ENGINE_WORKERS - 1


@dataclass(frozen=True)
class Process:
    """One of the machine's processes, told from a later one of the same number by its start."""

    pid: int
    parent: int
    began: str
    command: str

    @classmethod
    def all(cls) -> list[Process]:
        return [found for path in Path("/proc").glob("[0-9]*") if (found := cls._read(path))]

    @classmethod
    def _read(cls, path: Path) -> Process | None:
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            return None
        if fields[0] == "Z":
            return None
        return cls(int(path.name), int(fields[1]), fields[19], command)

    @property
    def ticks(self) -> int:
        """The processor's time it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    @property
    def alive(self) -> bool:
        now = self._read(Path(f"/proc/{self.pid}"))
        return now is not None and now.began == self.began


def descendants(pid: int) -> list[Process]:
    everybody, found, parents = Process.all(), [], {pid}
    while children := [p for p in everybody if p.parent in parents and p not in found]:
        found += children
        parents = {process.pid for process in children}
    return found


class Run:
    """One run of the runner on a data directory, its output in a file."""

    def __init__(self, data: Path, log: Path, **variables: str) -> None:
        environment = clean_environment(data, **{"PORT": str(free_port()), **variables})
        self.log = log
        with log.open("wb") as output:
            self.child = Child.start("runner", COMMAND, environment=environment, output=output)

    @property
    def output(self) -> str:
        return self.log.read_text()

    def address(self) -> str:
        """Where it serves, once it says so."""

        def said() -> str:
            assert not self.child.ended, self.output
            found = re.search(r"Onitama is served at (\S+)", self.output)
            return found[1] if found and "Press Ctrl-C" in self.output else ""

        return wait_for(said, START_SECONDS)

    def everything(self) -> list[Process]:
        """The children once all are there, each with what it forked in turn."""
        self.address()
        # gunicorn and its two, the workers, beat and the broker.
        everybody = 3 + WORKERS + 2
        wait_for(lambda: len(descendants(self.child.process.pid)) >= everybody, 20)
        return descendants(self.child.process.pid)

    def at_rest(self) -> list[Process]:
        """Everything, once it has come up and only waits."""
        processes = self.everything()

        def quiet() -> bool:
            before = [process.ticks for process in processes]
            time.sleep(1)
            return [process.ticks for process in processes] == before

        wait_for(quiet, 30)
        return descendants(self.child.process.pid)

    def exit_code(self, seconds: float = 30) -> int:
        wait_for(lambda: self.child.ended, seconds, every=0.02)
        return self.child.process.wait()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data as a first start leaves them, before anything runs."""
    data = tmp_path_factory.mktemp("prepared") / "data"
    data.mkdir(mode=0o700)
    code = "from onitama_site import runner; runner.configure(8000); runner.prepare()"
    command = [sys.executable, "-c", code]
    subprocess.run(command, cwd=ROOT, env=clean_environment(data), check=True)
    return data


@pytest.fixture
def second_start(prepared: Path, tmp_path: Path) -> None:
    """It has been started before here, which saves seconds."""
    shutil.copytree(prepared, tmp_path / "data")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def make(**variables: str) -> Run:
        log = tmp_path / f"run-{len(runs)}.log"
        runs.append(Run(tmp_path / "data", log, **variables))
        return runs[-1]

    yield make
    for run in runs:
        run.child.kill()


def status_of(address: str) -> int:
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - our own
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def only(processes: list[Process], *words: str) -> list[Process]:
    return [p for p in processes if all(word in p.command for word in words)]


def ends(processes: list[Process], seconds: float) -> dict[Process, float]:
    """When each was first seen gone; fails unless all are within so many seconds.

    One that ended before another never has the later moment: they are read again until no more are
    gone, for one can end just after it was read and just before another is.
    """
    gone: dict[Process, float] = {}
    limit = time.monotonic() + seconds
    while left := [process for process in processes if process not in gone]:
        assert time.monotonic() < limit, f"still there: {set(left)}"
        seen: list[Process] = []
        while (now := [process for process in left if not process.alive]) != seen:
            seen = now
        gone |= dict.fromkeys(seen, time.monotonic())
        time.sleep(0.005)
    return gone


# --- starting -----------------------------------------------------------------------------------


def test_it_serves_the_site_and_keeps_its_data(start: Callable[..., Run], tmp_path: Path) -> None:
    run = start()
    address = run.address()
    assert status_of(address) == 200
    assert status_of(f"{address}/rules/") == 200
    assert f"{address}/mailbox/" in run.output
    assert status_of(f"{address}/mailbox/") == 200
    run.child.ask()
    assert run.exit_code() == 0

    data = tmp_path / "data"
    assert mode(data) == 0o700
    assert mode(data / "secret_key") == mode(data / "onitama.sqlite3") == 0o600
    assert mode(data / "broker" / "valkey.conf") == 0o600
    kept = {name: (data / name).stat() for name in ("secret_key", "static/.sources")}

    again = start()
    assert status_of(again.address()) == 200
    for name, seen in kept.items():
        assert (data / name).stat().st_mtime_ns == seen.st_mtime_ns, f"{name} was made anew"


@pytest.mark.usefixtures("second_start")
def test_it_refuses_data_that_is_being_served(start: Callable[..., Run], tmp_path: Path) -> None:
    address = start().address()
    second = start()
    assert second.exit_code() == 1
    assert second.output == f"The data in {tmp_path / 'data'} is already served at {address}.\n"
    assert status_of(f"{address}/") == 200


@pytest.mark.usefixtures("second_start")
def test_it_takes_the_next_free_port(start: Callable[..., Run]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        run = start(PORT=str(taken))
        address = run.address()
    port = int(address.rpartition(":")[2])
    assert port > taken
    assert f"Port {taken} is taken; {port} is used instead." in run.output
    assert status_of(address) == 200


def test_it_closes_an_empty_directory_to_others(start: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    start()
    wait_for(lambda: mode(tmp_path / "data") == 0o700, START_SECONDS)


def test_it_refuses_a_directory_of_other_things(start: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    (tmp_path / "data" / "letter").touch()
    run = start()
    assert run.exit_code() == 1
    assert "ONITAMA_DATA" in run.output
    assert mode(tmp_path / "data") == 0o755


@pytest.mark.parametrize(
    "variables",
    [
        {"SITE_URL": "https://onitama.example"},
        {"SITE_URL": "nonsense"},
        {"ALLOWED_HOSTS": "onitama.example"},
        {"PORT": "none"},
        {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_it_refuses_nonsense_in_plain_words(
    start: Callable[..., Run], variables: dict[str, str]
) -> None:
    run = start(**variables)
    assert run.exit_code() == 1
    assert run.output
    assert "Traceback" not in run.output


@pytest.mark.parametrize("name", ["lock", "secret_key", "static", "broker"])
def test_it_says_what_of_its_data_cannot_be_used(
    start: Callable[..., Run], tmp_path: Path, name: str
) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    # As good as unwritable, to root too.
    (data / name).touch() if name in {"static", "broker"} else (data / name).mkdir()
    run = start()
    assert run.exit_code() == 1
    assert str(data / name) in run.output
    assert "Traceback" not in run.output


# --- stopping -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("second_start")
def test_it_stops_in_order_at_ctrl_c(start: Callable[..., Run]) -> None:
    run = start()
    processes = run.at_rest()
    run.child.process.send_signal(signal.SIGINT)
    gone = ends(processes, PATIENT)
    assert run.exit_code() == 0
    assert "had to be killed" not in run.output
    parts = [
        only(processes, "gunicorn"),
        only(processes, "celery", " beat "),
        only(processes, "celery", " worker -Q "),
        only(processes, "valkey"),
    ]
    assert [len(part) for part in parts] == [3, 1, WORKERS, 1]
    for earlier, later in zip(parts, parts[1:], strict=False):
        assert max(gone[process] for process in earlier) <= min(gone[process] for process in later)


@pytest.mark.usefixtures("second_start")
def test_a_worker_finishes_its_task(
    start: Callable[..., Run], post_office: PostOffice, tmp_path: Path
) -> None:
    post_office.mood = Mood.SLOW
    run = start(EMAIL_URL=post_office.url, SWEEP_SECONDS="1")
    run.everything()
    owe_a_mail(tmp_path / "data")
    wait_for(lambda: post_office.swallowed, 20)
    run.child.process.send_signal(signal.SIGINT)
    assert run.exit_code() == 0
    assert len(post_office.received) == 1
    assert mail_was_sent(tmp_path / "data")


@pytest.mark.usefixtures("second_start")
def test_a_second_ctrl_c_leaves_nothing_behind(
    start: Callable[..., Run], post_office: PostOffice, tmp_path: Path
) -> None:
    post_office.mood = Mood.STALL
    run = start(EMAIL_URL=post_office.url, SWEEP_SECONDS="1", SMTP_TIMEOUT="60")
    processes = run.everything()
    owe_a_mail(tmp_path / "data")
    wait_for(lambda: post_office.swallowed, 20)
    run.child.process.send_signal(signal.SIGINT)
    ends(only(processes, "gunicorn"), 20)
    run.child.process.send_signal(signal.SIGINT)
    ends(processes, 10)
    run.exit_code()
    assert not mail_was_sent(tmp_path / "data")


def owe_a_mail(data: Path) -> None:
    code = "from django.core.mail import send_mail; send_mail('a', 'b', None, ['c@example.org'])"
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    subprocess.run(command, cwd=ROOT, env=clean_environment(data), check=True)


def mail_was_sent(data: Path) -> bool:
    with closing(sqlite3.connect(data / "onitama.sqlite3")) as database:
        rows = database.execute("SELECT sent FROM accounts_mail").fetchall()
    assert len(rows) == 1
    return rows[0][0] is not None


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
@pytest.mark.usefixtures("second_start")
def test_ctrl_c_at_a_terminal_ends_make_well_too(tmp_path: Path) -> None:
    makefile = tmp_path / "Makefile"
    makefile.write_text(f"play:\n\t@exec {sys.executable} -m onitama_site.runner\n")
    environment = clean_environment(tmp_path / "data", PORT=str(free_port()))
    ours, theirs = pty.openpty()
    terminal = os.ttyname(theirs)
    # The first terminal that the leader of a session opens becomes its own.
    script = f"exec make -f {makefile} play < {terminal} > {terminal} 2>&1"
    process = subprocess.Popen(
        ["sh", "-c", script], cwd=ROOT, env=environment, start_new_session=True
    )
    try:
        read_until(ours, b"Press Ctrl-C")
        processes = descendants(process.pid)
        os.write(ours, b"\x03")
        read_until(ours, b"Stopping.")
        ends(processes, PATIENT)
        assert process.wait(10) == 0
    finally:
        for left in [*descendants(process.pid)]:
            os.kill(left.pid, signal.SIGKILL)
        process.kill()
        process.wait()
        os.close(theirs)
        os.close(ours)


def read_until(terminal: int, words: bytes) -> None:
    seen, limit = b"", time.monotonic() + START_SECONDS
    while words not in seen:
        assert time.monotonic() < limit, seen.decode()
        seen += os.read(terminal, 4096)


# --- being killed -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["gunicorn"], "web server"),
        (["celery", " beat "], "beat"),
        (["celery", " worker -Q engine "], "engine worker"),
        (["valkey"], "broker"),
    ],
    ids=["web", "beat", "worker", "broker"],
)
@pytest.mark.usefixtures("second_start")
def test_one_that_dies_takes_the_rest_along(
    start: Callable[..., Run], words: list[str], name: str
) -> None:
    run = start()
    processes = run.everything()
    mine = [p for p in only(processes, *words) if p.parent == run.child.process.pid]
    os.kill(mine[0].pid, signal.SIGKILL)
    assert run.exit_code() == 1
    assert f"The {name} has ended (exit code -9)." in run.output
    ends(processes, 1)


@pytest.mark.usefixtures("second_start")
def test_killed_itself_it_leaves_nothing_running(start: Callable[..., Run]) -> None:
    run = start()
    processes = run.at_rest()
    # The hardest case: children of children that can do nothing any more.
    for process in processes:
        if process.parent != run.child.process.pid:
            os.kill(process.pid, signal.SIGSTOP)
    run.child.process.kill()
    ends(processes, 3)
    # And the data is free again.
    assert status_of(start().address()) == 200
