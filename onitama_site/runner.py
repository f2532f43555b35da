"""`make play`: prepares the data and runs web, beat, four workers and the broker as one."""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connections

from games.engine import compile as compilation
from onitama_site import broker, environment
from onitama_site.compiler import Compiler
from onitama_site.processes import Child

BASE_DIR = Path(__file__).resolve().parent.parent
QUEUES = ("sweep", "mail", "engine", "tables")
PORTS_TRIED = 100
START_SECONDS = 60
# Seconds to end by oneself: the worker's last task may take its whole time limit.
PATIENCE = {"web": 15.0, "beat": 5.0, "worker": 60.0, "broker": 10.0}
_TICK = 0.1


class RefusedError(Exception):
    """A start that cannot be; the text is one line for the terminal."""


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


# --- what the user asks for -------------------------------------------------------------------


@dataclass
class Wishes:
    """Signals, counted; the loops below look at them between two steps."""

    stop: bool = False
    interrupts: int = 0

    def listen(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._hear)

    def _hear(self, number: int, _frame: object) -> None:
        self.stop = True
        self.interrupts += number == signal.SIGINT

    def hurry(self) -> bool:
        """A second Ctrl-C; not a second SIGTERM, which `make` adds to one sent to the group."""
        return self.interrupts > 1


@contextmanager
def own_terminal() -> Iterator[None]:
    """Become the terminal's foreground job, as a shell would make us.

    Else Ctrl-C reaches `make` too, which ends by the signal and hides our exit code.
    """
    group = os.getpgrp()
    with ExitStack() as stack:
        try:
            terminal = os.open("/dev/tty", os.O_RDWR)
        except OSError:
            yield
            return
        stack.callback(os.close, terminal)
        if os.tcgetpgrp(terminal) != group or os.getpid() == group:
            yield
            return
        # Ctrl-Z would stop us and leave `make`, and the shell behind it, waiting.
        for number in (signal.SIGTTOU, signal.SIGTSTP):
            signal.signal(number, signal.SIG_IGN)
        os.setpgid(0, 0)
        os.tcsetpgrp(terminal, os.getpid())
        try:
            yield
        finally:
            with suppress(OSError):
                os.tcsetpgrp(terminal, group)


# --- the data -----------------------------------------------------------------------------------


def claim(data: Path) -> int:
    """Make the directory ours alone, for as long as the returned descriptor is open."""
    try:
        _close_to_others(data)
        lock = os.open(data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise RefusedError(f"The data in {data} cannot be used: {error}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        address = os.read(lock, 200).decode()
        where = f"already served at {address}" if address else "just being started"
        raise RefusedError(f"The data in {data} is {where}.") from None
    os.ftruncate(lock, 0)
    return lock


def _close_to_others(data: Path) -> None:
    mode = stat.S_IMODE(data.stat().st_mode)
    if not mode & 0o077:
        return
    # Whatever else lives in such a directory may be meant for others' eyes.
    names = {path.name for path in data.iterdir()}
    if names and not names & {"lock", "secret_key"}:
        raise RefusedError(f"{data} holds other files: give ONITAMA_DATA a directory of its own.")
    data.chmod(0o700)


def listen(first: int) -> socket.socket:
    """A socket on `first` or the next free port; held from here on, so nobody can take it."""
    for port in range(first, min(first + PORTS_TRIED, 65536)):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(128)
        except OSError:
            listener.close()
        else:
            return listener
    raise RefusedError(f"No port from {first} on is free: set PORT.")


def configure(port: int) -> None:
    """Fill in what the user has not set; children read the same environment."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "onitama_site.settings")
    if not environment.text("SITE_URL"):
        os.environ["SITE_URL"] = f"http://127.0.0.1:{port}"
    host = urlsplit(environment.text("SITE_URL")).hostname or ""
    if not environment.text("EMAIL_URL") and environment.is_loopback(host):
        os.environ.setdefault("ONITAMA_MAILBOX", "1")


def prepare() -> None:
    """Bring tables and static files up to date."""
    try:
        django.setup()
        call_command("migrate", interactive=False, verbosity=0)
        call_command("createcachetable", verbosity=0)
        collect_static_files()
    except ImproperlyConfigured as error:
        raise RefusedError(str(error)) from None
    except (CommandError, DatabaseError) as error:
        raise RefusedError(f"The database cannot be prepared: {error}") from error
    except OSError as error:
        raise RefusedError(f"The data cannot be prepared: {error}") from error
    connections.close_all()


def collect_static_files() -> None:
    """Only when a source has changed, for it takes seconds."""
    stamp = Path(settings.STATIC_ROOT) / ".sources"
    sources = _fingerprint()
    if stamp.exists() and stamp.read_text() == sources:
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(sources)


def _fingerprint() -> str:
    digest = hashlib.sha256(str(settings.STORAGES).encode())
    for finder in get_finders():
        for name, storage in finder.list([]):
            seen = os.stat(storage.path(name))
            digest.update(f"{name} {seen.st_size} {seen.st_mtime_ns}\n".encode())
    return digest.hexdigest()


# --- the processes ------------------------------------------------------------------------------


def web_command(descriptor: int) -> list[str]:
    """Serves on a listening socket that the child inherits under this number."""
    gunicorn = [sys.executable, "-m", "gunicorn", "-c", "python:onitama_site.web"]
    return [*gunicorn, "-b", f"fd://{descriptor}"]


def worker_command(queue: str, application: str = "onitama_site") -> list[str]:
    processes = settings.ENGINE_WORKERS if queue == "engine" else 1
    # The workers need not know of one another.
    options = ["-Q", queue, "-n", f"{queue}@%h", "-c", f"{processes}", "-l", "warning"]
    options += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    return [*_celery(application), "worker", *options]


def beat_command(data: Path) -> list[str]:
    options = ["-s", str(data / "beat-schedule"), "--pidfile", "", "-l", "warning"]
    return [*_celery("onitama_site"), "beat", *options]


def _celery(application: str) -> list[str]:
    # Each worker would say it in ten lines; announce() says it in one.
    quiet = "ignore:You're running the worker with superuser privileges"
    # Django's checks are for those who write code, and load every page's code into each worker.
    return [sys.executable, "-W", quiet, "-m", "celery", "-q", "--skip-checks", "-A", application]


@dataclass
class Site:
    """The children, in the order in which they stop."""

    data: Path
    wishes: Wishes
    web: list[Child] = field(default_factory=list)
    beat: list[Child] = field(default_factory=list)
    workers: list[Child] = field(default_factory=list)
    broker: list[Child] = field(default_factory=list)
    compiler: Compiler | None = None

    def start(self, listener: socket.socket) -> None:
        if not environment.text("REDIS_URL"):
            self._start_broker()
        number = listener.fileno()
        self.web.append(Child.start("web server", web_command(number), descriptors=[number]))
        # The page first: the others would make it wait for the processor.
        self._wait_for_page(listener.getsockname()[1])
        if self.wishes.stop:
            return
        for queue in QUEUES:
            self.workers.append(Child.start(f"{queue} worker", worker_command(queue)))
        self.beat.append(Child.start("beat", beat_command(self.data)))

    def _start_broker(self) -> None:
        try:
            server = broker.start(self.data / "broker")
        except (broker.BrokerError, OSError) as error:
            raise RefusedError(f"Not started: {error}") from None
        self.broker.append(server.child)
        os.environ["REDIS_URL"] = server.url

    def _wait_for_page(self, port: int) -> None:
        limit = time.monotonic() + START_SECONDS
        while not self.wishes.stop and not self.fallen() and not _answers(port):
            if time.monotonic() > limit:
                raise RefusedError(f"The page did not answer within {START_SECONDS} seconds.")
            time.sleep(_TICK)

    def children(self) -> list[Child]:
        return [*self.web, *self.beat, *self.workers, *self.broker]

    def fallen(self) -> Child | None:
        return next((child for child in self.children() if child.ended), None)

    def compile_engine(self) -> None:
        """Where it is not compiled yet, unless it is not wanted."""
        if settings.ENGINE_COMPILE and not compilation.ready():
            self.compiler = Compiler(self.data / "compile.log", say)
            self.compiler.start()

    def watch(self) -> int:
        """Wait for a wish to stop, then 0, or the end of a child, then 1."""
        while not self.wishes.stop:
            if self.compiler:
                self.compiler.look()
            if fallen := self.fallen():
                say(f"The {fallen.name} has ended (exit code {fallen.kill()}). Stopping the rest.")
                return 1
            time.sleep(_TICK)
        say("Stopping.")
        return 0

    def stop(self) -> None:
        if self.compiler:
            self.compiler.stop()
        for kind, children in (
            ("web", self.web),
            ("beat", self.beat),
            ("worker", self.workers),
            ("broker", self.broker),
        ):
            for child in children:
                child.ask()
            for child in children:
                if not child.end(PATIENCE[kind], self.wishes.hurry):
                    say(f"The {child.name} had to be killed.")


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/", headers={"Host": urlsplit(settings.SITE_URL).netloc})
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


# --- one run ------------------------------------------------------------------------------------


def announce(port: int, data: Path) -> None:
    here = f"http://127.0.0.1:{port}"
    public = "" if here == settings.SITE_URL else f" (to the world: {settings.SITE_URL})"
    say(f"\nOnitama is served at {here}{public}")
    if settings.MAILBOX:
        say(f"Every mail it sends is shown at {here}/mailbox/")
    say(f"All data is kept in {data}")
    if os.geteuid() == 0:
        say("It runs as root; a user of its own would be safer.")
    say("Press Ctrl-C to stop.\n")


def run(wishes: Wishes) -> int:
    data = environment.data_directory(BASE_DIR)
    lock = claim(data)
    wanted = int(environment.number("PORT", 8000, least=1, most=65535))
    listener = listen(wanted)
    port = listener.getsockname()[1]
    if port != wanted:
        say(f"Port {wanted} is taken; {port} is used instead.")
    os.write(lock, f"http://127.0.0.1:{port}".encode())
    configure(port)
    prepare()
    if wishes.stop:
        return 0
    site = Site(data, wishes)
    try:
        site.start(listener)
        if not wishes.stop and not site.fallen():
            announce(port, data)
            site.compile_engine()
        return site.watch()
    finally:
        listener.close()
        site.stop()


def main() -> int:
    os.chdir(BASE_DIR)
    os.umask(0o077)
    wishes = Wishes()
    wishes.listen()
    try:
        with own_terminal():
            return run(wishes)
    except (RefusedError, ImproperlyConfigured) as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
