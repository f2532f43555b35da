"""Where the computer makes its moves: the only place that calls the engine."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from games import engine_moves, play
from games.engine import levels
from games.engine_moves import Claim
from games.onitama.position import Action, Position

logger = logging.getLogger(__name__)

# One task makes moves for this part of its time limit, and then hands on.
_PART = 5


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
    """The level's action in the last of the positions; by the clock for a level that is so."""
    return levels.choose(history[-1], level, seed=seed, seconds=seconds, history=history[:-1])
