"""Judges a position and finds the best move, in a given time or number of nodes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from games.engine import kernel
from games.engine.bitboard import (
    SQUARES,
    Array,
    Words,
    deal_of,
    decode_move,
    encode,
    key,
    move_tables,
)
from games.engine.evaluation import Tables, Weights, tables, tuned_tables
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
)
from games.engine.tables import EMPTY, Table
from games.onitama.cards import Colour, Step
from games.onitama.position import Action, Position

WIN, WON = kernel.WIN, kernel.WON
MOST_DEPTH = 100
# Nodes between two looks at the clock: a few milliseconds.
CHUNK = 10_000
# Nodes a second that no machine reaches: what is remembered need not be made ready for more.
FASTEST = 10_000_000


@dataclass(frozen=True, slots=True)
class Proof:
    """What the position is worth for certain. No winner is a draw; `plies` is to the end with the
    best play of both, None where only the winner is known."""

    winner: Colour | None
    plies: int | None


@dataclass(frozen=True, slots=True)
class Analysis:
    """`score` is the mover's, in hundredths of a student; a win in n plies is WIN - n."""

    action: Action | None
    line: tuple[Action, ...]
    score: int
    depth: int
    nodes: int
    seconds: float
    proven: Proof | None


class Unseen(NamedTuple):
    """What the mover overlooks: for a card's name, the steps (files, ranks) from its player's side
    that the mover does not see; in its own moves and in the opponent's."""

    own: Mapping[str, frozenset[Step]]
    other: Mapping[str, frozenset[Step]]


NOTHING = Unseen({}, {})


class Engine:
    """One search at a time; what it has learnt is forgotten before the next.

    With `every_move` it leaves none out and looks at each as deep as at any other.
    """

    def __init__(
        self,
        table_bits: int = 20,
        *,
        evaluation: Callable[[tuple[str, ...]], Tables] = tuned_tables,
        every_move: bool = False,
    ) -> None:
        self._evaluation = evaluation
        self._every_move = every_move
        self._whole_table = np.zeros((1 << table_bits, 2), np.int64)
        # The system gives memory when it is first written: here, not in the first search's time.
        self._whole_table.fill(0)
        self._stack = np.zeros((kernel.MAX_PLY + 4, FIELDS), np.int64)
        self._moves = np.zeros((kernel.MAX_PLY + 4, MAX_MOVES), np.int64)
        self._history = np.zeros((2, 1 << 13), np.int64)
        self._killers = np.zeros((kernel.MAX_PLY + 4, 2), np.int64)
        self._control = np.zeros(kernel.CONTROLS, np.int64)
        self._reach = self._back = np.zeros((2, 5, SQUARES), np.int64)
        self._endgames = EMPTY

    def analyse(
        self,
        position: Position,
        *,
        seconds: float | None = None,
        nodes: int | None = None,
        depth: int = MOST_DEPTH,
        history: Sequence[Position] = (),
        table: Table = EMPTY,
        exact: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> Analysis:
        """The best move that the budget finds; with none, a search to `depth`.

        With a `table` of the deal's endgames, what it knows is taken from it.

        `history` is the game so far, with or without the position itself. `exact` looks for what is
        certain, not for a move to play: first for a win or a loss, of whatever length, and with
        what is left of the budget for how long it takes at least.
        """
        budget = _Budget(clock, seconds, nodes)
        legal = position.legal_moves()
        if not legal:
            return _over(position)
        winning = position.winning(legal)
        if winning:
            proof = Proof(position.turn, 1)
            return Analysis(winning[0], (winning[0],), WIN - 1, 1, 1, budget.spent(), proof)
        most = nodes if seconds is None else int(seconds * FASTEST)
        self._begin(position, history, most, table)
        plies = _tabled(self._endgames, position)
        if plies > 0:
            return _read_off(self._endgames, position, plies, budget)
        line: tuple[Action, ...] = tuple(_end(position)) or (legal[0],)
        score, reached = 0, 0
        self._control[kernel.PROVING] = exact
        # No win is looked for that is shorter than one that is known, nor a longer defence.
        most_wanted = WON + 1 if exact else WIN
        for deeper in range(1, depth + 1):
            finished = self._search(deeper, budget, -most_wanted, most_wanted)
            if self._found(finished):
                line = self._line(position) or line
            if not finished:
                break
            score, reached = int(self._control[kernel.VALUE]), deeper
            if abs(score) > WON or budget.is_used_up(int(self._control[kernel.NODES])):
                break
        proven = Proof(None, None) if plies == 0 else None
        if abs(score) > WON:
            known = False
            if exact:
                line, score, known = self._distance(position, line, score, budget)
                line = self._to_its_end(position, line, WIN - abs(score), known)
            winner = position.turn if score > 0 else position.turn.other
            proven = Proof(winner, WIN - abs(score) if known else None)
        searched = int(self._control[kernel.NODES])
        return Analysis(line[0], line, score, reached, searched, budget.spent(), proven)

    def _found(self, finished: bool) -> bool:
        """Whether the search that ended has a move that is at least as good as the last one's: its
        first move was that one, and is done."""
        top = self._stack[0]
        return bool(top[BEST] > -WIN and (finished or top[NEXT_MOVE] > 1))

    def _search(self, depth: int, budget: _Budget, alpha: int, beta: int) -> bool:
        quiet = int(self._control[kernel.PAST])
        self._start(self._root, 0, depth, quiet)
        self._stack[0, ALPHA], self._stack[0, BETA] = alpha, beta
        return self._run(budget)

    def _distance(
        self, position: Position, line: tuple[Action, ...], score: int, budget: _Budget
    ) -> tuple[tuple[Action, ...], int, bool]:
        """The line and score of the quickest win or the longest defence, and whether it is known
        that there is none quicker or longer.

        The search that found it asked for no shorter one, and looked at some moves less deep or not
        at all. This one looks at every move, for a win in so many plies, then in two more.
        """
        self._control[kernel.EVERY_MOVE] = True
        # Its bounds for positions that are not proven, and its best moves, are of no use here.
        self._table.fill(0)
        for plies in range(3 if score > 0 else 2, WIN - abs(score), 2):
            value = WIN - plies if score > 0 else plies - WIN
            alpha = value - 1 if score > 0 else value
            if not self._search(plies, budget, alpha, alpha + 1):
                return line, score, False
            above = int(self._control[kernel.VALUE]) > alpha
            if above:
                line = self._line(position)
            if above == (score > 0):
                score = value
                break
        # Those bounds say nothing of what the side does that cannot do better; this window does.
        if self._search(WIN - abs(score), budget, score - 1, score + 1):
            line = self._line(position) or line
        return line, score, True

    def _line(self, position: Position) -> tuple[Action, ...]:
        """The moves that the search thinks best for both, as far as its table still knows them."""
        code = int(self._stack[0, BEST_MOVE]) & kernel.NO_MOVE
        line: list[Action] = []
        seen = {position}
        while code != kernel.NO_MOVE:
            action = decode_move(code, position)
            line.append(action)
            position = position.play(action)
            end = _end(position)
            if end or position in seen:
                return (*line, *end)
            seen.add(position)
            code = int(kernel.best_known(self._table, _key(position)))
        return tuple(line)

    def _to_its_end(
        self, position: Position, line: tuple[Action, ...], plies: int, known: bool
    ) -> tuple[Action, ...]:
        """The line with what the table of endgames knows of the rest.

        It comes to its end in so many plies at the most, just so many if that is known. One that
        does not has a move in it that is not the best: all but its first is left out.
        """
        for sure in (line, line[:1]):
            after = position
            for action in sure:
                after = after.play(action)
            over = after.outcome() is not None
            left = -1 if over else _tabled(self._endgames, after)
            whole = (*sure, *_to_the_end(self._endgames, after, left))
            ends = over or left > 0
            if ends and len(whole) == plies or len(whole) < plies and not (ends and known):
                return whole
        return line[:1]

    def rank(
        self,
        position: Position,
        *,
        nodes: int,
        depth: int = MOST_DEPTH,
        history: Sequence[Position] = (),
        unseen: Callable[[Action], Unseen] | None = None,
    ) -> list[tuple[Action, int]]:
        """Every legal action with its score, the best first: those of the deepest search of them
        all that `nodes` allow. `unseen` says what the mover overlooks when it judges an action.
        """
        ranked = [(action, 0) for action in position.legal_moves()]
        winning = position.winning([action for action, _ in ranked])
        self._begin(position, history, nodes)
        plain = self._reach, self._back
        budget = _Budget(time.perf_counter, None, nodes)
        for deeper in range(1, depth + 1):
            scores = []
            for action, _ in ranked:
                if action in winning:
                    scores.append((action, WIN - 1))
                    continue
                self._reach, self._back = (
                    plain if unseen is None else _seen(position, unseen(action))
                )
                self._child(position.after(action), deeper - 1)
                if not self._run(budget):
                    return ranked
                scores.append((action, -int(self._control[kernel.VALUE])))
            ranked = sorted(scores, key=lambda pair: (-pair[1], str(pair[0])))
        return ranked

    def _begin(
        self,
        position: Position,
        history: Sequence[Position],
        nodes: int | None,
        table: Table = EMPTY,
    ) -> None:
        bits = self._whole_table.shape[0].bit_length() - 1
        if nodes is not None:
            bits = max(10, min(bits, nodes.bit_length() + 1))
        self._table = self._whole_table[: 1 << bits]
        for used in (self._table, self._history, self._killers, self._control):
            used.fill(0)
        self._reach, self._back = _seen(position, NOTHING)
        self._tables = self._evaluation(deal_of(position).names)
        before = _reversible(position, history)
        self._past = np.zeros(len(before) + kernel.MAX_PLY + 4, np.int64)
        self._past[: len(before) + 1] = list(map(_key, (*before, position)))
        twice = {earlier for earlier, times in Counter(before).items() if times > 1}
        self._control[kernel.PAST] = len(before)
        self._control[kernel.EVERY_MOVE] = self._every_move
        self._control[kernel.TWICE] = bool(twice)
        self._root = encode(position)
        self._endgames = table if _holds(table, position, twice) else EMPTY

    def _start(self, words: Words, ply: int, depth: int, quiet: int) -> None:
        node, control = self._stack[ply], self._control
        node.fill(0)
        node[OWN], node[OTHER] = words.own, words.other
        node[MASTER], node[PREY] = words.master, words.prey
        node[ARRANGEMENT] = words.arrangement
        node[DEPTH], node[ALPHA], node[BETA] = depth, -WIN, WIN
        node[QUIET_PLIES] = quiet
        control[kernel.BASE] = control[kernel.PLY] = ply
        control[kernel.STATE] = kernel.ENTER

    def _child(self, position: Position, depth: int) -> None:
        words = encode(position)
        men = self._root.own | self._root.other
        quiet = self._control[kernel.PAST] + 1
        captured = (words.own | words.other).bit_count() < men.bit_count()
        self._start(words, 1, depth, 0 if captured else int(quiet))

    def _run(self, budget: _Budget) -> bool:
        control = self._control
        while True:
            control[kernel.LIMIT] = budget.next_look(int(control[kernel.NODES]))
            if kernel.run(
                self._stack, self._moves, self._past, self._table, self._history, self._killers,
                self._reach, self._back, *self._tables,
                self._endgames.words, self._endgames.long, self._endgames.most, control,
            ):  # fmt: skip
                return True
            if budget.is_used_up(int(control[kernel.NODES])):
                return False


def weighed_by(weights: Weights, table_bits: int) -> Engine:
    """An engine with another evaluation than ours."""

    @lru_cache(maxsize=16)
    def added_up(names: tuple[str, ...]) -> Tables:
        return tables(names, weights)

    return Engine(table_bits, evaluation=added_up)


class _Budget:
    def __init__(
        self, clock: Callable[[], float], seconds: float | None, nodes: int | None
    ) -> None:
        self._clock = clock
        self._began = clock()
        self._seconds = seconds
        self._nodes = nodes

    def spent(self) -> float:
        return self._clock() - self._began

    def next_look(self, nodes: int) -> int:
        return nodes + CHUNK if self._nodes is None else min(nodes + CHUNK, self._nodes)

    def is_used_up(self, nodes: int) -> bool:
        if self._nodes is not None and nodes >= self._nodes:
            return True
        return self._seconds is not None and self.spent() >= self._seconds


def _tabled(table: Table, position: Position) -> int:
    """The distance to the end that the table knows, 0 for a draw, -1 where it knows nothing."""
    return -1 if table is EMPTY else table.value(position)


def _holds(table: Table, position: Position, twice: Collection[Position]) -> bool:
    """Whether what the table says holds where a game has been at some positions twice.

    It knows nothing of the game, in which they are draws now. A win comes nearer with every ply:
    it never leads to a position that is as far from the end. Where nobody could force a win,
    nobody can now.
    """
    plies = _tabled(table, position)
    return plies <= 0 or not any(0 < _plies_left(table, other) < plies for other in twice)


def _read_off(table: Table, position: Position, plies: int, budget: _Budget) -> Analysis:
    line = _to_the_end(table, position, plies)
    winner = position.turn if plies % 2 else position.turn.other
    score = WIN - plies if plies % 2 else plies - WIN
    proof = Proof(winner, plies)
    return Analysis(line[0], tuple(line), score, plies, 0, budget.spent(), proof)


def _to_the_end(table: Table, position: Position, plies: int) -> list[Action]:
    line: list[Action] = []
    for left in range(plies, 0, -1):
        legal = position.legal_moves()
        winning = position.winning(legal)
        action = winning[0] if winning else _slowest(table, position, legal, left - 1)
        line.append(action)
        position = position.after(action)
    return line


def _slowest(table: Table, position: Position, legal: list[Action], left: int) -> Action:
    """The action after which the game goes on for just so many plies."""
    for action in legal:
        after = position.after(action)
        if _plies_left(table, after) == left:
            return action
    raise ValueError(f"the table of {','.join(table.names)} contradicts itself at {position}")


def _plies_left(table: Table, position: Position) -> int:
    winning = position.winning(position.legal_moves())
    return 1 if winning else table.value(position)


def _seen(position: Position, unseen: Unseen) -> tuple[Array, Array]:
    """reach and back, first of the mover, then of the opponent."""
    names = deal_of(position).names
    sides = [move_tables(names, hidden) for hidden in unseen]
    return np.stack([side.reach for side in sides]), np.stack([side.back for side in sides])


def _over(position: Position) -> Analysis:
    outcome = position.outcome()
    if outcome is None:
        raise ValueError("a running position has moves")
    score = WIN if outcome.winner is position.turn else -WIN
    return Analysis(None, (), score, 0, 0, 0.0, Proof(outcome.winner, 0))


def _end(position: Position) -> list[Action]:
    """The last moves of a game that is decided in one or two plies: the table need not know."""
    legal = position.legal_moves()
    if winning := position.winning(legal):
        return winning[:1]
    for action in legal:
        after = position.after(action)
        answers = after.winning(after.legal_moves())
        if not answers:
            return []
    return [action, answers[0]] if legal else []


def _key(position: Position) -> int:
    words = encode(position)
    return int(key(words.own, words.other, words.master, words.prey, words.arrangement))


def _reversible(position: Position, history: Sequence[Position]) -> list[Position]:
    """The positions before this one that can come again: those since a capture."""
    before = list(history)
    if before and before[-1] == position:
        before.pop()
    men = 25 - position.board.count("0")
    kept: list[Position] = []
    for earlier in reversed(before):
        if 25 - earlier.board.count("0") != men:
            break
        kept.append(earlier)
    return kept[::-1]
