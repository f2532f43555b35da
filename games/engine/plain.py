"""The levels of old, in plain Python: they move where the engine is not compiled, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from games.onitama.cards import Colour
from games.onitama.fallback import dice
from games.onitama.position import Action, Position

_DEPTHS = {"random": 0, "two-ply": 2, "four-ply": 4}
LEVELS = tuple(_DEPTHS)
# Who plays for a belt as long as nothing is compiled.
STAND_INS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("white-belt", "yellow-belt", "orange-belt"), "two-ply"),
        **dict.fromkeys(("green-belt", "blue-belt", "brown-belt"), "four-ply"),
        **dict.fromkeys(("black-belt", "grandmaster"), "four-ply"),
    }
)

_WIN = 1_000_000
_STUDENT = 100
_MOBILITY = 4


def choose(
    position: Position,
    level: str,
    *,
    seed: int,
    nodes: int | None = None,
    history: Sequence[Position] = (),
) -> Action:
    """The level's action; the same for the same position, history, budget and seed.

    `nodes` bounds the positions looked at: the deepest search that was finished then counts.
    `history` is the game so far from its start, with or without the position itself.
    """
    if level not in _DEPTHS:
        raise ValueError(f"{level!r} is not a level")
    legal = position.legal_moves()
    if not legal:
        raise ValueError("the game is over")
    search = _Search(_drawn_next_time(history), nodes)
    best = search.best(position, legal, _DEPTHS[level])
    return dice(position, seed).choice(best)


def _drawn_next_time(history: Sequence[Position]) -> frozenset[Position]:
    """Positions that were there twice.

    The cards need six plies to come back to where they were, and no search here is as deep: what
    is there for the third time within one has been there twice before it.
    """
    return frozenset(known for known, times in Counter(history).items() if times >= 2)


def evaluate(position: Position) -> int:
    """How well the side to move stands: students, then freedom of movement."""
    board = position.board
    mover = position.turn
    material = board.count("1") - board.count("3")
    if mover is Colour.RED:
        material = -material
    mobility = len(position.moves_of(mover)) - len(position.moves_of(mover.other))
    return _STUDENT * material + _MOBILITY * mobility


class _OutOfNodes(Exception):
    pass


class _Search:
    """Alpha-beta. Values are the mover's, so a position is worth minus its successors' least."""

    def __init__(self, drawn: frozenset[Position], nodes: int | None) -> None:
        self.drawn = drawn
        self.nodes_left = nodes
        self.killers: dict[int, Action] = {}

    def best(self, position: Position, legal: list[Action], depth: int) -> list[Action]:
        """Every action of the highest value."""
        if depth == 0 or len(legal) == 1:
            return legal
        winning = position.winning(legal)
        if winning:
            return winning
        best = legal
        try:
            for shallow in range(depth):
                # The best of a shallower search first: most of the others then fail at once.
                ordered = [*best, *(action for action in legal if action not in best)]
                best = self.best_at(position, ordered, shallow)
        except _OutOfNodes:
            pass
        return sorted(best, key=str)

    def best_at(self, position: Position, ordered: list[Action], depth: int) -> list[Action]:
        best: list[Action] = []
        highest = -_WIN
        for action in ordered:
            # A window open by one, so that equals are told from worse.
            value = -self.value(position.after(action), depth, -_WIN, 1 - highest)
            if value > highest:
                best, highest = [], value
            if value == highest:
                best.append(action)
        return best

    def value(self, position: Position, depth: int, alpha: int, beta: int) -> int:
        if self.nodes_left is not None:
            if self.nodes_left == 0:
                raise _OutOfNodes
            self.nodes_left -= 1
        if self.drawn and position in self.drawn:
            return 0
        if depth == 0:
            return evaluate(position)
        legal = position.legal_moves()
        if position.winning(legal):
            # Depth left is speed: the sooner win is worth more.
            return _WIN // 2 + depth
        for action in self.ordered(position, legal, depth):
            value = -self.value(position.after(action), depth - 1, -beta, -alpha)
            if value >= beta:
                self.killers[depth] = action
                return value
            alpha = max(alpha, value)
        return alpha

    def ordered(self, position: Position, legal: list[Action], depth: int) -> list[Action]:
        """Captures first, then what refuted a sister position: both cut the search short."""
        first = position.capturing(legal)
        killer = self.killers.get(depth)
        if killer is not None and killer in legal and killer not in first:
            first.append(killer)
        return [*first, *(action for action in legal if action not in first)]
