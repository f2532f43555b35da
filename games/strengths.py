"""How strong the computer's levels are, as measured: matches between neighbours, and the ladder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

# From the weakest up; each was measured against the one below.
LADDER = (
    *("white-belt", "yellow-belt", "orange-belt", "green-belt"),
    *("blue-belt", "brown-belt", "black-belt", "grandmaster"),
)


@dataclass(frozen=True, slots=True)
class Match:
    """Games between two levels, counted for the stronger one, and the command that played them.

    The step in points of Elo lies between `low` and `high` in 19 of 20 cases, as that command says.
    """

    stronger: str
    weaker: str
    won: int
    drawn: int
    lost: int
    low: int
    high: int
    command: str
    played: date

    @property
    def games(self) -> int:
        return self.won + self.drawn + self.lost

    @property
    def score(self) -> float:
        """The stronger one's share of the points."""
        return (self.won + self.drawn / 2) / self.games

    @property
    def step(self) -> float:
        """By how many points of Elo the stronger one is stronger."""
        # As if half a point had gone the other way, where none has.
        least = 1 / (2 * self.games)
        kept = min(max(self.score, least), 1 - least)
        return 400 * math.log10(kept / (1 - kept))


# In the order in which a page shows them.
MATCHES: tuple[Match, ...] = ()


def steps() -> dict[str, Match]:
    """By the stronger one's name, the match against the one below it on the ladder."""
    neighbours = set(pairwise(LADDER))
    return {
        match.stronger: match for match in MATCHES if (match.weaker, match.stronger) in neighbours
    }


def elo() -> dict[str, int]:
    """Points of Elo above the white belt; empty unless every step of the ladder was measured."""
    known = steps()
    if len(known) < len(LADDER) - 1:
        return {}
    points = {LADDER[0]: 0}
    for lower, upper in pairwise(LADDER):
        # Rounded first, so that what is shown adds up.
        points[upper] = points[lower] + round(known[upper].step)
    return points
