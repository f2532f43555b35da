"""A legal action at once, for when the engine does not answer."""

from __future__ import annotations

from random import Random

from games.onitama.position import Action, Position


def dice(position: Position, seed: int) -> Random:
    """The same for equal positions, different from ply to ply though the seed stay the same."""
    return Random(f"{seed} {position.board} {position.turn}")  # noqa: S311  # a game, no secret


def fallback(position: Position, seed: int) -> Action:
    """A winning move if there is one, else any."""
    legal = position.legal_moves()
    if not legal:
        raise ValueError("the game is over")
    return dice(position, seed).choice(position.winning(legal) or legal)
