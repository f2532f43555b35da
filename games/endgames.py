"""Endgame tables for the workers: looked up for a move, and built behind it.

What is compiled is imported here, so only those import this, by name, who compute with it.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

from django.conf import settings

from games.engine.table_store import Busy, CannotKeep, Store
from games.engine.tables import Table
from games.onitama.position import Position

logger = logging.getLogger(__name__)

# What a table of six men takes to build, and then some for everybody else.
_MEMORY = 1500 << 20


def get(position: Position) -> Table | None:
    """The table of the position's deal, if there is one."""
    return _store().get(position.cards)


def build(cards: tuple[str, ...]) -> None:
    """Build the table of a deal, if nobody else is building: it is asked for again."""
    if _memory() < _MEMORY:
        logger.warning("There is too little memory to build an endgame table.")
        return
    try:
        _store().build(cards, wait=False)
    except Busy as other:
        logger.info("No table for %s yet: %s", ",".join(cards), other)
    except CannotKeep as refusal:
        logger.warning("No endgame table can be kept: %s", refusal)


@cache
def _store() -> Store:
    return Store(settings.TABLES_DIR, settings.TABLES_LIMIT)


def _memory() -> int:
    """How many bytes there are to be had; where the system does not say, enough."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        [available] = [line for line in lines if line.startswith("MemAvailable:")]
        return int(available.split()[1]) << 10
    except (OSError, ValueError):
        return _MEMORY
