"""How strong a belt is, as its page shows it: a ladder of all eight, and the matches behind it."""

from __future__ import annotations

from dataclasses import dataclass

from games import strengths
from games.belts import BELTS, Belt, belt
from games.strengths import Match

# Of a bar as long as the ladder is wide; the weakest has the trace of one, too.
_WIDTH = 1000
_SHORTEST = 10


@dataclass(frozen=True, slots=True)
class Rung:
    """A belt with its points, those that it has more than the one below, and its bar."""

    belt: Belt
    elo: int
    step: int | None
    width: int
    here: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A match in the table; an old level that took part has no belt, only a name."""

    match: Match
    stronger: Belt | str
    weaker: Belt | str
    here: bool


def ladder(shown: Belt) -> list[Rung]:
    """From the strongest down; empty as long as it was not measured."""
    points = strengths.elo()
    if not points:
        return []
    most = max(points.values())
    below = [None, *BELTS[:-1]]
    rungs = [
        Rung(
            each,
            points[each.name],
            points[each.name] - points[lower.name] if lower else None,
            _SHORTEST + round((_WIDTH - _SHORTEST) * points[each.name] / most),
            each is shown,
        )
        for each, lower in zip(BELTS, below, strict=True)
    ]
    return rungs[::-1]


def matches(shown: Belt) -> list[Row]:
    return [
        Row(
            match,
            belt(match.stronger) or match.stronger,
            belt(match.weaker) or match.weaker,
            shown.name in (match.stronger, match.weaker),
        )
        for match in strengths.MATCHES
    ]
