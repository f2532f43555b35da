"""The engine behind the command analyse. Importing this compiles it where that is not done."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from games.engine.players import NO_ENGINE, warm_engine
from games.onitama.position import BadText, Position

# What is missing without it, NO_ENGINE says.
with suppress(ImportError):
    from games.engine.bitboard import deal_of
    from games.engine.table_store import CannotKeep, Store
    from games.engine.tables import EMPTY, Table

# Sixty-four megabytes: enough for minutes.
TABLE_BITS = 22


def analyst(seconds: float | None, nodes: int | None, tables: bool | None) -> Analyst:
    if NO_ENGINE:
        raise CommandError(NO_ENGINE)
    return Analyst(seconds, nodes, tables)


class Analyst:
    """Keeps the engine warm from position to position."""

    def __init__(self, seconds: float | None, nodes: int | None, tables: bool | None) -> None:
        self._engine = warm_engine(TABLE_BITS)
        self._store = Store(settings.TABLES_DIR, settings.TABLES_LIMIT)
        self._seconds, self._nodes, self._tables = seconds, nodes, tables

    def answer(self, text: str) -> dict[str, Any]:
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
