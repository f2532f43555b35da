"""Eight connections that send prepared requests for a bounded time and count the answers."""

from __future__ import annotations

import selectors
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

CONNECTIONS = 8


@dataclass
class Result:
    """Answers counted by status, and the seconds they took together."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.statuses.total() / self.seconds


@dataclass
class _Connection:
    sock: socket.socket
    # Gives the next request as bytes, or None when this connection has nothing more to send.
    requests: Callable[[], bytes | None]
    received: bytearray = field(default_factory=bytearray)

    def send_next(self) -> bool:
        request = self.requests()
        if request is None:
            return False
        self.received.clear()
        self.sock.sendall(request)
        return True

    def answer(self) -> int | None:
        """The status once the whole answer is here; it must carry a Content-Length or no body."""
        head, blank, body = bytes(self.received).partition(b"\r\n\r\n")
        if not blank:
            return None
        status = int(head[9:12])
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return status if len(body) >= length else None


def run(
    address: tuple[str, int], sources: list[Callable[[], bytes | None]], seconds: float
) -> Result:
    """One connection for each source, all at once; raises ConnectionError when one is closed."""
    result = Result()
    with selectors.DefaultSelector() as selector:
        connections = [_Connection(socket.create_connection(address), s) for s in sources]
        started = time.monotonic()
        for connection in connections:
            if connection.send_next():
                selector.register(connection.sock, selectors.EVENT_READ, connection)
        while selector.get_map():
            for key, _mask in selector.select(timeout=30):
                _read(key.data, selector, result, started + seconds)
        result.seconds = time.monotonic() - started
        for connection in connections:
            connection.sock.close()
    return result


def _read(
    connection: _Connection, selector: selectors.BaseSelector, result: Result, until: float
) -> None:
    data = connection.sock.recv(65536)
    if not data:
        raise ConnectionError("The server closed a connection in the middle of the load.")
    connection.received += data
    status = connection.answer()
    if status is None:
        return
    result.statuses[status] += 1
    if time.monotonic() >= until or not connection.send_next():
        selector.unregister(connection.sock)
