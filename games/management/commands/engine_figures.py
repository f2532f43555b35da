"""`engine_figures`: how fast and deep the engine looks, and how much of a game it can prove."""

from __future__ import annotations

import random
import resource
import time
from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from games.engine.players import NO_ENGINE
from games.onitama.cards import Deal, deal
from games.onitama.position import Position

# What is missing without it, NO_ENGINE says.
with suppress(ImportError):
    from games.engine.search import WON, Engine, Proof
    from games.engine.selfplay import opening
    from games.engine.table_building import build
    from games.engine.tables import EMPTY, Table

# Five deals of very different cards, each from its start.
DEALS: tuple[Deal, ...] = (
    ("horse", "elephant", "ox", "boar", "crab"),
    ("tiger", "crane", "boar", "eel", "dragon"),
    ("rabbit", "mantis", "monkey", "frog", "goose"),
    ("cobra", "rooster", "crane", "mantis", "ox"),
    ("dragon", "frog", "tiger", "goose", "eel"),
)
TABLE_BITS = 22
# What the games are played with that the positions to prove are taken from.
PLAYING_NODES = 5_000
MOST_PLIES = 120
FULL = 10
# Ten men are looked at so many plies into a game: before, there is nothing to prove.
PLIES_IN = 10


class Command(BaseCommand):
    help = (
        "Prints the engine's speed and depth, or the share of positions it proves; its seconds are"
        " the processor's."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        figures = parser.add_subparsers(dest="figure", required=True)
        speed = figures.add_parser("speed", help="nodes a second and depth from five starts")
        speed.add_argument("--seconds", type=float, nargs="+", default=[1.0, 10.0])
        proofs = figures.add_parser("proofs", help="positions of its own games, proved in time")
        proofs.add_argument("--men", type=int, nargs="+", default=[7, 8], help="7 to 10")
        proofs.add_argument("--positions", type=int, default=20, help="of each deal")
        proofs.add_argument("--deals", type=int, default=4, help="random ones of the base deck")
        proofs.add_argument("--seconds", type=float, default=5.0)
        proofs.add_argument("--seed", type=int, default=1)
        proofs.add_argument("--no-tables", action="store_true", help="by search alone")

    def handle(self, *args: Any, **options: Any) -> None:
        if NO_ENGINE:
            raise CommandError(NO_ENGINE)
        seconds = options["seconds"]
        if not all(
            0 < each <= 600 for each in (seconds if isinstance(seconds, list) else [seconds])
        ):
            raise CommandError("--seconds must lie between 0 and 600")
        if options["figure"] == "speed":
            self._speed(seconds)
            return
        if not all(7 <= men <= FULL for men in options["men"]):
            raise CommandError("--men must lie between 7 and 10")
        if not (1 <= options["positions"] <= 1000 and 1 <= options["deals"] <= 100):
            raise CommandError("--positions must lie between 1 and 1000, --deals between 1 and 100")
        self._proofs(options)

    def _speed(self, seconds: list[float]) -> None:
        engine = Engine(TABLE_BITS)
        for cards in DEALS:
            for each in seconds:
                start = Position.start(cards)
                found = engine.analyse(start, seconds=each, clock=time.thread_time)
                rate = f"{found.nodes / found.seconds / 1e6:.2f} million nodes/s"
                self.stdout.write(f"{','.join(cards)}: {each:g} s, depth {found.depth}, {rate}")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        self.stdout.write(f"memory {memory} MB, with a table of 2^{TABLE_BITS} positions")

    def _proofs(self, options: dict[str, Any]) -> None:
        rng = random.Random(options["seed"])  # noqa: S311  # positions to measure, not secrets
        engine = Engine(TABLE_BITS)
        found: dict[int, list[Proof | None]] = {men: [] for men in options["men"]}
        for _ in range(options["deals"]):
            cards = deal("base", rng)
            table = EMPTY if options["no_tables"] else self._table(cards)
            for men, proofs in found.items():
                for position in _positions(engine, cards, rng, men, options["positions"]):
                    judged = engine.analyse(
                        position,
                        seconds=options["seconds"],
                        table=table,
                        exact=False,
                        clock=time.thread_time,
                    )
                    proofs.append(judged.proven)
            self.stdout.write(f"{','.join(cards)} done")
        for men, proofs in found.items():
            proved = [proof for proof in proofs if proof is not None]
            draws = sum(proof.winner is None for proof in proved)
            self.stdout.write(
                f"{men} men: {len(proved)} of {len(proofs)} proved in {options['seconds']:g} s"
                f" ({100 * len(proved) / max(len(proofs), 1):.0f} %), {draws} of them draws"
            )

    def _table(self, cards: Deal) -> Table:
        began = time.monotonic()
        table = build(tuple(sorted(cards)), 6).table()
        self.stdout.write(f"table built in {time.monotonic() - began:.0f} s")
        return table


def _positions(
    engine: Engine, cards: Deal, rng: random.Random, men: int, wanted: int
) -> list[Position]:
    """One of each game, the first with so many men that is not decided in two plies."""
    found: list[Position] = []
    for _ in range(50 * wanted):
        if len(found) == wanted:
            break
        shuffled = tuple(rng.sample(cards, 5))
        position = opening(shuffled, rng)  # type: ignore[arg-type]  # five of five
        history: list[Position] = []
        while position.outcome() is None and len(history) < MOST_PLIES:
            move = engine.analyse(position, nodes=PLAYING_NODES, history=history)
            if move.action is None or abs(move.score) > WON and _decided(position):
                break
            if _men(position) == men and (men < FULL or len(history) >= PLIES_IN):
                found.append(position)
                break
            if _men(position) < men:
                break
            history.append(position)
            position = position.after(move.action)
    return found


def _men(position: Position) -> int:
    return len(position.board) - position.board.count("0")


def _decided(position: Position) -> bool:
    legal = position.legal_moves()
    if position.winning(legal):
        return True
    after = [position.after(action) for action in legal]
    return all(known.winning(known.legal_moves()) for known in after)
