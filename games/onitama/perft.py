"""Counts every line of play to a depth, to compare the rules with other programs."""

from __future__ import annotations

from typing import NamedTuple

from games.onitama.position import Pass, Position


class Counts(NamedTuple):
    """What the last ply did, over all lines of one length."""

    nodes: int
    wins: int
    captures: int
    passes: int


def perft(position: Position, depth: int) -> list[Counts]:
    """One Counts for each length from 1 to depth; a won game has no longer line."""
    tallies = [[0, 0, 0, 0] for _ in range(depth)]
    _walk(position, tallies, 0)
    return [Counts(*tally) for tally in tallies]


def _walk(position: Position, tallies: list[list[int]], ply: int) -> None:
    actions = position.legal_moves()
    tally = tallies[ply]
    tally[0] += len(actions)
    for action in actions:
        if position.wins(action):
            tally[1] += 1
        if position.captures(action):
            tally[2] += 1
        if isinstance(action, Pass):
            tally[3] += 1
    if ply + 1 < len(tallies):
        for action in actions:
            if not position.wins(action):
                _walk(position.after(action), tallies, ply + 1)
