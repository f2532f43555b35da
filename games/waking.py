"""The nudge that pages give the workers after a deed, by the tasks' names alone."""

from __future__ import annotations

from accounts.nudge import nudge
from games.models import Game

ENGINE_MOVE = "games.engine_move"
SEND_NOTICES = "games.send_notices"


def wake(game: Game) -> None:
    """Ask for what the deed has made due. The sweep finds whatever a lost nudge left."""
    if game.engine_due is not None:
        wake_engine(game.pk)
    else:
        wake_mail()


def wake_engine(game_id: int) -> None:
    nudge(ENGINE_MOVE, game_id)


def wake_mail() -> None:
    nudge(SEND_NOTICES)
