"""Hypothesis strategies for deals, positions and games, all reached by legal play."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from games.onitama.cards import DECKS, Colour, Deal
from games.onitama.position import START_BOARD, Action, Position

# A busy machine is no reason to fail.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

decks = st.sampled_from(sorted(DECKS))
colours = st.sampled_from(sorted(Colour))


@st.composite
def deals(draw: st.DrawFn) -> Deal:
    cards = DECKS[draw(decks)]
    chosen = draw(st.lists(st.sampled_from(cards), min_size=5, max_size=5, unique=True))
    blue_1, blue_2, red_1, red_2, side = chosen
    return blue_1, blue_2, red_1, red_2, side


@st.composite
def placements(draw: st.DrawFn) -> str:
    """A board that need not come from play: a master each, up to four students each."""
    blue = draw(st.integers(0, 4))
    red = draw(st.integers(0, 4))
    pieces = "2" + "1" * blue + "4" + "3" * red
    squares = draw(
        st.lists(st.integers(0, 24), min_size=len(pieces), max_size=len(pieces), unique=True)
    )
    board = ["0"] * 25
    for square, piece in zip(squares, pieces, strict=True):
        board[square] = piece
    return "".join(board)


@st.composite
def lines_of_play(
    draw: st.DrawFn, max_plies: int = 40
) -> tuple[Position, list[Action], list[Position]]:
    """A start, what was played, and the positions after each ply; wins end it, nothing else."""
    set_up = draw(st.one_of(st.just(START_BOARD), placements()))
    start = Position(set_up, draw(deals()), draw(colours))
    actions: list[Action] = []
    positions: list[Position] = []
    position = start
    for choice in draw(st.lists(st.integers(0, 39), max_size=max_plies)):
        legal = position.legal_moves()
        if not legal:
            break
        action = legal[choice % len(legal)]
        position = position.play(action)
        actions.append(action)
        positions.append(position)
    return start, actions, positions


@st.composite
def positions(draw: st.DrawFn) -> Position:
    start, _, after = draw(lines_of_play())
    return after[-1] if after else start
