"""How long the computer's levels think, as far as it matters for who comes first."""

from __future__ import annotations

# Seconds on a machine with nothing else to do; a level that is not here is an old, quick one.
_SECONDS = {
    "white-belt": 0.2,
    "yellow-belt": 0.2,
    "orange-belt": 0.3,
    "green-belt": 0.4,
    "blue-belt": 0.6,
    "brown-belt": 1.0,
    "black-belt": 1.5,
    "grandmaster": 5.0,
}
_OLD = 0.2


def seconds(level: str) -> float:
    """What the level needs for a move, or is given."""
    return _SECONDS.get(level, _OLD)
