"""Games of the engine against itself, as positions to tune the evaluation on.

They are played in compiled code: the search of such a game takes less time than its rules do in
Python. Each deal is played a few times, for its tables take as long to make as a game.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
from numba import njit

from games.engine import kernel
from games.engine.arrays import reading
from games.engine.bitboard import ALL, ARRANGEMENTS, HANDS, PASS, SQUARES, Array, encode, key
from games.engine.bitboard import deal as move_tables
from games.engine.evaluation import NAMES, Tables, Weights, tables
from games.engine.kernel import WIN, WON
from games.engine.moves import (
    ALPHA,
    ARRANGEMENT,
    BEST,
    BEST_MOVE,
    BETA,
    DEPTH,
    FIELDS,
    MASTER,
    MAX_MOVES,
    NEXT_MOVE,
    OTHER,
    OWN,
    PREY,
    QUIET_PLIES,
    generate,
    make,
    wins_at_once,
)
from games.engine.tables import EMPTY
from games.onitama.cards import deal
from games.onitama.position import Position

# A sample's columns: the five words of the position (as a node has them), the numbers of its cards
# in alphabetical order, the search's score, and how the game ended for the mover: 1, 0 or -1.
CARDS, SCORE, RESULT = 5, 10, 11
COLUMNS = 12
MOST_PLIES = 200
# So many plies at random, so that no two games are alike; and so many other moves, so that what a
# mistake leads to is seen too.
OPENING = (2, 8)
AT_RANDOM = 0.06
BASE_SHARE = 0.75
GAMES_OF_A_DEAL = 4
_DEEPEST = 60
# A side's pieces at the start.
MOST_MEN = 5


def samples(weights: Weights, *, games: int, nodes: int, seed: int) -> Array:
    """Quiet positions of so many games, one a row, int32."""
    rng = Random(seed)  # noqa: S311  # games, not secrets
    searcher = _Searcher(nodes)
    found = [np.zeros((0, COLUMNS), np.int32)]
    for number in range(games):
        if number % GAMES_OF_A_DEAL == 0:
            start = Position.start(deal("base" if rng.random() < BASE_SHARE else "all34", rng))
            searcher.take(start, weights)
        found.append(searcher.play(start, rng.randint(*OPENING), rng.getrandbits(32)))
    return np.concatenate(found)


def read_samples(path: Path) -> Array:
    """Raises ValueError, whose message is for whoever named the file."""
    with reading(path, "samples"):
        kept = np.load(path)
        if kept.dtype != np.int32 or kept.shape != (max(len(kept), 1), COLUMNS):
            raise ValueError
        if not _sound(kept):
            raise ValueError
    return kept


def _sound(kept: Array) -> bool:
    """Whether each row could be a sample: what is not would be looked up beside a table."""
    own, other, master, prey, arrangement = kept[:, :CARDS].T
    dealt = kept[:, CARDS:SCORE]
    sound = (arrangement >= 0) & (arrangement < ARRANGEMENTS) & (own & other == 0)
    for pieces, chief in ((own, master), (other, prey)):
        sound &= (pieces >= 0) & (pieces <= ALL) & (np.bitwise_count(pieces) <= MOST_MEN)
        sound &= (chief >= 0) & (chief < SQUARES)
        sound &= pieces >> np.clip(chief, 0, SQUARES) & 1 == 1
    sound &= ((dealt >= 0) & (dealt < len(NAMES))).all(axis=1)
    sound &= (np.diff(np.sort(dealt)) > 0).all(axis=1)
    sound &= (abs(kept[:, SCORE]) <= WON) & (abs(kept[:, RESULT]) <= 1)
    return bool(sound.all())


class _Searcher:
    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._room = (
            np.zeros((kernel.MAX_PLY + 4, FIELDS), np.int64),
            np.zeros((kernel.MAX_PLY + 4, MAX_MOVES), np.int64),
            np.zeros(MOST_PLIES + kernel.MAX_PLY + 4, np.int64),
            np.zeros((1 << max(10, nodes.bit_length() + 1), 2), np.int64),
            np.zeros((2, 1 << 13), np.int64),
            np.zeros((kernel.MAX_PLY + 4, 2), np.int64),
        )
        self._control = np.zeros(kernel.CONTROLS, np.int64)
        self._rows = np.zeros((MOST_PLIES, COLUMNS), np.int32)

    def take(self, start: Position, weights: Weights) -> None:
        names = tuple(sorted(start.cards))
        moves = move_tables(names)
        self._reach = np.stack([moves.reach, moves.reach])
        self._back = np.stack([moves.back, moves.back])
        self._tables: Tables = tables(names, weights)
        self._rows[:, CARDS:SCORE] = [NAMES.index(name) for name in names]

    def play(self, start: Position, opening_plies: int, seed: int) -> Array:
        words = encode(start)
        node = np.zeros((2, FIELDS), np.int64)
        node[0, [OWN, OTHER, MASTER, PREY, ARRANGEMENT]] = (
            words.own, words.other, words.master, words.prey, words.arrangement,
        )  # fmt: skip
        made = _play(
            node, opening_plies, self._nodes, seed, self._rows, *self._room,
            self._reach, self._back, *self._tables, EMPTY.words, EMPTY.long, self._control,
        )  # fmt: skip
        return self._rows[:made].copy()


@njit(cache=True)
def _think(
    root: Array, nodes: int, before: int, stack: Array, moves: Array, past: Array, table: Array,
    history: Array, killers: Array, reach: Array, back: Array, squares: Array, balance: Array,
    units: Array, biases: Array, worth: Array, words: Array, long: Array, control: Array,
) -> tuple[int, int]:  # fmt: skip
    """The score and the best move's number; `past` begins with the `before` positions since the
    last capture."""
    for used in (table, history, killers):
        used.fill(0)
    control.fill(0)
    control[kernel.PAST] = before
    score = 0
    code = kernel.NO_MOVE
    top = stack[0]
    for depth in range(1, _DEEPEST):
        top[:] = root
        top[DEPTH], top[ALPHA], top[BETA] = depth, -WIN, WIN
        top[QUIET_PLIES] = before
        control[kernel.BASE] = control[kernel.PLY] = 0
        control[kernel.STATE] = kernel.ENTER
        # One ply is always looked at to its end: there has to be a move.
        control[kernel.LIMIT] = nodes if depth > 1 else 1 << 40
        done = kernel.run(
            stack, moves, past, table, history, killers, reach, back, squares, balance, units,
            biases, worth, words, long, -1, control,
        )  # fmt: skip
        if done or (top[BEST] > -WIN and top[NEXT_MOVE] > 1):
            code = top[BEST_MOVE]
        if not done:
            break
        score = control[kernel.VALUE]
        if abs(score) > WON or control[kernel.NODES] >= nodes:
            break
    return score, code


@njit(cache=True)
def _play(
    nodes_played: Array, opening_plies: int, nodes: int, seed: int, rows: Array, stack: Array,
    moves: Array, past: Array, table: Array, history: Array, killers: Array, reach: Array,
    back: Array, squares: Array, balance: Array, units: Array, biases: Array, worth: Array,
    words: Array, long: Array, control: Array,
) -> int:  # fmt: skip
    """One game from nodes_played[0]; writes its quiet positions into `rows` and gives how many."""
    np.random.seed(seed)
    node, after = nodes_played[0], nodes_played[1]
    line = moves[0]
    before, made, result = 0, 0, 0
    for ply in range(MOST_PLIES):
        own, other, arrangement = node[OWN], node[OTHER], node[ARRANGEMENT]
        master, prey = node[MASTER], node[PREY]
        sign = 1 - 2 * (ply & 1)
        here = key(own, other, master, prey, arrangement)
        if np.any(past[before & 1 : before : 2] == here):
            break
        if wins_at_once(0, own, master, prey, HANDS[arrangement, 0], HANDS[arrangement, 1], back):
            result = sign
            break
        if ply < opening_plies or np.random.random() < AT_RANDOM:
            found = generate(
                line, 0, own, other, master, prey, arrangement, reach, ~own & ALL, True
            )
            if found == 0:
                result = -sign
                break
            code = line[np.random.randint(found)] if found > 0 else _pass(arrangement)
        else:
            score, code = _think(
                node, nodes, before, stack, moves, past, table, history, killers, reach, back,
                squares, balance, units, biases, worth, words, long, control,
            )  # fmt: skip
            if abs(score) > WON:
                result = sign if score > 0 else -sign
                break
            attackers = reach[0, HANDS[arrangement, 2], master]
            attackers |= reach[0, HANDS[arrangement, 3], master]
            captures = code & PASS != PASS and other >> (code >> 5 & 31) & 1 != 0
            if not captures and attackers & other == 0:
                row = rows[made]
                row[OWN], row[OTHER], row[MASTER], row[PREY] = own, other, master, prey
                row[ARRANGEMENT], row[SCORE], row[RESULT] = arrangement, score, sign
                made += 1
        past[before] = here
        node[QUIET_PLIES] = before
        make(node, after, code)
        before = after[QUIET_PLIES]
        node[:] = after
    for at in range(made):
        rows[at, RESULT] *= result
    return made


@njit(cache=True)
def _pass(arrangement: int) -> int:
    return HANDS[arrangement, 0] << 10 | PASS
