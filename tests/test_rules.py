"""What the rules allow, how a game ends, and the text forms of positions and moves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from games.onitama.cards import BLUE, CARDS, DECKS, RED, Colour, Deal
from games.onitama.position import (
    START_BOARD,
    TEMPLES,
    BadText,
    IllegalMove,
    Move,
    Outcome,
    Pass,
    Position,
    parse_move,
    parse_square,
    square_name,
)
from tests.strategies import deals, lines_of_play, placements, positions

DEAL: Deal = ("tiger", "crab", "monkey", "crane", "dragon")
CARDS_TEXT = ",".join(DEAL)


def played(position: Position) -> set[str]:
    return {str(action) for action in position.legal_moves()}


def board_with(**pieces: str) -> str:
    """board_with(c1="2", d4="3"): everything else is empty."""
    board = ["0"] * 25
    for square, piece in pieces.items():
        board[parse_square(square)] = piece
    return "".join(board)


# The start


def test_it_starts_with_masters_on_their_temples() -> None:
    board = Position.start(DEAL).board
    assert board == START_BOARD == "1121100000000000000033433"
    assert board[TEMPLES[BLUE]] == "2"
    assert board[TEMPLES[RED]] == "4"
    assert square_name(TEMPLES[BLUE]) == "c1"
    assert square_name(TEMPLES[RED]) == "c5"


@pytest.mark.parametrize("side", sorted(CARDS))
def test_the_stamp_of_the_side_card_starts(side: str) -> None:
    first, second, third, fourth = [name for name in CARDS if name != side][:4]
    assert Position.start((first, second, third, fourth, side)).turn is CARDS[side].stamp


def test_it_starts_with_a_given_colour_instead() -> None:
    assert CARDS["dragon"].stamp is RED
    assert Position.start(DEAL, BLUE).turn is BLUE
    assert Position.start(DEAL, RED).turn is RED


def test_it_refuses_to_start_with_bad_cards() -> None:
    with pytest.raises(BadText, match="is not a card"):
        Position.start(("tiger", "crab", "monkey", "crane", "bat"))
    with pytest.raises(BadText, match="twice"):
        Position.start(("tiger", "crab", "monkey", "crane", "tiger"))


# Moves


def test_it_reads_cards_from_the_movers_side() -> None:
    blue = Position(board_with(c3="2", e5="4"), ("horse", "tiger", "crab", "boar", "eel"), BLUE)
    assert played(blue) == {"horse:c3c4", "horse:c3b3", "horse:c3c2", "tiger:c3c5", "tiger:c3c2"}
    red = Position(board_with(c3="4", a1="2"), ("crab", "boar", "horse", "tiger", "eel"), RED)
    assert played(red) == {"horse:c3c2", "horse:c3d3", "horse:c3c4", "tiger:c3c1", "tiger:c3c4"}


def test_pieces_jump() -> None:
    board = board_with(c1="2", c2="1", c3="3", e5="4")
    position = Position(board, ("tiger", "crab", "boar", "eel", "ox"), BLUE)
    assert "tiger:c1c3" in played(position)


def test_the_same_squares_by_two_cards_are_two_moves() -> None:
    position = Position(board_with(c1="2", e5="4"), ("boar", "crab", "eel", "ox", "tiger"), BLUE)
    assert {"boar:c1c2", "crab:c1c2"} <= played(position)


def test_a_card_that_comes_in_takes_the_place_of_the_one_that_left() -> None:
    position = Position.start(DEAL, BLUE)
    assert position.play(parse_move("crab:a1a2")).cards == (
        *("tiger", "dragon"),
        *("monkey", "crane"),
        "crab",
    )
    position = position.play(parse_move("tiger:b1b3"))
    assert position.cards == ("dragon", "crab", "monkey", "crane", "tiger")
    assert position.hand(BLUE) == ("dragon", "crab")
    assert position.hand(RED) == ("monkey", "crane")
    assert position.side_card == "tiger"
    assert position.turn is RED
    assert position.play(parse_move("crane:a5a4")).cards == (
        *("dragon", "crab"),
        *("monkey", "tiger"),
        "crane",
    )
    assert position.play(parse_move("monkey:a5b4")).cards == (
        *("dragon", "crab"),
        *("tiger", "crane"),
        "monkey",
    )


def test_a_move_changes_only_its_two_squares() -> None:
    after = Position.start(DEAL, BLUE).play(parse_move("tiger:a1a3"))
    assert after.board == "0121100000100000000033433"


def test_it_captures() -> None:
    position = Position.parse(f"{board_with(a1='1', a3='3', c1='2', c5='4')} {CARDS_TEXT} b")
    capture = parse_move("tiger:a1a3")
    assert position.capturing(position.legal_moves()) == [capture]
    assert position.play(capture).board == board_with(a3="1", c1="2", c5="4")


@pytest.mark.parametrize(
    "text",
    [
        "tiger:a1a2",  # the card does not go there
        "crab:a1b1",  # onto an own piece
        "tiger:a2a4",  # no piece there
        "tiger:a5a3",  # the other side's piece
        "monkey:a1b2",  # the other side's card
        "dragon:a1c2",  # the side card
        "boar:a1a2",  # a card that was not dealt
        "tiger:a1a1",
        "tiger:pass",  # there are moves
        "crab:pass",
        "dragon:pass",
    ],
)
def test_it_refuses_what_the_rules_do_not_allow(text: str) -> None:
    position = Position.start(DEAL, BLUE)
    with pytest.raises(IllegalMove, match=text):
        position.play(parse_move(text))


def test_it_refuses_squares_beyond_the_board() -> None:
    with pytest.raises(IllegalMove):
        Position.start(DEAL, BLUE).play(Move("tiger", 20, 30))


# The end


def test_taking_the_master_wins_by_the_stone() -> None:
    position = Position.parse(f"{board_with(d2='1', d4='4', a1='2')} {CARDS_TEXT} b")
    assert position.outcome() is None
    won = position.play(parse_move("tiger:d2d4"))
    assert won.outcome() == Outcome("stone", BLUE)
    assert won.legal_moves() == []


def test_stepping_on_the_other_temple_wins_by_the_stream() -> None:
    position = Position.parse(f"{board_with(c3='2', d4='4', a1='1')} {CARDS_TEXT} b")
    won = position.play(parse_move("tiger:c3c5"))
    assert won.outcome() == Outcome("stream", BLUE)
    assert won.legal_moves() == []


def test_red_wins_both_ways_too() -> None:
    text = f"{board_with(b2='4', d1='2', e5='3')} monkey,crane,frog,eel,ox r"
    won = Position.parse(text).play(parse_move("eel:b2c1"))
    assert won.outcome() == Outcome("stream", RED)
    text = f"{board_with(b2='4', a2='3', b1='2')} monkey,tiger,eel,crane,ox r"
    won = Position.parse(text).play(parse_move("crane:b2b1"))
    assert won.outcome() == Outcome("stone", RED)


def test_taking_the_master_on_the_temple_is_the_stone() -> None:
    position = Position.parse(f"{board_with(c3='2', c5='4')} {CARDS_TEXT} b")
    assert position.play(parse_move("tiger:c3c5")).outcome() == Outcome("stone", BLUE)


def test_a_student_on_the_temple_wins_nothing() -> None:
    position = Position.parse(f"{board_with(c3='1', a1='2', e5='4')} {CARDS_TEXT} b")
    after = position.play(parse_move("tiger:c3c5"))
    assert after.outcome() is None
    assert after.legal_moves()


def test_a_student_on_the_temple_blocks_its_master() -> None:
    board = board_with(c3="2", c5="1", d4="4")
    position = Position.parse(f"{board} {CARDS_TEXT} b")
    assert "tiger:c3c5" not in played(position)
    assert "tiger:c3c2" in played(position)
    assert position.winning(position.legal_moves()) == []


def test_a_master_on_its_own_temple_wins_nothing() -> None:
    assert Position.start(DEAL).outcome() is None


def test_the_outcome_of_a_set_up_with_two_wins_is_the_last_movers() -> None:
    both_in = board_with(c1="4", c5="2")
    assert Position(both_in, DEAL, RED).outcome() == Outcome("stream", BLUE)
    assert Position(both_in, DEAL, BLUE).outcome() == Outcome("stream", RED)


@pytest.mark.parametrize("turn", ["b", "r"])
@pytest.mark.parametrize(
    ("pieces", "outcome"),
    [
        ({"c1": "2", "c4": "3"}, Outcome("stone", BLUE)),
        ({"c5": "2"}, Outcome("stone", BLUE)),
        ({"c5": "4", "c2": "1"}, Outcome("stone", RED)),
        ({"c1": "4"}, Outcome("stone", RED)),
        ({"c5": "2", "a5": "4"}, Outcome("stream", BLUE)),
        ({"c1": "4", "a1": "2"}, Outcome("stream", RED)),
    ],
)
def test_a_finished_position_has_no_moves(
    pieces: dict[str, str], outcome: Outcome, turn: str
) -> None:
    position = Position.parse(f"{board_with(**pieces)} {CARDS_TEXT} {turn}")
    assert position.outcome() == outcome
    assert position.legal_moves() == []
    for action in (Pass("tiger"), Pass("monkey"), parse_move("tiger:c1c3")):
        with pytest.raises(IllegalMove):
            position.play(action)


# Passing

STUCK = "0000200001003010300130401 tiger,ox,mantis,goose,monkey b"


def test_without_a_move_there_are_two_passes() -> None:
    position = Position.parse(STUCK)
    assert sorted(played(position)) == ["ox:pass", "tiger:pass"]


def test_a_pass_swaps_the_card_and_moves_nothing() -> None:
    position = Position.parse(STUCK)
    after = position.play(Pass("ox"))
    assert str(after) == "0000200001003010300130401 tiger,monkey,mantis,goose,ox r"


@pytest.mark.parametrize("card", ["monkey", "mantis", "goose", "boar"])
def test_it_refuses_a_pass_with_another_card(card: str) -> None:
    with pytest.raises(IllegalMove):
        Position.parse(STUCK).play(Pass(card))


def blocked_by(card: str) -> set[int]:
    """The sets of one to five squares, as bits, from which Blue has no move with the card."""
    reach = [0] * 25
    for origin in range(25):
        for files, ranks in CARDS[card].moves_for(BLUE):
            file, rank = origin % 5 + files, origin // 5 + ranks
            if 0 <= file < 5 and 0 <= rank < 5:
                reach[origin] |= 1 << (5 * rank + file)
    blocked = set()
    for squares in subsets():
        own = sum(1 << square for square in squares)
        if not any(reach[square] & ~own for square in squares):
            blocked.add(own)
    return blocked


def subsets() -> Iterator[tuple[int, ...]]:
    for size in range(1, 6):
        yield from combinations(range(25), size)


def squares_of(bits: int) -> list[str]:
    return [square_name(square) for square in range(25) if bits >> square & 1]


def forced_passes(deck: str) -> list[tuple[frozenset[str], list[str]]]:
    blocked = {card: blocked_by(card) for card in DECKS[deck]}
    return [
        (frozenset(hand), squares_of(own))
        for hand in combinations(DECKS[deck], 2)
        for own in sorted(blocked[hand[0]] & blocked[hand[1]])
    ]


def passes_in_play(hand: frozenset[str], own: list[str]) -> bool:
    """Whether the rules themselves give two passes there, whichever piece is the master."""
    first, second = sorted(hand)
    third, fourth, side = [card for card in CARDS if card not in hand][:3]
    for master in own:
        if master == "c5":
            continue  # already won
        pieces = {square: "2" if square == master else "1" for square in own}
        enemy = next(name for name in ("e4", "b2", "a3", "d4") if name not in own)
        board = board_with(**pieces, **{enemy: "4"})
        position = Position.parse(f"{board} {first},{second},{third},{fourth},{side} b")
        turned = position.turned()
        if position.legal_moves() != [Pass(first), Pass(second)]:
            return False
        if turned.legal_moves() != [Pass(first), Pass(second)]:
            return False
    return True


def test_the_base_cards_force_a_pass_in_five_ways() -> None:
    far_rank = ["a5", "b5", "c5", "d5", "e5"]
    ways = forced_passes("base")
    assert sorted(ways, key=str) == sorted(
        [
            (frozenset({"tiger", "horse"}), ["a1", "a2", "a3", "a4", "a5"]),
            (frozenset({"tiger", "ox"}), ["e1", "e2", "e3", "e4", "e5"]),
            (frozenset({"crab", "elephant"}), far_rank),
            (frozenset({"crab", "boar"}), far_rank),
            (frozenset({"elephant", "boar"}), far_rank),
        ],
        key=str,
    )
    assert all(passes_in_play(*way) for way in ways)


def test_all_cards_force_a_pass_in_36_ways() -> None:
    ways = forced_passes("all34")
    assert len(ways) == 36
    assert (frozenset({"frog", "dog"}), ["a1"]) in ways
    assert any(len(own) == 1 for _, own in ways)
    assert all(passes_in_play(*way) for way in ways)


# Text


def test_squares_have_names() -> None:
    names = [square_name(square) for square in range(25)]
    assert names[:6] == ["a1", "b1", "c1", "d1", "e1", "a2"]
    assert names[24] == "e5"
    assert [parse_square(name) for name in names] == list(range(25))


@pytest.mark.parametrize(
    "text", ["", "a", "1a", "a0", "a6", "f1", "A1", "a1 ", " a1", "a1a2", "a१", "a1\n", "00"]
)
def test_it_refuses_text_that_is_no_square(text: str) -> None:
    with pytest.raises(BadText, match="is not a square"):
        parse_square(text)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("boar:a1a2", Move("boar", 0, 5)),
        ("sea_snake:e5a1", Move("sea_snake", 24, 0)),
        ("boar:pass", Pass("boar")),
    ],
)
def test_it_reads_and_writes_moves(text: str, action: Move | Pass) -> None:
    assert parse_move(text) == action
    assert str(action) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "boar",
        "boar:",
        ":a1a2",
        "boar:a1",
        "boar:a1a2a3",
        "boar:a1-a2",
        "boar a1a2",
        "boar:a1 a2",
        "boar: a1a2",
        " boar:a1a2",
        "boar:a1a2 ",
        "boar:a1a2\n",
        "boar:pass\n",
        "boar:a0a1",
        "boar:a1a6",
        "boar:f1a2",
        "boar:A1a2",
        "boar:a1a२",
        "boar:Pass",
        "boar:passes",
        "boar:pass:pass",
        "Boar:a1a2",
        "BOAR:a1a2",
        "bоar:a1a2",  # a Cyrillic o
        "sea snake:a1a2",
        "seasnake:a1a2",
        "boars:a1a2",
        "bat:a1a2",
        "bat:pass",
        "boar:a1a2" * 1000,
    ],
)
def test_it_refuses_text_that_is_no_move(text: str) -> None:
    with pytest.raises(BadText) as refusal:
        parse_move(text)
    assert_one_short_line(refusal.value)


def test_it_reads_and_writes_positions() -> None:
    text = f"{START_BOARD} {CARDS_TEXT} r"
    assert str(Position.parse(text)) == text
    assert Position.parse(text) == Position.start(DEAL, RED)


def bad_positions() -> Iterator[str]:
    start, cards = START_BOARD, CARDS_TEXT
    good = f"{start} {cards} b"
    yield from ("", " ", "  ", start, f"{start} {cards}", f"{good} b", f"{good} ", f" {good}")
    yield from (
        f"{good}\n",
        f"{start}  {cards} b",
        f"{start}\t{cards}\tb",
        f"{start} {cards}\u00a0b",
    )
    for turn in ("", "B", "R", "w", "blue", "br", "1"):
        yield f"{start} {cards} {turn}"
    for board in (
        "",
        start[:-1],
        start + "0",
        "0" * 25,  # no master at all
        start.replace("0", "."),
        start.replace("0", "5", 1),
        start.replace("0", "-", 1),
        start.replace("0", "٠", 1),  # other alphabets have digits too
        start.replace("1", "１", 1),
        start.replace("0", "²", 1),
        start.replace("0", "2", 1),
        start.replace("0", "4", 1),
        start.replace("0", "1", 1),
        start.replace("0", "3", 1),
        start.replace("2", "0").replace("4", "0"),
        "11211/00000/00000/00000/33433",
        start + start,
        "0" * 5000,
    ):
        yield f"{board} {cards} b"
    for hand in (
        "",
        ",",
        "tiger",
        "tiger,crab,monkey,crane",
        "tiger,crab,monkey,crane,dragon,boar",
        "tiger,crab,monkey,crane,tiger",
        "tiger,tiger,monkey,crane,dragon",
        "tiger,crab,monkey,crane,",
        ",tiger,crab,monkey,crane",
        "tiger,crab,monkey,crane,unicorn",
        "tiger,crab,monkey,crane,bat",
        "Tiger,crab,monkey,crane,dragon",
        "tiger;crab;monkey;crane;dragon",
        "tiger,crab,monkey,crane,dragon,",
        "tiger,crab,monkey,crane,tіger",
        "x," * 5000,
    ):
        yield f"{start} {hand} b"


@pytest.mark.parametrize("text", list(bad_positions()), ids=lambda text: repr(text[:70]))
def test_it_refuses_text_that_is_no_position(text: str) -> None:
    with pytest.raises(BadText) as refusal:
        Position.parse(text)
    assert_one_short_line(refusal.value)


def assert_one_short_line(refusal: BadText) -> None:
    message = str(refusal)
    assert 10 < len(message) < 250
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{START_BOARD.replace('0', '2', 1)} {CARDS_TEXT} b", "blue has more than one master"),
        (f"{START_BOARD.replace('0', '3', 1)} {CARDS_TEXT} b", "red has more than four students"),
        (f"{'0' * 25} {CARDS_TEXT} b", "neither side has a master"),
        (f"{START_BOARD} {CARDS_TEXT} w", "the turn must be b or r"),
        (f"{START_BOARD} tiger,crab b", "there must be five cards, not 2"),
        (f"{START_BOARD} {CARDS_TEXT.replace('crab', 'bat')} b", "'bat' is not a card"),
        (f"{START_BOARD} {CARDS_TEXT.replace('crab', 'tiger')} b", "a card is there twice"),
    ],
)
def test_it_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(BadText, match=message):
        Position.parse(text)


def test_refusals_are_two_kinds_of_value_error() -> None:
    assert issubclass(BadText, ValueError)
    assert issubclass(IllegalMove, ValueError)
    assert not issubclass(BadText, IllegalMove)
    assert not issubclass(IllegalMove, BadText)


# Equality


def test_the_order_within_a_hand_does_not_count() -> None:
    one = Position.parse(f"{START_BOARD} tiger,crab,monkey,crane,dragon b")
    two = Position.parse(f"{START_BOARD} crab,tiger,crane,monkey,dragon b")
    assert one == two
    assert hash(one) == hash(two)
    assert str(one) != str(two)
    assert one.legal_moves() == two.legal_moves()
    stuck = Position.parse(STUCK)
    swapped = Position.parse(STUCK.replace("tiger,ox", "ox,tiger"))
    assert stuck.legal_moves() == swapped.legal_moves() == [Pass("ox"), Pass("tiger")]


@pytest.mark.parametrize(
    "other",
    [
        f"{START_BOARD} tiger,crab,monkey,crane,dragon r",
        f"{START_BOARD} tiger,monkey,crab,crane,dragon b",
        f"{START_BOARD} monkey,crane,tiger,crab,dragon b",
        f"{START_BOARD} tiger,crab,monkey,dragon,crane b",
        f"{START_BOARD} tiger,crab,monkey,crane,boar b",
        f"0{START_BOARD[1:]} tiger,crab,monkey,crane,dragon b",
    ],
)
def test_everything_else_counts(other: str) -> None:
    assert Position.parse(f"{START_BOARD} {CARDS_TEXT} b") != Position.parse(other)


def test_a_position_is_not_its_text() -> None:
    position = Position.start(DEAL)
    assert position != str(position)


# Properties


@given(lines_of_play())
def test_there_are_always_the_same_five_cards(
    line: tuple[Position, list[Move | Pass], list[Position]],
) -> None:
    start, _, after = line
    for position in after:
        assert sorted(position.cards) == sorted(start.cards)
        assert len(set(position.cards)) == 5


@given(lines_of_play())
def test_nothing_but_captures_removes_a_piece(
    line: tuple[Position, list[Move | Pass], list[Position]],
) -> None:
    position, actions, after = line
    for action, following in zip(actions, after, strict=True):
        taken = len(position.capturing([action]))
        assert following.board.count("0") == position.board.count("0") + taken
        assert following.turn is position.turn.other
        assert following.side_card == action.card
        position = following


@given(positions())
def test_position_text_reads_back_the_same(position: Position) -> None:
    again = Position.parse(str(position))
    assert again == position
    assert again.cards == position.cards
    assert str(again) == str(position)


@given(positions())
def test_moves_stay_on_the_board_and_off_own_pieces(position: Position) -> None:
    own = "12" if position.turn is BLUE else "34"
    for action in position.legal_moves():
        assert action.card in position.hand(position.turn)
        assert parse_move(str(action)) == action
        if isinstance(action, Move):
            assert 0 <= action.origin < 25
            assert 0 <= action.target < 25
            assert position.board[action.origin] in own
            assert position.board[action.target] not in own
            ranks = abs(action.target // 5 - action.origin // 5)
            assert ranks <= 2
            assert abs(action.target % 5 - action.origin % 5) <= 2


@given(positions())
def test_a_pass_only_without_a_move(position: Position) -> None:
    legal = position.legal_moves()
    passes = [action for action in legal if isinstance(action, Pass)]
    if position.outcome() is not None:
        assert legal == []
    elif passes:
        assert legal == passes == [Pass(card) for card in sorted(position.hand(position.turn))]
    else:
        assert legal
    assert len(set(legal)) == len(legal)


@given(positions())
def test_the_winning_moves_are_those_that_end_it(position: Position) -> None:
    legal = position.legal_moves()
    winning = position.winning(legal)
    for action in legal:
        outcome = position.play(action).outcome()
        assert (outcome is not None) is (action in winning)
        assert outcome is None or outcome.winner is position.turn


@given(placements(), deals(), st.sampled_from(sorted(Colour)))
def test_turning_the_board_twice_changes_nothing(board: str, cards: Deal, turn: Colour) -> None:
    position = Position(board, cards, turn)
    turned = position.turned()
    assert turned != position
    assert turned.turned() == position
    assert len(turned.legal_moves()) == len(position.legal_moves())
    outcome, mirrored = position.outcome(), turned.outcome()
    if outcome is None or mirrored is None:
        assert outcome is mirrored
    else:
        assert mirrored == Outcome(outcome.termination, outcome.winner.other)


def test_it_turns_the_board() -> None:
    text = f"{board_with(a1='1', c1='2', d4='3', c5='4')} tiger,crab,monkey,crane,dragon b"
    assert str(Position.parse(text).turned()) == (
        f"{board_with(e5='3', c5='4', b2='1', c1='2')} monkey,crane,tiger,crab,dragon r"
    )
