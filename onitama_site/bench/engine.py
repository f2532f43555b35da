"""How long a human waits for the computer's move: belt by belt, and with twenty games at once."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import redis
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from accounts.models import User
from games import challenges, play
from games.models import Game, Level, Ply
from games.waking import wake
from onitama_site import runner
from onitama_site.processes import Child

# Seconds from the human's move to the computer's that 95 of 100 take at most.
AIMS = {**dict.fromkeys(Level.values, 2.0), Level.BLACK.value: 3.0, Level.GRANDMASTER.value: 8.0}
CROWD, CROWD_AIM = 20, 60.0
BEGINNING = 4
QUEUES = ("engine", "sweep")
START_SECONDS = 120
MOST_SECONDS = 120
_TICK = 0.005

Say = Callable[[str], object]


@dataclass(frozen=True)
class Player:
    """Somebody who moves at random, and begins a new game whenever one is over."""

    user: User
    level: str
    dice: random.Random

    def ready(self) -> Game:
        """A game in which it is the human's turn."""
        while True:
            game = challenges.play_computer(
                self.user, self.level, colour="", deck="base", now=timezone.now()
            )
            if game.engine_due is None:
                return game
            wake(game)
            game = answered(game)
            if not game.is_over:
                return game

    def move(self, game: Game) -> Game:
        """As a page does it: the deed, and then the nudge."""
        legal = game.current.legal_moves()
        # Won games would be short ones.
        action = self.dice.choice(
            [a for a in legal if a not in game.current.winning(legal)] or legal
        )
        moved = play.play_move(game.pk, self.user, game.plies + 1, action, now=timezone.now())
        wake(moved)
        return moved


def answered(game: Game) -> Game:
    """The game once the computer has moved."""
    limit = time.monotonic() + MOST_SECONDS
    while Game.objects.values_list("plies", flat=True).get(pk=game.pk) <= game.plies:
        if time.monotonic() > limit:
            raise RuntimeError("The computer does not move: see the workers' words above.")
        time.sleep(_TICK)
    return Game.objects.get(pk=game.pk)


def run(belts: list[str], moves: int, say: Say) -> bool:
    """Start, play, measure and print; whether every wait was as short as it should be."""
    call_command("migrate", interactive=False, verbosity=0)
    call_command("createcachetable", verbosity=0)
    call_command("compile_engine")
    with _workers() as engine:
        say(f"{'':22} moves      p50      p95    aim")
        kept = [_measure(belt, moves, say) for belt in belts]
        kept.append(_crowd(belts, say))
        _say_memory(engine, say)
    return all(kept)


def _measure(level: str, moves: int, say: Say) -> bool:
    player = Player(User.objects.create_user(f"against-{level}"), level, _dice(level))
    waits: list[float] = []
    game = player.ready()
    while len(waits) < moves:
        if game.is_over:
            game = player.ready()
        began = time.monotonic()
        game = player.move(game)
        if not game.is_over:
            game = answered(game)
            waits.append(time.monotonic() - began)
    waits.sort()
    middle, late = waits[len(waits) // 2], waits[min(len(waits) - 1, len(waits) * 95 // 100)]
    say(f"{level:22} {moves:5} {middle:7.2f}s {late:7.2f}s    <= {AIMS[level]:g} s")
    return late <= AIMS[level]


def _crowd(belts: list[str], say: Say) -> bool:
    """The belts in turn, each in a game of its own; the humans move all at once."""
    players = [
        Player(User.objects.create_user(f"crowd-{n}"), belts[n % len(belts)], _dice(f"{n}"))
        for n in range(CROWD)
    ]
    games = _under_way(players)
    moved = [player.move(game) for player, game in zip(players, games, strict=True)]
    for game in moved:
        # Where nothing else is legal, a win.
        if not game.is_over:
            answered(game)
    longest = dict.fromkeys(belts, timedelta())
    for player, game in zip(players, moved, strict=True):
        for answer in Ply.objects.filter(game=game, number=game.plies + 1):
            longest[player.level] = max(longest[player.level], answer.played - game.turn_began)
    say(f"\n{CROWD} games at once, the longest wait:")
    for level, wait in longest.items():
        say(f"{level:22} {wait.total_seconds():7.2f}s")
    most = max(longest.values()).total_seconds()
    say(f"{'of all':22} {most:7.2f}s    <= {CROWD_AIM:g} s")
    return most <= CROWD_AIM


def _under_way(players: list[Player]) -> list[Game]:
    """Past the moves that are made by nodes, so that games may differ: by now all think in full."""
    games = [player.ready() for player in players]
    while any(game.plies < BEGINNING for game in games):
        moved = [
            player.move(game) if game.plies < BEGINNING else game
            for player, game in zip(players, games, strict=True)
        ]
        now = [
            answered(after) if after.plies > before.plies and not after.is_over else after
            for before, after in zip(games, moved, strict=True)
        ]
        games = [
            player.ready() if game.is_over else game
            for player, game in zip(players, now, strict=True)
        ]
    return games


def _dice(seed: str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - a load, not a secret


# --- the processes --------------------------------------------------------------------------


@contextmanager
def _workers() -> Iterator[Child]:
    """As in production, with the sweep that finds lost nudges; gives the engine's."""
    commands = {queue: runner.worker_command(queue) for queue in QUEUES}
    commands["beat"] = runner.beat_command(Path(settings.DATA_DIR))
    children = {name: Child.start(name, command) for name, command in commands.items()}
    try:
        _wait()
        yield children["engine"]
    finally:
        for child in children.values():
            child.ask()
        for child in children.values():
            child.end(10)


def _wait() -> None:
    """Until each worker has said that it listens, which it does when its processes are up."""
    limit = time.monotonic() + START_SECONDS
    with redis.Redis.from_url(settings.CELERY_BROKER_URL) as client:
        while client.scard("_kombu.binding.celery.pidbox") < len(QUEUES):
            if time.monotonic() > limit:
                raise RuntimeError("The workers do not start.")
            time.sleep(0.1)


def _say_memory(engine: Child, say: Say) -> None:
    """Of each process that thinks: what is its own, and what it shares with others."""
    children = Path(f"/proc/{engine.process.pid}/task/{engine.process.pid}/children")
    say(f"\nThe engine's processes, {connection.vendor}:")
    for pid in children.read_text().split():
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")
        sizes = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in rollup[1:] if line}
        private = sizes["Private_Clean"] + sizes["Private_Dirty"]
        say(f"  {sizes['Rss']} MB, {private} MB of them its own")
