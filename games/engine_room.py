"""Where the computer makes its moves: the only place that calls the engine."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Any

from django.conf import settings
from django.utils import timezone

from accounts.nudge import nudge
from games import engine_moves, play
from games.engine import compile as compilation
from games.engine import levels
from games.engine_moves import Claim
from games.onitama.position import Action, Position

logger = logging.getLogger(__name__)

# One task makes moves for this part of its time limit, and then hands on.
_PART = 5

# Who knows endgame tables, from how many men on.
_WITH_TABLES = {"black-belt", "grandmaster"}
_MEN = 8
# By name, and only once it is compiled: what else a worker does needs no Numba.
_ENDGAMES = "games.endgames"
BUILD_TABLES = "games.build_tables"


@cache
def _say_once_that_nothing_is_compiled() -> None:
    if not compilation.ready():
        logger.warning("The engine is not compiled: until it is, the computer plays simply.")


def prepare() -> None:
    """Load the engine if it is compiled, so that no move has to wait for that; else say so."""
    _say_once_that_nothing_is_compiled()
    try:
        levels.prepare()
    except Exception:
        logger.exception("The engine cannot be loaded.")


def work() -> bool:
    """Make the moves that are due, least time first; whether there may be more of them."""
    until = time.monotonic() + settings.ENGINE_TIME_LIMIT / _PART
    while time.monotonic() < until:
        claim = engine_moves.claim_next(timezone.now())
        if claim is None:
            return False
        _make(claim)
    return True


def move(game_id: int, now: datetime) -> None:
    """Make the move that the computer owes in this game, if nobody else is making it."""
    claim = engine_moves.claim(game_id, now)
    if claim is not None:
        _make(claim)


def _make(claim: Claim) -> None:
    """The second try, and an engine that raises, end in a legal move made without the engine."""
    game = claim.game
    if claim.without_engine:
        engine_moves.play_fallback(game, timezone.now())
        return
    engine = game.seat(game.turn).player
    try:
        action = choose(
            play.positions(game), claim.level, seed=game.seed + game.plies, seconds=claim.seconds
        )
        play.play_move(game.pk, engine, game.plies + 1, action, now=timezone.now())
    except (play.StaleGame, play.GameOver):
        logger.info("game %s: the computer's move came too late", game.pk)
    except Exception:
        logger.exception("game %s: the engine failed", game.pk)
        engine_moves.play_fallback(game, timezone.now())


def choose(history: Sequence[Position], level: str, *, seed: int, seconds: float | None) -> Action:
    """The level's action in the last of the positions; `seconds` as in a claim."""
    _say_once_that_nothing_is_compiled()
    *before, position = history
    return levels.choose(
        position,
        level,
        seed=seed,
        seconds=seconds,
        history=before,
        tables=_tables(position) if level in _WITH_TABLES else None,
    )


# --- endgame tables -------------------------------------------------------------------------


def _tables(position: Position) -> Any:
    """The tables for this deal, if they are there; else they are asked for, not waited for."""
    if len(position.board) - position.board.count("0") > _MEN or not compilation.ready():
        return None
    try:
        table = import_module(_ENDGAMES).get(position)
    except Exception:
        logger.exception("The endgame tables cannot be read.")
        return None
    # Without room for tables nobody may be there to build them.
    if table is None and settings.TABLES_LIMIT:
        nudge(BUILD_TABLES, ",".join(sorted(position.cards)))
    return table


def build_tables(cards: tuple[str, ...]) -> None:
    """For this deal; only where the engine is compiled, for that takes longer than a table may."""
    if compilation.ready():
        import_module(_ENDGAMES).build(cards)
