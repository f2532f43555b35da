"""Moves on machine words: found, made and counted, on a stack of nodes."""

from __future__ import annotations

import numpy as np
from numba import njit

from games.engine.bitboard import ALL, GOAL, HANDS, NEXT, PASS, TEMPLE, Array, lowest, turned

MAX_MOVES = 44
# What the stack keeps of a node.
(
    OWN, OTHER, MASTER, PREY, ARRANGEMENT, KEY, DEPTH, ALPHA, BETA, FLOOR, BEST, BEST_MOVE,
    MOVES, NEXT_MOVE, MOVE, MODE, QUIET_PLIES, THREATENED, STATIC, NULLED,
    ONLY_CAPTURES, ALL_FOUND,
) = range(22)  # fmt: skip
FIELDS = 24


@njit(
    "int64(int64[::1], int64, int64, int64, int64, int64, int64, int64[:, :, ::1], int64, boolean)",
    cache=True,
    boundscheck=False,
)
def generate(
    line: Array,
    side: int,
    own: int,
    other: int,
    master: int,
    prey: int,
    arrangement: int,
    reach: Array,
    targets: int,
    safe: bool,
) -> int:
    """Write the moves onto `targets` into `line`; gives how many, or -1 where the rules allow no
    move at all, onto whatever square, and the mover must pass.

    Of `safe` moves the opponent has no win in one. Nothing may stand between, pieces jump: so the
    master must not stand where one of them gets to, and their master must not get to the temple.
    """
    first, second = HANDS[arrangement, 2], HANDS[arrangement, 3]
    students = targets
    temple = np.int64(0)
    if safe:
        attackers = (reach[1 - side, first, master] | reach[1 - side, second, master]) & other
        if attackers != 0:
            # One attacker can be taken; of two, one is left.
            students &= attackers if attackers & (attackers - 1) == 0 else 0
        if (reach[1 - side, first, TEMPLE] | reach[1 - side, second, TEMPLE]) >> prey & 1 != 0:
            # Only a student of theirs keeps their master out, and must not be taken.
            temple = np.int64(1) << TEMPLE
    made = 0
    stuck = True
    origins = own
    while origins:
        origin = lowest(origins)
        origins &= origins - 1
        for place in range(2):
            card = HANDS[arrangement, place]
            hits = reach[side, card, origin] & ~own
            if hits != 0:
                stuck = False
            hits &= (targets if origin == master else students) & ~temple
            while hits:
                target = lowest(hits)
                hits &= hits - 1
                if safe and origin == master:
                    around = reach[1 - side, first, target] | reach[1 - side, second, target]
                    if around & other != 0:
                        continue
                line[made] = card << 10 | target << 5 | origin
                made += 1
    return -1 if stuck else made


@njit("void(int64[::1], int64[::1], int64)", cache=True, boundscheck=False)
def make(node: Array, child: Array, code: int) -> None:
    """Set up the position after a move, as the opponent sees it."""
    own = node[OWN]
    other = node[OTHER]
    master = node[MASTER]
    child[QUIET_PLIES] = node[QUIET_PLIES] + 1
    if code & PASS != PASS:
        origin = code & 31
        target = code >> 5 & 31
        landing = np.int64(1) << target
        if other & landing != 0:
            child[QUIET_PLIES] = 0
        own = own ^ (np.int64(1) << origin) | landing
        other &= ~landing
        if origin == master:
            master = target
    child[OWN] = turned(other)
    child[OTHER] = turned(own)
    child[MASTER] = 24 - node[PREY]
    child[PREY] = 24 - master
    child[ARRANGEMENT] = NEXT[node[ARRANGEMENT], code >> 10]


@njit("boolean(int64, int64, int64, int64, int64, int64, int64[:, :, ::1])", cache=True)
def wins_at_once(
    side: int, own: int, master: int, prey: int, first: int, second: int, back: Array
) -> bool:
    """Whether the mover, with these two cards, takes the master or steps into the temple."""
    if (back[side, first, prey] | back[side, second, prey]) & own != 0:
        return True
    stepping = (back[side, first, GOAL] | back[side, second, GOAL]) >> master & 1
    return stepping != 0 and own >> GOAL & 1 == 0


@njit("int64(int64[:, ::1], int64[:, ::1], int64, int64[:, :, ::1])", cache=True)
def perft(stack: Array, moves: Array, depth: int, reach: Array) -> int:
    """Sequences of `depth` plies from the position in stack[0]; none goes on after a win."""
    if depth == 0:
        return 1
    nodes = 0
    ply = 0
    fresh = True
    while ply >= 0:
        node = stack[ply]
        line = moves[ply]
        if fresh:
            made = generate(
                line, ply & 1, node[OWN], node[OTHER], node[MASTER], node[PREY],
                node[ARRANGEMENT], reach, ~node[OWN] & ALL, False,
            )  # fmt: skip
            if made < 0:
                for place in range(2):
                    line[place] = HANDS[node[ARRANGEMENT], place] << 10 | PASS
                made = 2
            node[MOVES] = made
            node[NEXT_MOVE] = 0
            if ply == depth - 1:
                nodes += made
                node[NEXT_MOVE] = made
        fresh = False
        at = node[NEXT_MOVE]
        if at == node[MOVES]:
            ply -= 1
            continue
        node[NEXT_MOVE] = at + 1
        code = line[at]
        if code & PASS != PASS:
            target = code >> 5 & 31
            if target == node[PREY] or (target == GOAL and code & 31 == node[MASTER]):
                continue
        make(node, stack[ply + 1], code)
        ply += 1
        fresh = True
    return nodes
