"""Real servers for tests: the site's own processes, a visitor, a mail server that can fail."""

from __future__ import annotations

import asyncio
import email
import http.client
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from enum import Enum
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import redis
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from django.conf import settings
from django.db import connection
from django.test import Client

from accounts.models import User
from onitama_site import broker, runner
from onitama_site.broker import Broker
from onitama_site.processes import Child
from tests.forge import Copy

ROOT = Path(__file__).parent.parent
PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR")
Found = TypeVar("Found")


def wait_for(what: Callable[[], Found | None], seconds: float, every: float = 0.1) -> Found:
    """The first true value of `what`; fails after so many seconds."""
    limit = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < limit, f"waited {seconds} s in vain"
        time.sleep(every)
    return found


def at_once(healthy: float) -> float:
    """The seconds an answer may take: one; on a machine so busy that answers take long anyway,
    twice what the same took before."""
    return max(1.0, 2 * healthy + 0.5)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_environment(data: Path, **variables: str) -> dict[str, str]:
    """Nothing of the user's own settings; the state in `data`. Nothing is compiled there."""
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    ours = {"PYTHONPATH": str(ROOT), "ONITAMA_DATA": str(data), "ENGINE_COMPILE": "0"}
    return {**kept, **ours, **variables}


# --- somebody at a browser --------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    text: str
    seconds: float


@dataclass
class Visitor:
    """Sends requests over a socket, keeps cookies, follows nothing."""

    port: int
    cookies: dict[str, str] = field(default_factory=lambda: {"csrftoken": secrets.token_hex(16)})

    def log_in(self, user: User) -> Visitor:
        client = Client()
        client.force_login(user)
        self.cookies["sessionid"] = client.cookies["sessionid"].value
        return self

    def get(self, path: str, **headers: str) -> Answer:
        return self._send("GET", path, None, headers)

    def post(self, path: str, fields: Mapping[str, object] | None = None) -> Answer:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        headers["X-CSRFToken"] = self.cookies["csrftoken"]
        return self._send("POST", path, urlencode(fields or {}), headers)

    def _send(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Answer:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        began = time.monotonic()
        try:
            link.request(method, path, body, {"Cookie": cookies, **headers})
            response = link.getresponse()
            text = response.read().decode()
        finally:
            link.close()
        seconds = time.monotonic() - began
        for line in response.headers.get_all("Set-Cookie") or ():
            self.cookies.update({name: m.value for name, m in SimpleCookie(line).items()})
        return Answer(response.status, response.headers, text, seconds)


# --- the site -----------------------------------------------------------------------------------


class Site:
    """The site's processes over the test's own database; ends them all when closed."""

    def __init__(self, directory: Path, static: Path, **variables: str) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.data.mkdir(mode=0o700)
        (self.data / "static").symlink_to(static)
        self.children: list[Child | Copy] = []
        self.environment = clean_environment(
            self.data,
            DATABASE_URL=database_url(),
            SECRET_KEY=settings.SECRET_KEY,
            **variables,
        )
        self.broker = self.start_broker()
        self.environment["REDIS_URL"] = self.broker.url
        self.port = 0

    def start_broker(self) -> Broker:
        """The first time on a free port; then there again, with what its disk has kept."""
        last: Broker | None = getattr(self, "broker", None)
        directory = self.directory / "broker"
        if last is None:
            self.broker = broker.start(directory)
        else:
            self.broker = broker.start(directory, port=last.port, password=last.password)
        self.children.append(self.broker.child)
        return self.broker

    def start_web(self) -> Copy:
        with runner.listen(free_port()) as listener:
            self.port = listener.getsockname()[1]
            self.environment["SITE_URL"] = f"http://127.0.0.1:{self.port}"
            web = self._start("web", runner.web_command(listener.fileno()), listener=listener)
        # Several times, so that each process has made ready what its first request needs.
        visitor = self.visitor()
        assert {visitor.get("/accounts/login/").status for _ in range(4)} == {200}
        return web

    def start_worker(self, queue: str, application: str = "onitama_site", **more: str) -> Copy:
        return self._start(queue, runner.worker_command(queue, application), more)

    def wait_for_workers(self, number: int) -> None:
        """Until so many listen."""
        with redis.Redis.from_url(self.broker.url) as client:
            # Where each of them says that it does.
            bound = "_kombu.binding.celery.pidbox"
            wait_for(lambda: client.scard(bound) == number, 60)

    def start_beat(self) -> Copy:
        return self._start("beat", runner.beat_command(self.data))

    def start_all(self) -> None:
        queues = [queue for queue in runner.QUEUES if queue != "tables"]
        for queue in queues:
            self.start_worker(queue)
        self.start_beat()
        self.wait_for_workers(len(queues))
        self.start_web()

    def _start(
        self,
        name: str,
        command: list[str],
        more: Mapping[str, str] | None = None,
        listener: socket.socket | None = None,
    ) -> Copy:
        environment = {**self.environment, **(more or {})}
        child = Copy.start(command, environment, self.directory / f"{name}.log", listener)
        self.children.append(child)
        return child

    def visitor(self, user: User | None = None) -> Visitor:
        visitor = Visitor(self.port)
        return visitor.log_in(user) if user else visitor

    def log(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text()

    def close(self) -> None:
        for child in reversed(self.children):
            child.kill()


def database_url() -> str:
    """The test database, as another process would name it."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        return f"sqlite:///{quote(name)}"
    return urlsplit(os.environ["TEST_DATABASE_URL"])._replace(path=f"/{name}").geturl()


# --- the mail server ------------------------------------------------------------------------


class Mood(Enum):
    """How the server treats a mail."""

    ACCEPT = "takes it"
    REFUSE = "refuses its recipient for good"
    DEFER = "asks to come back later"
    STALL = "takes the text and never answers"
    SLOW = "takes it after two seconds"
    DROP = "hangs up in the middle"


class PostOffice:
    """A real SMTP server in a thread; `moods` by recipient go before the general one."""

    def __init__(self) -> None:
        self.port = free_port()
        self.mood = Mood.ACCEPT
        self.moods: dict[str, Mood] = {}
        self.received: list[Message] = []
        # The same, as they came.
        self.wire: list[bytes] = []
        # Texts that came whole while the server stalled: it has them, the sender cannot know.
        self.swallowed: list[Message] = []
        self.tries: list[str] = []
        self._lock = threading.Lock()
        self._controller: Controller | None = None

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def open(self) -> None:
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port)
        self._controller.start()

    def close(self) -> None:
        """Connections are refused from here on."""
        if self._controller is not None:
            self._controller.stop()
            self._controller = None

    def to(self, address: str) -> list[Message]:
        with self._lock:
            return [message for message in self.received if message["To"] == address]

    def tried(self, address: str) -> int:
        with self._lock:
            return self.tries.count(address)

    # The names of these two are aiosmtpd's.

    async def handle_RCPT(
        self,
        server: SMTP,
        session: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        with self._lock:
            self.tries.append(address)
        if self._mood(address) is Mood.REFUSE:
            return "550 5.1.1 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        content = envelope.content
        assert isinstance(content, bytes)
        message = email.message_from_bytes(content)
        mood = self._mood(envelope.rcpt_tos[0])
        if mood is Mood.STALL:
            with self._lock:
                self.swallowed.append(message)
            await asyncio.sleep(3600)
        if mood is Mood.SLOW:
            with self._lock:
                self.swallowed.append(message)
            await asyncio.sleep(2)
        if mood is Mood.DROP:
            transport: Any = server.transport
            transport.abort()
            return "421 4.3.0 gone"
        if mood is Mood.DEFER:
            return "451 4.3.0 come back later"
        with self._lock:
            self.received.append(message)
            self.wire.append(content)
        return "250 OK"

    def _mood(self, address: str) -> Mood:
        return self.moods.get(address, self.mood)
