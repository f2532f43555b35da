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
    legal = position.legal_moves()
    tally = tallies[ply]
    tally[0] += len(legal)
    tally[1] += len(position.winning(legal))
    tally[2] += len(position.capturing(legal))
    if legal and isinstance(legal[0], Pass):
        tally[3] += len(legal)
    if ply + 1 < len(tallies):
        for action in legal:
            _walk(position.after(action), tallies, ply + 1)
