"""Where the computer makes its moves: the only place that calls the engine."""

from __future__ import annotations

import logging
from datetime import datetime

from django.utils import timezone

from games import play, sweep
from games.engine import levels

logger = logging.getLogger(__name__)


def move(game_id: int, now: datetime) -> None:
    """Make the move that the computer owes, if nobody else is making it.

    The second try, and an engine that raises, end in a legal move made without the engine.
    """
    game = sweep.claim_engine_move(game_id, now)
    if game is None:
        return
    if game.engine_tries > 1:
        sweep.play_fallback(game, timezone.now())
        return
    engine = game.seat(game.turn).player
    history = play.positions(game)
    try:
        action = levels.choose(
            history[-1], engine.username, seed=game.seed + game.plies, history=history[:-1]
        )
        play.play_move(game.pk, engine, game.plies + 1, action, now=timezone.now())
    except (play.StaleGame, play.GameOver):
        logger.info("game %s: the computer's move came too late", game.pk)
    except Exception:
        logger.exception("game %s: the engine failed", game.pk)
        sweep.play_fallback(game, timezone.now())
