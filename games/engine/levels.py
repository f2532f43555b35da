"""The computer's levels: a position, a level and a budget in, an action out."""

from __future__ import annotations

from collections.abc import Sequence

from games.engine import plain
from games.onitama.position import Action, Position

# How each belt plays for the time being.
_BELTS = {
    **dict.fromkeys(("white-belt", "yellow-belt", "orange-belt", "green-belt"), "two-ply"),
    **dict.fromkeys(("blue-belt", "brown-belt", "black-belt", "grandmaster"), "four-ply"),
}
LEVELS = plain.LEVELS


def choose(
    position: Position,
    level: str,
    *,
    seed: int,
    nodes: int | None = None,
    seconds: float | None = None,
    history: Sequence[Position] = (),
    tables: object = None,
) -> Action:
    """The level's action; the same for the same position, history, budget and seed.

    `nodes` bounds the positions looked at: the deepest search that was finished then counts.
    `history` is the game so far from its start, with or without the position itself.
    No level here thinks for a time, `seconds`, or knows endgame tables.
    """
    return plain.choose(position, _BELTS.get(level, level), seed=seed, nodes=nodes, history=history)
