"""The computer's belts as people meet them: a name, a character, a colour, who should begin where.

Also which belt takes the place of a level that is no longer offered.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from games import strengths
from games.models import Level

Text = str | Promise


@dataclass(frozen=True, slots=True)
class Belt:
    """One level. `line` is for choosing; `character` and `suits` are for its own page."""

    level: Level
    line: Text
    character: Text
    suits: Text

    def __str__(self) -> str:
        return str(self.level.label)

    @property
    def name(self) -> str:
        """The name of its player row."""
        return self.level.value

    @property
    def colour(self) -> str:
        """What its drawing is called in the style sheet."""
        return self.name.removesuffix("-belt")

    @property
    def elo(self) -> int | None:
        """Measured points above the white belt, where they were."""
        return strengths.elo().get(self.name)


BELTS = (
    Belt(
        Level.WHITE,
        _("has just learned the moves"),
        _(
            "Has just learned the moves. Takes a piece that is left hanging, but overlooks cards"
            " that reach far, and about every other time misses a win that is two moves away."
        ),
        _("The one to begin with, for children too."),
    ),
    Belt(
        Level.YELLOW,
        _("forgets the card it hands you"),
        _(
            "Knows the cards, and rarely leaves its master where you can take it. Often forgets"
            " that the card it plays will come to you."
        ),
        _("For your second and third game."),
    ),
    Belt(
        Level.ORANGE,
        _("misses the long way round"),
        _(
            "Counts who takes what, and looks after its students. Still surprised by a move from"
            " the far side of the board, and by a master who sets out for the temple."
        ),
        _("For whoever knows most of the cards by sight."),
    ),
    Belt(
        Level.GREEN,
        _("looks at your answer first"),
        _(
            "Looks at each of your answers before it moves. What you prepare three moves"
            " ahead often escapes it."
        ),
        _("For whoever wins now and then among friends."),
    ),
    Belt(
        Level.BLUE,
        _("plans ahead, seldom slips"),
        _(
            "Plans three moves ahead and seldom loses a piece for nothing. Once in a long while"
            " it moves in haste, and past a win of its own."
        ),
        _("For whoever mostly wins among friends."),
    ),
    Belt(
        Level.BROWN,
        _("sharp, but looks only so far"),
        _(
            "Sharp in a fight, and quick to use a card that you have just lost. Makes no careless"
            " move, but looks only some five moves ahead: a longer plan takes it by surprise."
        ),
        _("For strong players."),
    ),
    Belt(
        Level.BLACK,
        _("sees nearly everything"),
        _(
            "Sees nearly everything that happens within a few moves, and waits for your slip."
            " Its own are deep and rare."
        ),
        _("For very strong players."),
    ),
    Belt(
        Level.GRANDMASTER,
        _("thinks longest, knows endings"),
        _(
            "Thinks for up to five seconds over a move, and knows endings by heart once few pieces"
            " are left. If you beat it, keep the record."
        ),
        _("For whoever wants to know how good a move really was."),
    ),
)
_BY_NAME = {belt.name: belt for belt in BELTS}
# Levels of old, which finish their games and begin none: the belt that is nearest in strength.
_RETIRED = {
    "random": Level.WHITE,
    "two-ply": Level.YELLOW,
    "four-ply": Level.GREEN,
}


def belt(name: str) -> Belt | None:
    """The belt of that player row; None for an old level, and for anybody else."""
    return _BY_NAME.get(name)


def nearest(name: str) -> Belt:
    """Whom to play instead of a level: itself, if it is offered."""
    return _BY_NAME.get(name) or _BY_NAME[_RETIRED.get(name, Level.WHITE)]
