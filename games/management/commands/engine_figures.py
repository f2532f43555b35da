"""`engine_figures`: how fast and deep the engine looks, and how much of a game it can prove."""

from __future__ import annotations

import random
import resource
import time
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from django.core.management.base import CommandError

from games.engine.players import NO_ENGINE
from games.management.commands._refusing import RefusingCommand, seconds_up_to, whole_number
from games.onitama.cards import Deal, deal
from games.onitama.position import Position

# What is missing without it, NO_ENGINE says.
with suppress(ImportError):
    from games.engine.search import WON, Engine, Proof
    from games.engine.selfplay import OPENING
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
# Ten men are looked at so many plies after the opening: before, there is nothing to prove.
PLIES_IN = 10

_seconds = seconds_up_to(600)


class Command(RefusingCommand):
    help = (
        "Prints the engine's speed and depth, or the share of positions it proves; its seconds are"
        " the processor's."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        figures = parser.add_subparsers(dest="figure", required=True, prog=parser.prog)
        plain = partial(figures.add_parser, usage=SUPPRESS)
        speed = plain("speed", help="nodes a second and depth from five starts")
        speed.add_argument("--seconds", type=_seconds, nargs="+", default=[1.0, 10.0])
        proofs = plain("proofs", help="positions of its own games, proved in time")
        proofs.add_argument(
            "--men", type=whole_number(7, FULL), nargs="+", default=[7, 8], help="7 to 10"
        )
        proofs.add_argument(
            "--positions", type=whole_number(1, 1000), default=20, help="of each deal"
        )
        proofs.add_argument(
            "--deals", type=whole_number(1, 100), default=4, help="random ones of the base deck"
        )
        proofs.add_argument("--seconds", type=_seconds, default=5.0)
        proofs.add_argument("--seed", type=whole_number(0, 10**10), default=1)
        proofs.add_argument("--no-tables", action="store_true", help="by search alone")
        proofs.add_argument(
            "--anywhere",
            action="store_true",
            help="any position of a game that has so many men, not the first",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if NO_ENGINE:
            raise CommandError(NO_ENGINE)
        if options["figure"] == "speed":
            self._speed(options["seconds"])
        else:
            self._proofs(options)

    def _speed(self, seconds: list[float]) -> None:
        engine = Engine(TABLE_BITS)
        for cards in DEALS:
            for each in seconds:
                start = Position.start(cards)
                found = engine.analyse(start, seconds=each, exact=False, clock=time.thread_time)
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
                wanted = options["positions"]
                games = _games(engine, cards, rng, men, options["anywhere"], 50 * wanted)
                for position in islice(games, wanted):
                    judged = engine.analyse(
                        position,
                        seconds=options["seconds"],
                        table=table,
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


def _games(
    engine: Engine, cards: Deal, rng: random.Random, men: int, anywhere: bool, most: int
) -> Iterator[Position]:
    """Of each game, `most` at the most, the first position with so many men, or any; none that is
    decided in two plies."""
    for _ in range(most):
        position = _opening(tuple(rng.sample(cards, 5)), rng)  # type: ignore[arg-type]  # five
        history: list[Position] = []
        found: list[Position] = []
        while position.outcome() is None and len(history) < MOST_PLIES and _men(position) >= men:
            move = engine.analyse(position, nodes=PLAYING_NODES, history=history, exact=False)
            if move.action is None or abs(move.score) > WON and _decided(position):
                break
            if _men(position) == men and (men < FULL or len(history) >= PLIES_IN):
                found.append(position)
                if not anywhere:
                    break
            history.append(position)
            position = position.after(move.action)
        if found:
            yield rng.choice(found) if anywhere else found[0]


def _opening(cards: Deal, rng: random.Random) -> Position:
    """A few plies at random, none of which loses at once."""
    position = Position.start(cards)
    for _ in range(rng.randint(*OPENING)):
        legal = position.legal_moves()
        after = [position.after(action) for action in legal]
        sound = [known for known in after if not known.winning(known.legal_moves())]
        if position.winning(legal) or not sound:
            break
        position = rng.choice(sound)
    return position


def _men(position: Position) -> int:
    return len(position.board) - position.board.count("0")


def _decided(position: Position) -> bool:
    legal = position.legal_moves()
    if position.winning(legal):
        return True
    after = [position.after(action) for action in legal]
    return all(known.winning(known.legal_moves()) for known in after)
