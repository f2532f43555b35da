"""How much stronger one player is than another, from games played in pairs on the same deal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Of a normal distribution 95 % lies within so many standard deviations.
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Difference:
    """In Elo, with the ends of its 95 % interval; infinite where every game went one way."""

    elo: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isinf(self.elo):
            end = f"above {self.low:+.0f}" if self.elo > 0 else f"below {self.high:+.0f}"
            return f"{end} (95 %)"
        return f"{self.elo:+.0f} (95 %: {self.low:+.0f} to {self.high:+.0f})"


def difference(points: Sequence[float]) -> Difference:
    """From what a player won in each pair, 0 to 2 points.

    The two games of a pair are not independent, for the deal favours a side: so the spread is
    that of the pairs. One more pair with the spread of independent games is added, else few pairs
    that ended alike would count as certain. The interval is Wilson's, which holds at 0 and 100 %.
    """
    pairs = len(points)
    mean = sum(points) / (2 * pairs)
    spread = sum((won / 2 - mean) ** 2 for won in points)
    independent = mean * (1 - mean)
    ratio = (spread / independent + 0.5) / pairs if independent else 0.5
    weight = _Z**2 * ratio / pairs
    middle = (mean + weight / 2) / (1 + weight)
    reach = math.sqrt(weight * independent + weight**2 / 4) / (1 + weight)
    return Difference(_elo(mean), _elo(middle - reach), _elo(middle + reach))


def _elo(score: float) -> float:
    if not 1e-12 < score < 1 - 1e-12:
        return math.copysign(math.inf, score - 0.5)
    return -400 * math.log10(1 / score - 1)
