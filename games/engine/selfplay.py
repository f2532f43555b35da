"""Games of the engine against itself, as positions to tune the evaluation on."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np

from games.engine.bitboard import HANDS, Array, encode
from games.engine.evaluation import NAMES, Weights
from games.engine.search import WON, Engine, weighed_by
from games.onitama.cards import Deal, deal
from games.onitama.position import Move, Position

MOST_PLIES = 200
# A sample's columns: the words of the position, the numbers of its cards in alphabetical order,
# the search's score, and how the game ended for the mover: 1, 0 or -1.
OWN, OTHER, MASTER, PREY, ARRANGEMENT, CARDS, SCORE, RESULT = 0, 1, 2, 3, 4, 5, 10, 11
COLUMNS = 12
# So many plies at random, so that no two games are alike; and so many moves in a hundred are
# chosen with an eighth of the nodes, so that what a mistake leads to is seen too.
OPENING = (2, 8)
HASTY = 0.1
BASE_SHARE = 0.7
TABLE_BITS = 16


def samples(weights: Weights, *, games: int, nodes: int, seed: int) -> Array:
    """Quiet positions of so many games, one a row, int32."""
    rng = Random(seed)  # noqa: S311  # games, not secrets
    engine = weighed_by(weights, TABLE_BITS)
    rows = [row for _ in range(games) for row in _game(engine, rng, nodes)]
    return np.array(rows, np.int32).reshape(-1, COLUMNS)


def hands(sample: Array) -> tuple[list[int], list[int]]:
    """The numbers of the cards in the mover's hand and in the opponent's."""
    dealt = sample[CARDS:SCORE]
    own1, own2, other1, other2, _ = HANDS[sample[ARRANGEMENT]]
    return [int(dealt[own1]), int(dealt[own2])], [int(dealt[other1]), int(dealt[other2])]


def _game(engine: Engine, rng: Random, nodes: int) -> Iterator[tuple[int, ...]]:
    position = opening(deal("base" if rng.random() < BASE_SHARE else "all34", rng), rng)
    history: list[Position] = []
    quiet: list[tuple[Position, int]] = []
    result = 0
    while position.outcome() is None and len(history) < MOST_PLIES:
        budget = nodes // 8 if rng.random() < HASTY else nodes
        found = engine.analyse(position, nodes=budget, history=history, exact=False)
        if found.action is None or abs(found.score) > WON:
            won = found.score > 0
            result = 1 if won == (position.turn.value == "b") else -1
            break
        if not _captures(position, found.action):
            quiet.append((position, found.score))
        history.append(position)
        position = position.after(found.action)
        if position in history:
            break
    for known, score in quiet:
        yield _row(known, score, result if known.turn.value == "b" else -result)


def opening(cards: Deal, rng: Random) -> Position:
    """A few plies at random, none of which loses at once."""
    position = Position.start(cards)
    for _ in range(rng.randint(*OPENING)):
        legal = position.legal_moves()
        after = [position.after(action) for action in legal]
        sound = [known for known in after if not known.winning(known.legal_moves())]
        if position.winning(legal) or not sound:
            break
        position = rng.choice(sound)
    return position


def _captures(position: Position, action: object) -> bool:
    return isinstance(action, Move) and position.board[action.target] != "0"


def _row(position: Position, score: int, result: int) -> tuple[int, ...]:
    words = encode(position)
    numbers = (NAMES.index(name) for name in sorted(position.cards))
    return (
        words.own, words.other, words.master, words.prey, words.arrangement,
        *numbers, score, result,
    )  # fmt: skip
