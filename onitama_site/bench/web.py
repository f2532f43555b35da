"""One run: a server as in production over a database full of games, and a load on each page."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from socket import create_connection, socket

from django.core.management import call_command
from django.db import connections
from django.urls import reverse

from games.models import Game
from onitama_site.bench import load, world
from onitama_site.processes import Child

START_SECONDS = 30
WARM_UP_SECONDS = 1.0
# Rounds in turn, and the best of each: what else the machine does slows down, never speeds up.
ROUNDS = 3


@dataclass(frozen=True)
class Measurement:
    name: str
    aim: float | None
    expected: int
    sources: Callable[[], list[world.Source]]


def run(seconds: float, say: Callable[[str], object]) -> bool:
    """Fill, serve, measure and print; whether every answer was the expected one."""
    call_command("migrate", interactive=False, verbosity=0)
    call_command("createcachetable", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    measurements = _fill(seconds)
    connections.close_all()
    with _server() as address:
        for measurement in measurements:
            load.run(address, measurement.sources(), WARM_UP_SECONDS)
        return _measure(address, measurements, seconds, say)


def _fill(seconds: float) -> list[Measurement]:
    alice, bob = world.log_in("alice"), world.log_in("bob")
    reader, other = world.log_in("reader"), world.log_in("other")
    rows = [world.begin(reader, other) for _ in range(world.RUNNING)]
    shown = rows[0]
    games = iter([world.begin(alice, bob) for _ in range(_games_needed(seconds))])

    def moves() -> list[world.Source]:
        """Each connection plays games of its own, which no other load has touched."""
        return [world.moves(games, alice, bob, seed) for seed in range(load.CONNECTIONS)]

    def same(path: str) -> Callable[[], list[world.Source]]:
        request = reader.request("GET", path)
        return lambda: [world.again(request)] * load.CONNECTIONS

    poll = f"{reverse('board', args=[shown.pk])}?version={Game.objects.get(pk=shown.pk).version}"
    return [
        Measurement("bare view, one row written", None, 200, same("/bare/")),
        Measurement("move, answered with the partial", 0.4, 200, moves),
        Measurement("poll, nothing new", 0.8, 204, same(poll)),
        Measurement(f"Your turn with {world.RUNNING} games", 0.4, 200, same(reverse("your_turn"))),
        Measurement("game page", 0.4, 200, same(reverse("game", args=[shown.pk]))),
    ]


def _games_needed(seconds: float) -> int:
    """Enough that the fastest machine seen plays none twice."""
    return int((ROUNDS * seconds + WARM_UP_SECONDS) * world.MOVES_A_SECOND / world.PLIES)


def _measure(
    address: tuple[str, int],
    measurements: list[Measurement],
    seconds: float,
    say: Callable[[str], object],
) -> bool:
    best: dict[str, float] = {}
    sound = True
    for _ in range(ROUNDS):
        for measurement in measurements:
            result = load.run(address, measurement.sources(), seconds)
            wrong = {s: n for s, n in result.statuses.items() if s != measurement.expected}
            if wrong:
                sound = False
                say(f"{measurement.name}: unexpected answers {wrong}")
            best[measurement.name] = max(best.get(measurement.name, 0), result.rate)
    bare = best[measurements[0].name]
    say(f"{'':36}  per second   to bare    aim")
    for measurement in measurements:
        rate = best[measurement.name]
        aim = "" if measurement.aim is None else f">= {measurement.aim}"
        say(f"{measurement.name:36}  {rate:10.1f}   {rate / bare:7.2f}    {aim}")
    return sound


@contextmanager
def _server() -> Iterator[tuple[str, int]]:
    """gunicorn with the settings of production, on a port that is free."""
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = ("127.0.0.1", int(probe.getsockname()[1]))
    command = [sys.executable, "-m", "gunicorn", "-c", "python:onitama_site.web"]
    child = Child.start("web server", [*command, "-b", f"{address[0]}:{address[1]}"])
    try:
        _wait(child, address)
        yield address
    finally:
        child.ask()
        child.end(10)


def _wait(child: Child, address: tuple[str, int]) -> None:
    limit = time.monotonic() + START_SECONDS
    while not child.ended and time.monotonic() < limit:
        try:
            create_connection(address, timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("The web server does not start.")
