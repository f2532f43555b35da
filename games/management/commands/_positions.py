"""How a position is written, for those who ask a command for help."""

from __future__ import annotations

POSITION_HELP = (
    '"BOARD CARDS TURN", as in "1121100000000000000033433 boar,crab,eel,horse,ox b": 25 digits'
    " from a1 to e5 (0 empty, 1 and 2 Blue's student and master, 3 and 4 Red's), the cards of Blue,"
    " Blue, Red, Red and the side, and who moves, b or r"
)
