"""The computer's levels: a position, a level and a budget in, an action out."""

from __future__ import annotations

import importlib
import logging
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from games.engine import compile as compilation
from games.engine import plain
from games.onitama.cards import BLUE, CARDS, RED, Colour, Step
from games.onitama.fallback import dice
from games.onitama.position import SIZE, Action, Move, Position

if TYPE_CHECKING:
    from games.engine.search import Engine

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Belt:
    """How far a belt looks, and how it errs: chances, taken anew for every move.

    It `overlooks` where a card goes two squares far or back to the side: for each card, in its own
    moves and in the opponent's. It `forgets` that the card it plays goes to the opponent. It
    `hurries`: looks only `glance` plies deep, and past a win that takes two moves or more. It
    misjudges a move by hundredths of a student; `noise` is their standard deviation.
    """

    nodes: int
    depth: int = 100
    overlooks: float = 0
    forgets: float = 0
    hurries: float = 0
    glance: int = 1
    noise: float = 0
    # It thinks for this time unless it is given another, or nodes.
    seconds: float | None = None

    @property
    def errs(self) -> bool:
        return bool(self.overlooks or self.forgets or self.hurries or self.noise)

    def given(self, seconds: float) -> Belt:
        if self.seconds is None:
            return self
        return replace(self, seconds=seconds, nodes=int(self.nodes * seconds / self.seconds) + 1)


BELTS: Mapping[str, Belt] = MappingProxyType(
    {
        "white-belt": Belt(
            nodes=4_000, depth=2, overlooks=0.25, forgets=0.3, hurries=0.45, glance=2, noise=28
        ),
        "yellow-belt": Belt(
            nodes=4_000, depth=3, overlooks=0.1, forgets=0.25, hurries=0.3, glance=2, noise=17
        ),
        "orange-belt": Belt(
            nodes=5_000, overlooks=0.05, forgets=0.05, hurries=0.12, glance=3, noise=9
        ),
        "green-belt": Belt(nodes=9_000, overlooks=0.01, hurries=0.05, glance=3, noise=5),
        "blue-belt": Belt(nodes=26_000, hurries=0.02, glance=4, noise=3),
        "brown-belt": Belt(nodes=50_000),
        "black-belt": Belt(nodes=300_000),
        # Its nodes are for the first moves, where it looks at all of them: well within its time.
        "grandmaster": Belt(nodes=1_500_000, seconds=5),
    }
)
LEVELS = (*plain.LEVELS, *BELTS)

# Those who do not err choose among moves this near to the best, in the first plies of a game.
_NEAR = 12
_OPENING = 4
_MEN = 10
_FAR = {
    name: frozenset(
        (files, ranks)
        for files, ranks in card.moves
        if abs(files) == 2 or abs(ranks) == 2 or (ranks < 0 and files)
    )
    for name, card in CARDS.items()
}


def choose(
    position: Position,
    level: str,
    *,
    seed: int,
    nodes: int | None = None,
    seconds: float | None = None,
    history: Sequence[Position] = (),
    tables: Any = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Action:
    """The level's action; the same for the same position, history, nodes and seed.

    `nodes` bounds the positions looked at: the deepest search that was finished then counts.
    `seconds` of the `clock` matter to the grandmaster alone, and endgame `tables` to those who do
    not err. `history` is the game so far from its start, with or without the position itself.

    Where nothing is compiled, the belts play in plain Python, the weak ones two plies deep.
    """
    belt = BELTS.get(level)
    search = None if belt is None else _search()
    if belt is None or search is None:
        stand_in = plain.STAND_INS.get(level, level)
        return plain.choose(position, stand_in, seed=seed, nodes=nodes, history=history)
    if not position.legal_moves():
        raise ValueError("the game is over")
    turn = _Turn(search, _in_order(position), history, dice(position, seed), clock)
    if nodes is not None:
        return turn.choose(replace(belt, nodes=min(nodes, belt.nodes), seconds=None), tables)
    return turn.choose(belt if seconds is None else belt.given(seconds), tables)


def prepare() -> None:
    """Load the compiled engine, so that no move has to wait for it."""
    if _search() is not None:
        choose(Position.start(("boar", "crab", "eel", "horse", "ox")), "brown-belt", seed=1)


def _search() -> Any:
    """The module of the compiled search; None where it is not compiled, or Numba is missing.

    By name, at the first move: what imports this module need not have Numba, nor wait for it.
    """
    name = "games.engine.search"
    if name not in sys.modules and not compilation.ready():
        return None
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
    except (OSError, ValueError, EOFError, LookupError, pickle.UnpicklingError) as damage:
        # As a power cut may leave it. Whoever compiles next compiles all of it.
        logger.warning("What was compiled of the engine is damaged: %r", damage)
        with suppress(OSError):
            compilation.forget()
        return None


def _in_order(position: Position) -> Position:
    """The same whatever the order in which a hand is written."""
    (blue_1, blue_2), (red_1, red_2) = (sorted(position.hand(colour)) for colour in (BLUE, RED))
    return replace(position, cards=(blue_1, blue_2, red_1, red_2, position.side_card))


@cache
def _engine() -> Engine:
    engine: Engine = _search().Engine()
    return engine


@dataclass(frozen=True, slots=True)
class _Sight:
    """What a belt sees at one move; by a card's name, the steps that it does not."""

    own: Mapping[str, frozenset[Step]]
    other: Mapping[str, frozenset[Step]]
    forgets: bool
    hurries: bool

    @classmethod
    def of(cls, belt: Belt, cards: Sequence[str], rng: Random) -> _Sight:
        own, other = (
            {card: _FAR[card] for card in sorted(cards) if rng.random() < belt.overlooks}
            for _ in range(2)
        )
        return cls(own, other, rng.random() < belt.forgets, rng.random() < belt.hurries)

    def sees(self, action: Action, mover: Colour) -> bool:
        if not isinstance(action, Move):
            return True
        files = action.target % SIZE - action.origin % SIZE
        ranks = action.target // SIZE - action.origin // SIZE
        step = (files, ranks) if mover is BLUE else (-files, -ranks)
        return step not in self.own.get(action.card, ())

    def of_the_other(self, played: str) -> Mapping[str, frozenset[Step]]:
        if not self.forgets:
            return self.other
        return {**self.other, played: frozenset(CARDS[played].moves)}


@dataclass(frozen=True, slots=True)
class _Turn:
    """A belt's move in a position that is not over."""

    search: Any
    position: Position
    history: Sequence[Position]
    rng: Random
    clock: Callable[[], float]

    def choose(self, belt: Belt, tables: Any) -> Action:
        legal = self.position.legal_moves()
        sight = _Sight.of(belt, self.position.cards, self.rng)
        seen = [action for action in legal if sight.sees(action, self.position.turn)] or legal
        winning = self.position.winning(seen)
        if winning or len(seen) == 1:
            return self.any_of(winning or seen)
        if belt.errs:
            return self.err(belt, sight, seen)
        if self.begins():
            return self.begin(belt)
        return self.think(belt, tables)

    def err(self, belt: Belt, sight: _Sight, seen: Sequence[Action]) -> Action:
        unseen = {
            card: self.search.Unseen(sight.own, sight.of_the_other(card))
            for card in self.position.hand(self.position.turn)
        }
        sees_all = not any(hidden for views in unseen.values() for hidden in views)
        ranked = _engine().rank(
            self.position,
            nodes=belt.nodes,
            depth=belt.glance if sight.hurries else belt.depth,
            history=self.history,
            unseen=None if sees_all else lambda action: unseen[action.card],
        )
        found = {action: score for action, score in ranked if action in seen}
        if sight.hurries:
            open_ = {a: score for a, score in found.items() if abs(score) <= self.search.WON}
            found = open_ or found
        worth = {a: self.misjudged(found[a], belt.noise) for a in sorted(found, key=str)}
        return max(worth, key=worth.__getitem__)

    def misjudged(self, score: int, noise: float) -> tuple[float, float]:
        """Equals are told apart by lot; a win or a loss that is seen is taken for what it is."""
        lot = self.rng.random()
        return score if abs(score) > self.search.WON else self.rng.gauss(score, noise), lot

    def think(self, belt: Belt, tables: Any) -> Action:
        found = _engine().analyse(
            self.position,
            seconds=belt.seconds,
            nodes=belt.nodes if belt.seconds is None else None,
            history=self.history,
            table=self.search.EMPTY if tables is None else tables,
            exact=False,
            clock=self.clock,
        )
        assert found.action is not None  # noqa: S101 - the game is not over
        return found.action

    def begin(self, belt: Belt) -> Action:
        ranked = _engine().rank(self.position, nodes=belt.nodes, history=self.history)
        least = ranked[0][1] - _NEAR
        return self.any_of([action for action, score in ranked if score >= least])

    def begins(self) -> bool:
        plies = sum(earlier != self.position for earlier in self.history)
        return plies < _OPENING and self.position.board.count("0") == SIZE * SIZE - _MEN

    def any_of(self, actions: Sequence[Action]) -> Action:
        return self.rng.choice(sorted(actions, key=str))
