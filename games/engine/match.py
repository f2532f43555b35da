"""Plays two players against each other: each deal twice, with sides swapped."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from random import Random
from typing import Any

from games.engine.elo import Difference, difference
from games.engine.players import Forfeit, Player, Setting
from games.engine.processes import end_with_parent, unheard_by_children
from games.onitama.cards import BLUE, RED, Colour, deal
from games.onitama.position import Action, Position
from games.onitama.record import Record

MOST_PLIES = 200
MOST_PLIES_TEXT = f"{MOST_PLIES} plies"


@dataclass(frozen=True, slots=True)
class Played:
    """`ending` is stone, stream, repetition, MOST_PLIES_TEXT, or what the loser forfeited by."""

    start: Position
    actions: tuple[Action, ...]
    winner: Colour | None
    ending: str
    # What each ply took.
    seconds: tuple[float, ...]

    @property
    def forfeited(self) -> bool:
        return self.ending not in ("stone", "stream", "repetition", MOST_PLIES_TEXT)

    def points(self, colour: Colour) -> float:
        return 0.5 if self.winner is None else float(self.winner is colour)

    def seconds_of(self, colour: Colour) -> tuple[float, ...]:
        return self.seconds[0 if self.start.turn is colour else 1 :: 2]

    def record(self, blue: str, red: str, deck: str) -> str:
        """As any game is written down; the rules of a match are not the game's: no result then."""
        counts = self.ending in ("stone", "stream", "repetition")
        result = "draw" if self.winner is None else self.winner.word
        return Record(
            start=self.start,
            actions=self.actions,
            result=result if counts else "*",
            termination=self.ending if counts else None,
            blue=blue,
            red=red,
            deck=deck,
        ).write()


@dataclass(frozen=True, slots=True)
class Pair:
    """A has Blue in the first game and Red in the second."""

    number: int
    games: tuple[Played, Played]

    def of(self, colours: tuple[Colour, Colour] = (BLUE, RED)) -> Iterator[tuple[Played, Colour]]:
        """Each game, with A's colour in it."""
        yield from zip(self.games, colours, strict=True)

    @property
    def points(self) -> float:
        return sum(game.points(colour) for game, colour in self.of())


@dataclass(frozen=True, slots=True)
class Score:
    """What A made of it."""

    pairs: tuple[Pair, ...]

    @property
    def games(self) -> list[tuple[Played, Colour]]:
        return [game for pair in self.pairs for game in pair.of()]

    @property
    def points(self) -> float:
        return sum(pair.points for pair in self.pairs)

    @property
    def won(self) -> int:
        return sum(game.winner is colour for game, colour in self.games)

    @property
    def drawn(self) -> int:
        return sum(game.winner is None for game, _ in self.games)

    @property
    def lost(self) -> int:
        return len(self.games) - self.won - self.drawn

    @property
    def elo(self) -> Difference:
        return difference([pair.points for pair in self.pairs])

    def pairs_by_points(self) -> list[int]:
        """How many pairs gave A 0, ½, 1, 1½ and 2 points."""
        counted = Counter(pair.points for pair in self.pairs)
        return [counted[half / 2] for half in range(5)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The same seed and players that go by nodes: the same games, on any machine."""

    a: Setting
    b: Setting
    ms: int
    deck: str = "base"
    seed: int = 0

    def pair(self, number: int, a: Player, b: Player) -> Pair:
        rng = Random(f"{self.seed} {number}")  # noqa: S311  # a game, no secret
        start = Position.start(deal(self.deck, rng))
        one = play_game(start, {BLUE: a, RED: b}, self.ms, rng.randrange(1 << 32))
        two = play_game(start, {BLUE: b, RED: a}, self.ms, rng.randrange(1 << 32))
        return Pair(number, (one, two))

    @contextmanager
    def players(self) -> Iterator[tuple[Player, Player]]:
        with ExitStack() as stack:
            a, b = self.a.player(), self.b.player()
            stack.callback(b.close)
            stack.callback(a.close)
            yield a, b

    def play(self, pairs: int, jobs: int = 1) -> Iterator[Pair]:
        """The pairs as they are finished; with several jobs each plays in a process of its own."""
        if jobs > 1:
            yield from _shared_out(self, pairs, min(jobs, pairs))
            return
        with self.players() as (a, b):
            for number in range(pairs):
                yield self.pair(number, a, b)


def play_game(start: Position, players: Mapping[Colour, Player], ms: int, seed: int) -> Played:
    """To the end by the rules, or to a draw after MOST_PLIES."""
    for player in players.values():
        player.begin()
    position, history = start, list[Position]()
    actions, seconds = list[Action](), list[float]()
    while True:
        ended = _ended(position, history)
        if ended is not None:
            winner, ending = ended
            break
        began = time.perf_counter()
        try:
            action = players[position.turn].move(position, history, ms, seed + len(actions))
        except Forfeit as forfeit:
            winner, ending = position.turn.other, str(forfeit)
            break
        seconds.append(time.perf_counter() - began)
        actions.append(action)
        history.append(position)
        position = position.play(action)
    return Played(start, tuple(actions), winner, ending, tuple(seconds))


def _ended(position: Position, history: Sequence[Position]) -> tuple[Colour | None, str] | None:
    outcome = position.outcome()
    if outcome is not None:
        return outcome.winner, outcome.termination
    if history.count(position) == 2:
        return None, "repetition"
    return (None, MOST_PLIES_TEXT) if len(history) == MOST_PLIES else None


def _shared_out(match: Match, pairs: int, jobs: int) -> Iterator[Pair]:
    numbers = iter(range(pairs))
    with ExitStack() as stack:
        workers = [_worker(stack, match) for _ in range(jobs)]
        try:
            for worker, number in zip(workers, numbers, strict=False):
                worker.send(number)
            for _ in range(pairs):
                worker = next(ready for ready in wait(workers) if isinstance(ready, Connection))
                pair: Pair = worker.recv()
                following = next(numbers, None)
                if following is None:
                    workers.remove(worker)
                else:
                    worker.send(following)
                yield pair
        except (EOFError, ConnectionError):
            raise RuntimeError("a process that played ended before its game did") from None


def _worker(stack: ExitStack, match: Match) -> Connection[Any, Any]:
    # Spawned: a fork would take threads of the engine's with it.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(match, theirs), daemon=True)
    with unheard_by_children():
        process.start()
    theirs.close()
    stack.callback(process.join)
    stack.callback(process.terminate)
    stack.callback(ours.close)
    return ours


def _work(match: Match, connection: Connection[Any, Any]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    end_with_parent()
    with match.players() as (a, b), suppress(EOFError, ConnectionError):
        while True:
            connection.send(match.pair(connection.recv(), a, b))
