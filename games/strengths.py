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


_COMMAND = ".venv/bin/python manage.py engine_match {} {} --games {}{} --seed {}"


def _match(
    stronger: str, weaker: str, *, won: int, drawn: int, lost: int, low: int, high: int
) -> Match:
    """One played with nodes alone, which comes out the same everywhere."""
    command = _COMMAND.format(stronger, weaker, won + drawn + lost, "", 1)
    return Match(stronger, weaker, won, drawn, lost, low, high, command, date(2026, 12, 1))


# In the order in which a page shows them.
MATCHES: tuple[Match, ...] = (
    _match("yellow-belt", "white-belt", won=151, drawn=0, lost=49, low=144, high=247),
    _match("orange-belt", "yellow-belt", won=152, drawn=0, lost=48, low=142, high=258),
    _match("green-belt", "orange-belt", won=157, drawn=0, lost=43, low=167, high=283),
    _match("blue-belt", "green-belt", won=161, drawn=0, lost=39, low=183, high=309),
    _match("brown-belt", "blue-belt", won=157, drawn=3, lost=40, low=176, high=290),
    _match("black-belt", "brown-belt", won=156, drawn=4, lost=40, low=168, high=292),
    # A second a move, of the processor's time.
    Match(
        "grandmaster",
        "black-belt",
        133,
        15,
        52,
        101,
        197,
        _COMMAND.format("grandmaster", "black-belt", 200, " --ms 1000", 1),
        date(2026, 12, 1),
    ),
)


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
