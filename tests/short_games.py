"""Ways to an ending that both players want, or to none, for tests under a random deal."""

from __future__ import annotations

import heapq
from itertools import count

from games.onitama.cards import Colour
from games.onitama.position import SIZE, TEMPLES, Action, Move, Position

_MASTERS = {Colour.BLUE: "2", Colour.RED: "4"}
_PIECES = {Colour.BLUE: "12", Colour.RED: "34"}


def helpful(position: Position, termination: str) -> list[Action]:
    """A line that ends by "stone" or "stream", whoever wins; the same one each time."""
    order = count()
    waiting: list[tuple[int, int, Position, list[Action]]] = [(0, next(order), position, [])]
    seen = {position}
    while waiting:
        _, _, here, line = heapq.heappop(waiting)
        outcome = here.outcome()
        if outcome is not None and outcome.termination == termination:
            return line
        for action in here.legal_moves():
            then = here.after(action)
            if then not in seen:
                seen.add(then)
                cost = len(line) + 3 * _distance(then, termination)
                heapq.heappush(waiting, (cost, next(order), then, [*line, action]))
    raise AssertionError(f"no line from {position} ends by {termination}")


def calm(position: Position) -> Move:
    """A move after which the game goes on for long, whatever the other side plays."""
    lasting = (_lasting(position, moves) for moves in (3, 2, 1))
    return next(filter(None, lasting), position.moves_of(position.turn)[0])


def _lasting(position: Position, moves: int) -> Move | None:
    """One that leaves this side at least so many, itself counted."""
    for action in position.moves_of(position.turn):
        then = position.after(action)
        answers = then.legal_moves()
        goes_on = answers and not then.winning(answers)
        if goes_on and (moves == 1 or all(_lasting(then.after(it), moves - 1) for it in answers)):
            return action
    return None


def _distance(position: Position, termination: str) -> int:
    """About how many moves of the side that is nearer; no position that is over is near."""
    outcome = position.outcome()
    if outcome is not None:
        return 0 if outcome.termination == termination else 5
    measure = _to_the_master if termination == "stone" else _to_the_temple
    return min(measure(position.board, colour) for colour in Colour)


def _to_the_master(board: str, colour: Colour) -> int:
    prey = board.index(_MASTERS[colour.other])
    return min(_steps(at, prey) for at, piece in enumerate(board) if piece in _PIECES[colour])


def _to_the_temple(board: str, colour: Colour) -> int:
    temple = TEMPLES[colour.other]
    # While the other master stands there, stepping in takes it.
    blocked = board[temple] == _MASTERS[colour.other]
    return _steps(board.index(_MASTERS[colour]), temple) + blocked


def _steps(one: int, other: int) -> int:
    files, ranks = one % SIZE - other % SIZE, one // SIZE - other // SIZE
    return max(abs(files), abs(ranks))
