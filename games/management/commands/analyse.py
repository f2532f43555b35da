"""What a position is worth, its best move and what is proven, each as one line of JSON."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from games.engine.players import NO_ENGINE, warm_engine
from games.onitama.position import BadText, Position, quoted

# What is missing without it, NO_ENGINE says.
with suppress(ImportError):
    from games.engine.bitboard import deal_of
    from games.engine.table_store import CannotKeep, Store
    from games.engine.tables import EMPTY, Table

# Sixty-four megabytes: enough for minutes.
TABLE_BITS = 22
MOST_SECONDS = 24 * 3600
MOST_NODES = 10**12
# No position is half as long.
LONGEST_LINE = 500


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{quoted(text)} is not a number of seconds up to {MOST_SECONDS:,}"
        )
    return seconds


def _nodes(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 15 and 1 <= int(text) <= MOST_NODES:
        return int(text)
    raise argparse.ArgumentTypeError(f"{quoted(text)} is not a number from 1 to {MOST_NODES:,}")


class Command(BaseCommand):
    help = (
        "Print one JSON object: best move, line, score from the mover's view in hundredths of a "
        "student, depth, nodes, seconds, and what is proven: null, 'draw', or the winner and in "
        "how many plies, null where that is not known."
    )
    requires_system_checks = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Without a usage a refusal is one line.
        return super().create_parser(prog_name, subcommand, usage=argparse.SUPPRESS, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("position", nargs="?", help='"BOARD CARDS TURN"')
        what.add_argument(
            "--stdin",
            action="store_true",
            help="read positions, one a line, and answer each by a line",
        )
        budget = parser.add_mutually_exclusive_group()
        budget.add_argument("--seconds", type=_seconds, help="for each position (default 5)")
        budget.add_argument("--nodes", type=_nodes, help="instead of a time")
        parser.add_argument(
            "--tables",
            action=argparse.BooleanOptionalAction,
            help="build the deal's endgame table first, half a minute or so, where it is not kept "
            "yet; or do without; else what is kept is used",
        )

    def handle(
        self,
        *,
        position: str | None,
        seconds: float | None,
        nodes: int | None,
        tables: bool | None,
        **options: Any,
    ) -> None:
        if NO_ENGINE:
            raise CommandError(NO_ENGINE)
        analyst = _Analyst(5.0 if seconds is None and nodes is None else seconds, nodes, tables)
        if position is None:
            for line in _lines(sys.stdin.buffer):
                self._say(analyst.answer(line))
            return
        answer = analyst.answer(position)
        self._say(answer)
        if "error" in answer:
            raise CommandError(answer["error"], returncode=2)

    def _say(self, answer: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(answer))
        self.stdout.flush()


class _Analyst:
    """Keeps the engine warm from position to position."""

    def __init__(self, seconds: float | None, nodes: int | None, tables: bool | None) -> None:
        self._engine = warm_engine(TABLE_BITS)
        self._store = Store(settings.TABLES_DIR, settings.TABLES_LIMIT)
        self._seconds, self._nodes, self._tables = seconds, nodes, tables

    def answer(self, text: str | None) -> dict[str, Any]:
        """None stands for a line too long to be read."""
        if text is None:
            return {"error": f"no position has {LONGEST_LINE} letters", "position": None}
        try:
            position = Position.parse(text)
        except BadText as refusal:
            return {"error": str(refusal), "position": text}
        return self._judged(position)

    def _judged(self, position: Position) -> dict[str, Any]:
        table = self._table(position)
        found = self._engine.analyse(
            position, seconds=self._seconds, nodes=self._nodes, table=table
        )
        proven: Any = None
        if found.proven is not None:
            winner = found.proven.winner
            proven = "draw"
            if winner is not None:
                proven = {"winner": winner.value, "plies": found.proven.plies}
        return {
            "position": str(position),
            "best": None if found.action is None else str(found.action),
            "line": [str(action) for action in found.line],
            "score": found.score,
            "depth": found.depth,
            "nodes": found.nodes,
            "seconds": round(found.seconds, 3),
            "proven": proven,
        }

    def _table(self, position: Position) -> Table:
        if self._tables is False or position.outcome() is not None:
            return EMPTY
        names = deal_of(position).names
        if self._tables:
            try:
                return self._store.build(names)
            except CannotKeep as refusal:
                raise CommandError(f"No table can be kept: {refusal}.") from None
        return self._store.get(names, 4) or EMPTY


def _lines(file: BinaryIO) -> Iterator[str | None]:
    """Each line without its end; None for one too long to be a position."""
    while line := file.readline(LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            yield line.decode("utf-8", "replace").strip()
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(1 << 16)
        yield None
