"""How long the computer's levels think for a move, alone and when many games wait."""

from __future__ import annotations

from collections.abc import Sequence

# Seconds on a machine with nothing else to do, reading and writing the game's rows among them; a
# level that is not here is an old, quick one.
_SECONDS = {
    "white-belt": 0.06,
    "yellow-belt": 0.06,
    "orange-belt": 0.06,
    "green-belt": 0.06,
    "blue-belt": 0.06,
    "brown-belt": 0.08,
    "black-belt": 0.2,
    "grandmaster": 5.0,
}
_OLD = 0.06
# Levels that think by the clock, and make do with less of it; the others need what they need.
_BY_THE_CLOCK = {"grandmaster"}
_LEAST = 0.3
# Whatever waits at the same time is to be done within so many seconds.
WINDOW = 30.0


def seconds(level: str) -> float:
    """What the level needs for a move, or is given when nobody else waits."""
    return _SECONDS.get(level, _OLD)


def share(level: str, waiting: Sequence[str], *, workers: int, waited: float) -> float | None:
    """What a level that thinks by the clock is given for a move now; None for the others.

    `waiting` names the level of each game that waits, this one among them; the first of them
    has waited for so many seconds.
    """
    if level not in _BY_THE_CLOCK:
        return None
    fixed = sum(seconds(other) for other in waiting if other not in _BY_THE_CLOCK)
    by_the_clock = sum(other in _BY_THE_CLOCK for other in waiting)
    left = workers * (WINDOW - waited) - fixed
    return max(_LEAST, min(seconds(level), left / by_the_clock))
