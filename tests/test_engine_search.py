"""The compiled search keeps the rules, its budget and its word."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from games.engine import kernel
from games.engine.bitboard import (
    ALL,
    HANDS,
    PASS,
    TEMPLE,
    Array,
    deal_of,
    decode_move,
    encode,
    encode_move,
    key,
)
from games.engine.evaluation import Tables, Weights, evaluate, tables
from games.engine.moves import (
    ARRANGEMENT,
    FIELDS,
    MASTER,
    MAX_MOVES,
    OTHER,
    OWN,
    PREY,
    generate,
    make,
    perft,
    wins_at_once,
)
from games.engine.search import WIN, WON, Analysis, Engine, Proof, Unseen
from games.engine.table_building import build
from games.engine.tables import Table
from games.onitama.cards import DECKS, Colour, deal
from games.onitama.position import Position

PERFT = json.loads((Path(__file__).parent / "data" / "perft.json").read_text())["positions"]
START = Position.start(("horse", "elephant", "ox", "boar", "crab"))
# Red wins in five, whatever Blue does; not in three.
WON_IN_5 = Position.parse("0103400000000000003020000 dog,mantis,boar,elephant,iguana r")


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(18)


def wander(rng: random.Random, plies: int, deck: str = "all34") -> Position:
    """A position some random plies into a game, that nobody has won."""
    position = Position.start(deal(deck, rng))
    for _ in range(plies):
        legal = position.legal_moves()
        winning = position.winning(legal)
        going_on = [action for action in legal if action not in winning]
        if not going_on:
            break
        position = position.after(rng.choice(going_on))
    return position


def stack_of(position: Position) -> Array:
    stack = np.zeros((kernel.MAX_PLY, FIELDS), np.int64)
    words = encode(position)
    stack[0, OWN], stack[0, OTHER] = words.own, words.other
    stack[0, MASTER], stack[0, PREY] = words.master, words.prey
    stack[0, ARRANGEMENT] = words.arrangement
    return stack


def room() -> Array:
    return np.zeros((kernel.MAX_PLY, MAX_MOVES), np.int64)


@pytest.mark.parametrize("case", PERFT, ids=lambda case: case["id"])
def test_it_counts_as_the_rules_do(case: dict[str, Any]) -> None:
    position = Position.parse(case["position"])
    tables_of = deal_of(position)
    reach = np.stack([tables_of.reach, tables_of.reach])
    for depth, nodes in enumerate(case["nodes"], 1):
        assert perft(stack_of(position), room(), depth, reach) == nodes


def test_it_reads_its_own_moves_and_positions() -> None:
    rng = random.Random(1)
    keys: dict[object, Position] = {}
    for number in range(300):
        position = wander(rng, number % 40)
        words = encode(position)
        for action in position.legal_moves():
            assert decode_move(encode_move(action, position), position) == action
        word = key(words.own, words.other, words.master, words.prey, words.arrangement)
        turned = keys.setdefault((word, tuple(sorted(position.cards)), position.turn), position)
        assert turned == position


# --- against brute force ----------------------------------------------------------------------


@njit(  # type: ignore[untyped-decorator]  # Numba has no types here
    "int64(int64[:, ::1], int64[:, ::1], int64, int64, int64[:, :, ::1], int64[:, :, ::1], "
    "int16[:, :, :, ::1], int16[:, ::1], int64[:, :, :, ::1], int64[:, ::1], int16[:, ::1])"
)
def worth(
    stack: Array, moves: Array, ply: int, depth: int, reach: Array, back: Array,
    squares: Array, balance: Array, units: Array, biases: Array, unit_worth: Array,
) -> int:  # fmt: skip
    """The value of stack[ply] by looking at every move, nothing cut off and nothing remembered.

    At the end of its depth it looks at captures alone, or, where the master is attacked, at every
    move.
    """
    node = stack[ply]
    side = ply & 1
    own, other, arrangement = node[OWN], node[OTHER], node[ARRANGEMENT]
    master, prey = node[MASTER], node[PREY]
    first, second = HANDS[arrangement, 0], HANDS[arrangement, 1]
    if ply > 0 and wins_at_once(side, own, master, prey, first, second, back):
        return WIN - ply - 1
    third, fourth = HANDS[arrangement, 2], HANDS[arrangement, 3]
    into = (reach[1 - side, third, TEMPLE] | reach[1 - side, fourth, TEMPLE]) >> prey & 1
    if into != 0 and other >> TEMPLE & 1 == 0:
        return ply + 2 - WIN
    attacked = (reach[1 - side, third, master] | reach[1 - side, fourth, master]) & other != 0
    targets = ~own & ALL
    best = -WIN
    if depth <= 0 and (not attacked or depth < -8):
        targets = other
        best = evaluate(
            own, other, master, prey, arrangement, squares, balance, units, biases, unit_worth
        )
    made = generate(moves[ply], side, own, other, master, prey, arrangement, reach, targets, False)
    if made < 0:
        made = 2
        moves[ply, 0], moves[ply, 1] = first << 10 | PASS, second << 10 | PASS
    for at in range(made):
        make(node, stack[ply + 1], moves[ply, at])
        value = -worth(
            stack, moves, ply + 1, depth - 1, reach, back, squares, balance, units, biases,
            unit_worth,
        )  # fmt: skip
        best = max(best, value)
    return best


THOROUGH = os.environ.get("BRUTE_FORCE") == "1"


@pytest.mark.timeout(3600 if THOROUGH else 300)
def test_it_finds_what_brute_force_finds() -> None:
    """With everything on that cuts without leaving a move out, to depth 4, or 5 where the moves are
    few; under BRUTE_FORCE=1, which takes long, twice as many positions and each to depth 5."""
    rng = random.Random(2)
    engine = Engine(18, every_move=True)
    compared = 0
    while compared < (200 if THOROUGH else 100):
        position = wander(rng, rng.randint(8, 60))
        legal = position.legal_moves()
        if not legal or position.winning(legal):
            continue
        cards = deal_of(position)
        pair = np.stack([cards.reach, cards.reach]), np.stack([cards.back, cards.back])
        summed = tables(cards.names, Weights.load())
        deepest = 5 if THOROUGH or len(legal) < 11 else 4
        for depth in range(1, deepest + 1):
            value = worth(stack_of(position), room(), 0, depth, *pair, *summed)
            found = engine.analyse(position, depth=depth).score
            if abs(value) > WON:
                # The engine goes on and looks for a quicker end than the first one found.
                assert found * value > 0, (str(position), depth)
                assert abs(found) >= abs(value), (str(position), depth)
                break
            assert found == value, (str(position), depth)
        else:
            compared += 1


# --- budgets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [1, 7, 100, 5_000])
def test_it_keeps_to_its_nodes_and_always_has_a_move(engine: Engine, nodes: int) -> None:
    found = engine.analyse(START, nodes=nodes)
    assert found.action in START.legal_moves()
    assert found.nodes <= nodes
    assert engine.analyse(START, nodes=nodes).line == found.line


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.3])
def test_it_keeps_to_its_time_and_always_has_a_move(engine: Engine, seconds: float) -> None:
    used = []
    for _ in range(3):
        began = time.thread_time()
        found = engine.analyse(START, seconds=seconds, clock=time.thread_time)
        used.append(time.thread_time() - began)
        assert found.action in START.legal_moves()
    assert min(used) <= seconds + 0.05


def test_too_little_time_proves_nothing(engine: Engine) -> None:
    for nodes in (1, 2, 5):
        found = engine.analyse(START, nodes=nodes)
        assert (found.depth, found.proven) == (0, None)
        assert abs(found.score) < WON


def test_more_time_looks_deeper(engine: Engine) -> None:
    shallow, deep = (engine.analyse(START, nodes=nodes) for nodes in (1_000, 100_000))
    assert 0 < shallow.depth < deep.depth


# --- what it says -----------------------------------------------------------------------------


def test_its_line_can_be_played(engine: Engine) -> None:
    for position in (START, WON_IN_5):
        found = engine.analyse(position, nodes=20_000)
        assert found.line[0] == found.action
        for action in found.line:
            position = position.play(action)


def test_it_proves_a_win_and_its_length(engine: Engine) -> None:
    found = engine.analyse(WON_IN_5, nodes=50_000)
    assert found.proven == Proof(Colour.RED, 5)
    assert found.score == WIN - 5
    assert len(found.line) == 5


def test_it_proves_a_loss_and_its_length(engine: Engine) -> None:
    after = WON_IN_5.play(engine.analyse(WON_IN_5, nodes=50_000).line[0])
    found = engine.analyse(after, nodes=50_000)
    assert found.proven == Proof(Colour.RED, 4)
    assert found.score == 4 - WIN


def test_it_proves_a_loss_by_the_longest_defence(engine: Engine) -> None:
    """What it says of a lost position is the way to hold out for so many plies."""
    rng = random.Random(12)
    lost = 0
    while lost < 15:
        position = wander(rng, rng.randint(20, 60))
        if not position.legal_moves():
            continue
        found = engine.analyse(position, depth=7)
        if found.proven is None or found.proven.winner is position.turn:
            continue
        plies = found.proven.plies
        assert plies is not None
        assert found.action is not None
        if 2 < plies < 7:
            lost += 1
            assert not forced(position.after(found.action), plies - 3), str(position)


def test_its_proofs_hold(engine: Engine) -> None:
    """Each against a search of every line to that depth, and none is missed that is so short."""
    rng = random.Random(3)
    proofs = 0
    for _ in range(150):
        position = wander(rng, rng.randint(20, 60))
        if not position.legal_moves():
            continue
        found = engine.analyse(position, depth=6)
        known = next((n for n in range(1, 5) if forced(position, n)), None)
        if found.proven is None:
            assert known is None, str(position)
            continue
        proofs += 1
        plies = found.proven.plies
        assert plies is not None
        assert (found.proven.winner is position.turn) == (plies % 2 == 1)
        assert known == plies if plies < 5 else known is None, str(position)
        assert agrees(position, found), str(position)
        assert len(found.line) == plies, str(position)
    assert proofs > 40


def agrees(position: Position, found: Analysis) -> bool:
    """Whether the line comes to no other end than the proof."""
    assert found.proven is not None
    for action in found.line:
        assert position.outcome() is None
        position = position.play(action)
    outcome = position.outcome()
    if outcome is None:
        return len(found.line) < WIN - abs(found.score)
    ends_in = found.proven.plies or len(found.line)
    return (outcome.winner, len(found.line)) == (found.proven.winner, ends_in)


def forced(position: Position, plies: int) -> bool:
    """Whether the mover wins within an odd number of plies, or loses within an even one."""
    legal = position.legal_moves()
    winning = position.winning(legal)
    if plies % 2:
        after = [position.after(action) for action in legal if action not in winning]
        return bool(winning) or (plies > 1 and any(forced(each, plies - 1) for each in after))
    if winning:
        return False
    return all(forced(position.after(action), plies - 1) for action in legal)


def test_a_third_time_is_a_draw(engine: Engine) -> None:
    """A move that repeats the position for the third time is worth nothing, however it stands."""
    cycle = round_and_round()
    first, last = cycle[0], cycle[-1]
    repeating = next(a for a in last.legal_moves() if last.after(a) == first)
    for rounds in (1, 2):
        history = cycle * rounds
        ranked = dict(engine.rank(last, nodes=20_000, depth=2, history=history))
        assert (ranked[repeating] == 0) == (rounds == 2)


def played(position: Position, twice: Position) -> list[Position]:
    """A game up to the position that was twice where its next move may lead."""
    return [twice, position, twice, *[position] * 5]


def decided(engine: Engine, seed: int, *, won: bool) -> Iterator[tuple[Position, Analysis]]:
    """Without end: positions that are proven won for the mover, or lost."""
    rng = random.Random(seed)
    while True:
        position = wander(rng, rng.randint(10, 50))
        found = engine.analyse(position, nodes=3_000)
        if found.proven and found.proven.winner is (position.turn if won else position.turn.other):
            yield position, found


def test_no_win_is_proven_by_a_move_that_draws(engine: Engine) -> None:
    """A quiet move that wins, but to where the game was twice, is a draw, also at the leaves."""
    positions, tried = decided(engine, 6, won=True), 0
    while tried < 40:
        position, found = next(positions)
        if found.depth < 2:
            continue
        assert found.action is not None
        after = position.after(found.action)
        if men(after) < men(position):
            continue
        tried += 1
        again = engine.analyse(position, nodes=3_000, history=played(position, after))
        assert again.action != found.action or again.proven is None
        scores = dict(engine.rank(position, nodes=3_000, history=played(position, after)))
        assert scores[found.action] == 0


def test_a_move_that_draws_saves_a_lost_game(engine: Engine) -> None:
    """Even where the opponent would win at once from there."""
    positions, tried = decided(engine, 8, won=False), 0
    while tried < 20:
        position, _ = next(positions)
        quiet = [a for a in position.legal_moves() if men(position.after(a)) == men(position)]
        for action in quiet[:2]:
            tried += 1
            history = played(position, position.after(action))
            saved = engine.analyse(position, nodes=3_000, history=history)
            assert (saved.action, saved.score, saved.proven) == (action, 0, None)


def round_and_round() -> list[Position]:
    """Positions one after the other; a move from the last leads to the first."""
    rng = random.Random(4)
    while True:
        line = [wander(rng, 30)]
        for _ in range(5):
            quiet = [
                after
                for action in line[-1].legal_moves()
                if not (after := line[-1].after(action)).outcome()
                and after.board.count("0") == line[-1].board.count("0")
            ]
            if not quiet:
                break
            line.append(rng.choice(quiet))
        last = line[-1]
        if len(line) == 6 and line[0] in [last.after(a) for a in last.legal_moves()]:
            return line


def test_a_finished_game_has_no_move(engine: Engine) -> None:
    over = Position.parse("0020000000000000000000000 tiger,ox,crab,goose,rooster r")
    found = engine.analyse(over, nodes=10)
    assert (found.action, found.line, found.proven) == (None, (), Proof(Colour.BLUE, 0))


def test_it_passes_where_it_must(engine: Engine) -> None:
    stuck = Position.parse("0000200001003010300130401 tiger,ox,mantis,goose,monkey b")
    assert engine.analyse(stuck, nodes=1_000).action in stuck.legal_moves()


def test_it_ranks_every_move(engine: Engine) -> None:
    ranked = engine.rank(WON_IN_5, nodes=50_000)
    assert {action for action, _ in ranked} == set(WON_IN_5.legal_moves())
    assert ranked[0] == (engine.analyse(WON_IN_5, nodes=50_000).action, WIN - 5)
    assert [score for _, score in ranked] == sorted((s for _, s in ranked), reverse=True)


def test_it_does_not_see_what_it_is_blind_to(engine: Engine) -> None:
    """Blue's master can be taken by the tiger's two squares alone."""
    position = Position.parse("0020000000000000030000400 crab,boar,tiger,ox,eel b")
    hidden = Unseen({}, {"tiger": frozenset({(0, 2)})})
    assert position.legal_moves()
    seen = dict(engine.rank(position, nodes=5_000, depth=2))
    blind = dict(engine.rank(position, nodes=5_000, depth=2, unseen=lambda _: hidden))
    overlooked = [action for action in seen if seen[action] < -WON < blind[action]]
    assert overlooked


# --- the evaluation ---------------------------------------------------------------------------


def test_a_position_and_its_mirror_are_worth_the_same() -> None:
    """Crab, tiger and the like are their own mirrors; horse and ox are each other's."""
    mirrors = {"horse": "ox", "ox": "horse"}
    names = ("crab", "horse", "ox", "tiger", "crane")
    rng = random.Random(5)
    for _ in range(50):
        position = Position.start(tuple(rng.sample(names, 5)))  # type: ignore[arg-type]
        for _ in range(8):
            position = position.after(rng.choice(position.legal_moves()))
            if position.outcome():
                break
        if position.outcome():
            continue
        board = "".join(position.board[rank * 5 : rank * 5 + 5][::-1] for rank in range(5))
        cards = ",".join(mirrors.get(card, card) for card in position.cards)
        mirrored = Position.parse(f"{board} {cards} {position.turn.value}")
        assert worth_of(position) == worth_of(mirrored)


def worth_of(position: Position) -> int:
    words = encode(position)
    summed: Tables = tables(deal_of(position).names, Weights.load())
    return int(
        evaluate(words.own, words.other, words.master, words.prey, words.arrangement, *summed)
    )


def test_every_card_is_weighed() -> None:
    weights = Weights.load()
    assert weights.by_card.shape[2] == len(DECKS["all34"])
    assert (abs(weights.by_card).max(axis=(0, 1, 3, 4)) > 1).all()


# --- with a table -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> Table:
    return build(deal_of(START).names, 4).table()


def men(position: Position) -> int:
    return 25 - position.board.count("0")


def few_men(rng: random.Random, men: int) -> Position:
    """A position of START's cards with so many men, after plenty of captures."""
    while True:
        position = Position.start(tuple(rng.sample(START.cards, 5)))  # type: ignore[arg-type]
        for _ in range(80):
            legal = position.legal_moves()
            winning = position.winning(legal)
            quiet = [action for action in legal if action not in winning]
            if not quiet or position.board.count("0") == 25 - men:
                break
            position = position.after(rng.choice(position.capturing(quiet) or quiet))
        legal = position.legal_moves()
        if legal and not position.winning(legal) and position.board.count("0") == 25 - men:
            return position


def placed(rng: random.Random, blue: str, red: str) -> Position:
    """These pieces anywhere, START's cards in any hands, not over nor won at once."""
    while True:
        board = ["0"] * 25
        for square, piece in zip(rng.sample(range(25), len(blue + red)), blue + red, strict=True):
            board[square] = piece
        cards = ",".join(rng.sample(START.cards, 5))
        position = Position.parse(f"{''.join(board)} {cards} {rng.choice('br')}")
        legal = position.legal_moves() if position.outcome() is None else []
        if legal and not position.winning(legal):
            return position


def test_its_proofs_agree_with_the_table(engine: Engine, table: Table) -> None:
    """Who wins and in how many plies, of the search alone; and of what only the table knows."""
    rng = random.Random(6)
    proved = draws = 0
    for nodes in (50, 300, 2_000) * 400:
        position = placed(rng, "21", "43")
        plies = table.value(position)
        if plies < 0:
            continue
        alone = engine.analyse(position, nodes=nodes)
        helped = engine.analyse(position, nodes=nodes, table=table)
        winner = position.turn if plies % 2 else position.turn.other
        if plies == 0:
            draws += 1
            assert alone.proven is None, str(position)
            assert helped.proven == Proof(None, None)
            continue
        assert helped.proven == Proof(winner, plies)
        if alone.proven is not None:
            proved += 1
            assert alone.proven.winner is winner, str(position)
            assert alone.proven.plies in (None, plies), str(position)
            assert agrees(position, alone), str(position)
    assert proved > 600
    assert draws > 0


def test_it_wins_by_the_table_as_quickly_as_it_says(engine: Engine, table: Table) -> None:
    rng = random.Random(7)
    for _ in range(20):
        position = few_men(rng, 4)
        plies = table.value(position)
        if plies <= 0:
            continue
        found = engine.analyse(position, nodes=1_000, table=table)
        assert found.nodes == 0
        assert len(found.line) == plies
        for action in found.line:
            assert position.outcome() is None
            position = position.play(action)
        outcome = position.outcome()
        assert outcome is not None and found.proven is not None
        assert outcome.winner is found.proven.winner


def test_it_proves_more_when_it_looks_for_no_move(engine: Engine, table: Table) -> None:
    rng = random.Random(13)
    playing = exact = 0
    for _ in range(400):
        position = placed(rng, "211", "433")
        found = engine.analyse(position, nodes=10_000, table=table, exact=False)
        playing += found.proven is not None
        exact += engine.analyse(position, nodes=10_000, table=table).proven is not None
    assert exact > playing + 12


def test_its_line_goes_on_to_the_end_where_the_table_knows_it(engine: Engine, table: Table) -> None:
    rng = random.Random(11)
    tried = 0
    while tried < 20:
        position = placed(rng, "211", "43")
        found = engine.analyse(position, nodes=20_000, table=table)
        if found.proven is None or found.proven.winner is None:
            continue
        after = position.play(found.line[0])
        if after.outcome() or table.value(after) <= 0:
            continue
        tried += 1
        assert agrees(position, found), str(position)
        for action in found.line:
            position = position.play(action)
        assert position.outcome()


def test_it_asks_the_table_where_a_capture_leads(engine: Engine, table: Table) -> None:
    """From more men than it knows: what a capture wins by is seen one ply deep."""
    rng = random.Random(8)
    seen = alone = 0
    for _ in range(1_500):
        position = placed(rng, "211", "43") if rng.random() < 0.5 else placed(rng, "21", "433")
        after = [position.after(action) for action in position.capturing(position.legal_moves())]
        behind = [table.value(each) for each in after if not each.winning(each.legal_moves())]
        lost = [plies for plies in behind if plies > 0 and plies % 2 == 0]
        if not lost:
            continue
        seen += 1
        found = engine.analyse(position, depth=1, table=table, exact=False)
        assert found.proven is not None and found.proven.winner is position.turn
        assert found.score >= WIN - min(lost) - 1
        alone += engine.analyse(position, depth=1, exact=False).proven is not None
    assert seen > 100
    assert alone < seen / 2


def test_a_table_says_nothing_of_a_way_that_leads_where_the_game_was_twice(
    engine: Engine, table: Table
) -> None:
    """There it is a draw by now, and all else is as far from the end as ever."""
    rng = random.Random(9)
    tried = 0
    while tried < 20:
        position = few_men(rng, 3)
        known = engine.analyse(position, nodes=2_000, table=table)
        on_the_way, elsewhere = position.play(known.line[0]), few_men(rng, 3)
        if table.value(position) < 4 or men(on_the_way) < men(position):
            continue
        tried += 1
        found = engine.analyse(position, nodes=2_000, table=table, history=[elsewhere] * 2)
        assert (found.nodes > 0) == (0 < table.value(elsewhere) < table.value(position))
        assert engine.analyse(position, nodes=2_000, table=table, history=[elsewhere]).nodes == 0
        found = engine.analyse(position, nodes=2_000, table=table, history=[on_the_way] * 2)
        assert found.nodes > 0
