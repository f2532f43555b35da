"""Alpha-beta over machine words: one compiled loop with its own stack, which can be stopped."""

from __future__ import annotations

import numpy as np
from numba import njit

from games.engine.bitboard import ALL, HANDS, PASS, TEMPLE, Array, key, turned
from games.engine.evaluation import evaluate
from games.engine.moves import (
    ALL_FOUND,
    ALPHA,
    ARRANGEMENT,
    BEST,
    BEST_MOVE,
    BETA,
    DEPTH,
    FLOOR,
    KEY,
    MASTER,
    MODE,
    MOVE,
    MOVES,
    NEXT_MOVE,
    NULLED,
    ONLY_CAPTURES,
    OTHER,
    OWN,
    PREY,
    QUIET_PLIES,
    STATIC,
    THREATENED,
    generate,
    make,
    wins_at_once,
)
from games.engine.tables import probe

# A win in n plies is worth WIN - n; nothing else is worth more than WON in either direction.
WIN = 20_000
WON = WIN - 500
MAX_PLY = 120
# What is under way for the move that a node is trying.
FULL, NARROW, REDUCED, NULL = range(4)
# Where the loop goes on.
ENTER, TRY, LEAVE = range(3)
# What the loop is told and tells.
PLY, STATE, NODES, LIMIT, VALUE, PAST, BASE, EVERY_MOVE, TWICE, PROVING = range(10)
CONTROLS = 10
# With TWICE some position of the game has been there twice already: to reach it is a draw, even
# where the opponent would win from it.
# Without EVERY_MOVE: quiet moves late in the order are looked at less deep, from this depth on,
# from this move on, and still less from that one; a move of no consequence is tried first, from
# this depth on; and close to the end, quiet moves are left out where the position is worth so much
# less a ply than what the mover has already.
LATE_DEPTH, LATE, LATER_DEPTH, LATER = 3, 3, 6, 8
# With PROVING every quiet move but the first is looked at less deep, and a forced one costs no
# depth: more positions are proven so.
PROVING_LATE_DEPTH, PROVING_LATE, PROVING_LATER_DEPTH, PROVING_LATER = 2, 1, 3, 2
NULL_DEPTH = 3
FUTILE_DEPTH, FUTILE_MARGIN = 2, 60
# How far beyond its depth the search follows attacks on the master.
EVASIONS = 8

LOWER, UPPER, EXACT = 1, 2, 3

_INDEX = {tuple(hands): number for number, hands in enumerate(HANDS.tolist())}
# SWAP[arrangement] = the same cards as the opponent has them, nothing played.
SWAP = np.array([_INDEX[c, d, a, b, side] for a, b, c, d, side in HANDS.tolist()], np.int64)


@njit("int64(int64)", cache=True)
def slot(position_key: int) -> int:
    mixed = position_key * -7046029254386353131
    mixed ^= mixed >> 32
    mixed *= -4417276706812531889
    return (mixed >> 24) & 0xFFFFFFFF


NO_MOVE = 0x1FFF
MOST_HISTORY = 1 << 30
# In the order of trying: more than any history.
FIRST, CAPTURE, KILLER = 1 << 38, 1 << 36, 1 << 34


@njit("int64(int64[:, ::1], int64)", cache=True)
def best_known(table: Array, position_key: int) -> int:
    """The number of the move that the table holds for a position, or NO_MOVE."""
    index = slot(position_key) & (table.shape[0] - 2)
    for at in (index, index + 1):
        if table[at, 0] == position_key:
            return table[at, 1] & NO_MOVE
    return NO_MOVE


@njit(
    "int64(int64[:, ::1], int64[:, ::1], int64[::1], int64[:, ::1], int64[:, ::1], "
    "int64[:, ::1], int64[:, :, ::1], int64[:, :, ::1], int16[:, :, :, ::1], int16[:, ::1], "
    "int64[:, :, :, ::1], int64[:, ::1], int16[:, ::1], uint32[::1], int64[::1], int64, "
    "int64[::1])",
    cache=True,
    nogil=True,
    boundscheck=False,
)
def run(
    stack: Array,
    moves: Array,
    past: Array,
    table: Array,
    history: Array,
    killers: Array,
    reach: Array,
    back: Array,
    squares: Array,
    balance: Array,
    units: Array,
    biases: Array,
    worth: Array,
    words: Array,
    long: Array,
    most: int,
    control: Array,
) -> int:
    """Go on until the root is done (1) or `LIMIT` nodes were entered (0)."""
    ply = control[PLY]
    state = control[STATE]
    value = control[VALUE]
    nodes = control[NODES]
    limit = control[LIMIT]
    history_length = control[PAST]
    base = control[BASE]
    leaves_out = control[EVERY_MOVE] == 0
    nowhere_twice = control[TWICE] == 0
    proving = leaves_out and control[PROVING] != 0
    late_depth, late, later_depth, later = LATE_DEPTH, LATE, LATER_DEPTH, LATER
    if proving:
        late_depth, late = PROVING_LATE_DEPTH, PROVING_LATE
        later_depth, later = PROVING_LATER_DEPTH, PROVING_LATER
    mask = table.shape[0] - 2
    while True:
        node = stack[ply]
        side = ply & 1
        if state == ENTER:
            if nodes >= limit:
                control[PLY] = ply
                control[STATE] = ENTER
                control[NODES] = nodes
                return 0
            nodes += 1
            own = node[OWN]
            other = node[OTHER]
            master = node[MASTER]
            prey = node[PREY]
            arrangement = node[ARRANGEMENT]
            depth = node[DEPTH]
            alpha = node[ALPHA]
            beta = node[BETA]
            card0 = HANDS[arrangement, 0]
            card1 = HANDS[arrangement, 1]
            other0 = HANDS[arrangement, 2]
            other1 = HANDS[arrangement, 3]
            state = LEAVE
            position_key = key(own, other, master, prey, arrangement)
            node[KEY] = position_key
            past[history_length + ply] = position_key
            if ply > 0 and node[QUIET_PLIES] >= 6:
                # Twice since the root, or a third time in the game, is a draw. Where it matters how
                # long a win takes, only the game counts: the shortest way repeats nothing, and then
                # a value does not depend on how the search came by it.
                times = 0
                steps = min(node[QUIET_PLIES], ply + history_length)
                for back_by in range(6, steps + 1, 2):
                    if past[history_length + ply - back_by] == position_key:
                        if leaves_out and back_by <= ply:
                            times += 2
                        elif back_by >= ply:
                            times += 1
                if times >= 2:
                    value = 0
                    continue
            if ply > 0:
                if wins_at_once(side, own, master, prey, card0, card1, back):
                    value = WIN - ply - 1
                    continue
                if alpha >= WIN - ply - 3:
                    value = WIN - ply - 3
                    continue
                if (
                    nowhere_twice
                    and (
                        (reach[1 - side, other0, TEMPLE] | reach[1 - side, other1, TEMPLE]) >> prey
                        & 1
                    )
                    != 0
                    and (other >> TEMPLE & 1) == 0
                ):
                    value = ply + 2 - WIN
                    continue
                if beta <= ply + 2 - WIN:
                    value = ply + 2 - WIN
                    continue
                if most >= 0:
                    plies = probe(words, long, most, own, other, master, prey, arrangement)
                    if plies == 0:
                        value = 0
                        continue
                    if plies > 0:
                        value = WIN - ply - plies
                        if plies & 1 == 0:
                            value = -value
                        continue
            threats = (reach[1 - side, other0, master] | reach[1 - side, other1, master]) & other
            table_move = np.int64(-1)
            if depth > 0:
                index = slot(position_key) & mask
                entry = np.int64(0)
                if table[index, 0] == position_key:
                    entry = table[index, 1]
                elif table[index + 1, 0] == position_key:
                    entry = table[index + 1, 1]
                if entry != 0:
                    table_move = entry & NO_MOVE
                    bound = entry >> 13 & 3
                    stored_depth = entry >> 15 & 0xFF
                    stored = (entry >> 23) - 32768
                    proven = False
                    if stored > WON:
                        stored -= ply
                        proven = bound & LOWER != 0
                    elif stored < -WON:
                        stored += ply
                        proven = bound & UPPER != 0
                    decides = bound == EXACT or (
                        stored >= beta if bound == LOWER else stored <= alpha
                    )
                    if ply > 0 and decides and (stored_depth >= depth or proven):
                        value = stored
                        continue
            captures_only = depth <= 0
            best = np.int64(-WIN)
            static = np.int64(0)
            if captures_only or threats == 0:
                static = evaluate(
                    own, other, master, prey, arrangement, squares, balance, units, biases, worth
                )
            if captures_only and (threats == 0 or depth < -EVASIONS):
                best = static
                if best >= beta or ply >= MAX_PLY - 2:
                    value = best
                    continue
                if best > alpha:
                    node[ALPHA] = best
                    alpha = best
            elif captures_only:
                captures_only = False
            elif ply >= MAX_PLY - 2:
                value = evaluate(
                    own, other, master, prey, arrangement, squares, balance, units, biases, worth
                )
                continue
            node[STATIC] = static
            node[THREATENED] = threats
            node[FLOOR] = alpha
            node[BEST] = best
            node[BEST_MOVE] = table_move
            node[ONLY_CAPTURES] = captures_only
            node[NEXT_MOVE] = 0
            # The table's move is often enough, and spares finding the others; unless it is to be
            # known whether there are others.
            if table_move >= 0 and table_move != NO_MOVE and not (proving and threats != 0):
                moves[ply, 0] = table_move
                node[MOVES] = 1
            else:
                node[MOVES] = 0
            node[ALL_FOUND] = 0
            # A move of no consequence for the opponent: if even that is enough, so is a real one.
            if (
                leaves_out
                and depth >= NULL_DEPTH
                and threats == 0
                and ply > 0
                and beta - alpha == 1
                and static >= beta
                and node[NULLED] == 0
                and beta < WON
                and beta > -WON
            ):
                child = stack[ply + 1]
                child[OWN] = turned(other)
                child[OTHER] = turned(own)
                child[MASTER] = 24 - prey
                child[PREY] = 24 - master
                child[ARRANGEMENT] = SWAP[arrangement]
                child[QUIET_PLIES] = node[QUIET_PLIES] + 1
                child[NULLED] = 1
                child[DEPTH] = depth - 1 - 2 - depth // 4
                child[ALPHA] = -beta
                child[BETA] = 1 - beta
                node[MODE] = NULL
                ply += 1
                state = ENTER
                continue
            state = TRY
        elif state == LEAVE:
            if ply == base:
                control[PLY] = base
                control[STATE] = ENTER
                control[NODES] = nodes
                control[VALUE] = value
                return 1
            ply -= 1
            node = stack[ply]
            side = ply & 1
            got = -value
            mode = node[MODE]
            alpha = node[ALPHA]
            beta = node[BETA]
            if mode == NULL:
                if got >= beta and got < WON:
                    value = got
                    continue
                state = TRY
                continue
            if got > alpha and (mode == REDUCED or (mode == NARROW and got < beta)):
                child = stack[ply + 1]
                depth = node[DEPTH]
                if mode == REDUCED:
                    node[MODE] = NARROW
                    child[ALPHA] = -alpha - 1
                else:
                    node[MODE] = FULL
                    child[ALPHA] = -beta
                child[BETA] = -alpha
                child[DEPTH] = depth - 1
                ply += 1
                state = ENTER
                continue
            state = TRY
            if got > node[BEST]:
                node[BEST] = got
                if got > alpha:
                    node[BEST_MOVE] = node[MOVE]
                    node[ALPHA] = got
                    if got >= beta:
                        node[NEXT_MOVE] = node[MOVES]
                        node[ALL_FOUND] = 1
                        depth = node[DEPTH]
                        code = node[MOVE]
                        quiet = code & PASS == PASS or node[OTHER] >> (code >> 5 & 31) & 1 == 0
                        if depth > 0 and quiet and killers[ply, 0] != code:
                            killers[ply, 1] = killers[ply, 0]
                            killers[ply, 0] = code
                        if depth > 0 and quiet:
                            history[side, code] += depth * depth
                            if history[side, code] > MOST_HISTORY:
                                for i in range(history.shape[1]):
                                    history[side, i] >>= 1
        else:
            depth = node[DEPTH]
            at = node[NEXT_MOVE]
            made = node[MOVES]
            line = moves[ply]
            if at == made and node[ALL_FOUND] == 0:
                node[ALL_FOUND] = 1
                rest = line[made:]
                other = node[OTHER]
                found = generate(
                    rest, side, node[OWN], other, node[MASTER], node[PREY], node[ARRANGEMENT],
                    reach, other if node[ONLY_CAPTURES] else ~node[OWN] & ALL, nowhere_twice,
                )  # fmt: skip
                if found < 0:
                    rest[0] = HANDS[node[ARRANGEMENT], 0] << 10 | PASS
                    rest[1] = HANDS[node[ARRANGEMENT], 1] << 10 | PASS
                    found = 2
                elif found == 0 and made == 0 and node[ONLY_CAPTURES] == 0:
                    value = ply + 2 - WIN
                    state = LEAVE
                    continue
                kept = 0
                for i in range(found):
                    code = rest[i]
                    if made == 1 and code == line[0]:
                        continue
                    if code == node[BEST_MOVE]:
                        order = np.int64(FIRST)
                    elif code & PASS != PASS and other >> (code >> 5 & 31) & 1 != 0:
                        order = np.int64(CAPTURE + (code & 31 != node[MASTER]))
                    elif code == killers[ply, 0]:
                        order = np.int64(KILLER + 1)
                    elif code == killers[ply, 1]:
                        order = np.int64(KILLER)
                    else:
                        order = history[side, code]
                    rest[kept] = order << 13 | code
                    kept += 1
                made += kept
                node[MOVES] = made
            if at < made:
                # The best of those left, put in front.
                top = at
                for i in range(at + 1, made):
                    if line[i] > line[top]:
                        top = i
                chosen = line[top]
                line[top] = line[at]
                line[at] = chosen
                node[NEXT_MOVE] = at + 1
                code = chosen & NO_MOVE
                node[MOVE] = code
                alpha = node[ALPHA]
                beta = node[BETA]
                captures = code & PASS != PASS and node[OTHER] >> (code >> 5 & 31) & 1 != 0
                if (
                    leaves_out
                    and 0 < depth <= FUTILE_DEPTH
                    and at > 0
                    and not captures
                    and node[THREATENED] == 0
                    and node[STATIC] + FUTILE_MARGIN * depth <= alpha
                    and alpha > -WON
                    and alpha < WON
                    and ply > 0
                ):
                    bound = node[STATIC] + FUTILE_MARGIN * depth
                    if bound > node[BEST]:
                        node[BEST] = bound
                    continue
                child = stack[ply + 1]
                make(node, child, code)
                child[NULLED] = 0
                below = depth - 1
                if proving and depth > 0 and made == 1 and node[ALL_FOUND] != 0:
                    below = depth
                child[BETA] = -alpha
                if at == 0 or depth <= 0:
                    node[MODE] = FULL
                    child[ALPHA] = -beta
                else:
                    node[MODE] = NARROW
                    child[ALPHA] = -alpha - 1
                    if (
                        leaves_out
                        and depth >= late_depth
                        and at >= late
                        and not captures
                        and node[THREATENED] == 0
                    ):
                        node[MODE] = REDUCED
                        below -= 1
                        if at >= later and depth >= later_depth:
                            below -= 1 + depth // 8
                child[DEPTH] = below
                ply += 1
                state = ENTER
                continue
            value = node[BEST]
            state = LEAVE
            if depth > 0:
                bound = np.int64(EXACT)
                if value <= node[FLOOR]:
                    bound = np.int64(UPPER)
                elif value >= node[BETA]:
                    bound = np.int64(LOWER)
                stored = value
                if stored > WON:
                    stored += ply
                elif stored < -WON:
                    stored -= ply
                position_key = node[KEY]
                index = slot(position_key) & mask
                if table[index, 0] != position_key and (table[index, 1] >> 15 & 0xFF) > depth:
                    index += 1
                elif table[index, 0] != position_key and table[index, 0] != 0:
                    table[index + 1, 0] = table[index, 0]
                    table[index + 1, 1] = table[index, 1]
                move_bits = node[BEST_MOVE] & NO_MOVE
                table[index, 0] = position_key
                table[index, 1] = (
                    (stored + 32768) << 23 | min(depth, 255) << 15 | bound << 13 | move_bits
                )
