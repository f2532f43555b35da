"""A whole game as text: one tag a line, the numbered moves, the result."""

from __future__ import annotations

import datetime
import re
import textwrap
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from games.onitama.cards import DECKS, Colour
from games.onitama.position import (
    START_BOARD,
    Action,
    BadText,
    IllegalMove,
    Position,
    parse_move,
    quoted,
)

# Which terminations go with which result; a game still running has none.
TERMINATIONS: Mapping[str, tuple[str | None, ...]] = MappingProxyType(
    {
        "blue": ("stone", "stream", "resignation", "time"),
        "red": ("stone", "stream", "resignation", "time"),
        "draw": ("agreement", "repetition"),
        "*": (None, "aborted"),
    }
)

_REQUIRED = ("Result", "Cards", "First")
_ON_THE_BOARD = ("stone", "stream", "repetition")
_TAG = re.compile(r'\[([A-Za-z]+) "((?:[^"\\]|\\["\\])*)"\]')
_DATE = re.compile(r"[0-9]{4}\.[0-9]{2}\.[0-9]{2}")
_RATING = re.compile(r"[0-9]{1,5}")
_TIME_CONTROL = re.compile(r"-|[0-9]{1,9}\+[0-9]{1,9}/[0-9]{1,9}")
# Line ends and control characters, and halves of characters, which no file can hold.
_UNWRITABLE = ("Cc", "Cs", "Zl", "Zp")
_LINE_WIDTH = 79


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A game that the rules allow: the constructor plays it through and refuses any other.

    A field that is None has no tag. A time control is bank+increment/cap in seconds, or "-".
    """

    start: Position
    actions: tuple[Action, ...] = ()
    result: str = "*"
    termination: str | None = None
    site: str | None = None
    date: datetime.date | None = None
    blue: str | None = None
    red: str | None = None
    time_control: str | None = None
    deck: str | None = None
    blue_rating: int | None = None
    red_rating: int | None = None

    def __post_init__(self) -> None:
        self._check_tags()
        self._check_ending(self.positions())

    @classmethod
    def read(cls, text: str) -> Record:
        tags, moves = _split(text)
        for name in _REQUIRED:
            if name not in tags:
                raise BadText(f"the tag {name} is missing")
        return cls(
            start=_read_start(tags),
            actions=_read_moves(moves, tags["Result"]),
            result=tags["Result"],
            termination=tags.get("Termination"),
            site=tags.get("Site"),
            date=_read_date(tags.get("Date")),
            blue=tags.get("Blue"),
            red=tags.get("Red"),
            time_control=tags.get("TimeControl"),
            deck=tags.get("Deck"),
            blue_rating=_read_rating(tags.get("BlueRating")),
            red_rating=_read_rating(tags.get("RedRating")),
        )

    def write(self) -> str:
        tags = [
            f'[{name} "{_escaped(str(value))}"]'
            for name, value in self._tags()
            if value is not None
        ]
        return "\n".join([*tags, "", self._moves(), ""])

    def positions(self) -> list[Position]:
        """The start, then the position after each ply."""
        position = self.start
        positions = [position]
        seen = Counter(positions)
        for ply, action in enumerate(self.actions, start=1):
            over = _ending(position, seen)
            if over is not None:
                raise BadText(f"ply {ply}, {action}, comes after the end by {over[1]}")
            try:
                position = position.play(action)
            except IllegalMove as illegal:
                raise BadText(f"ply {ply}: {illegal}") from None
            positions.append(position)
            seen[position] += 1
        return positions

    def _tags(self) -> Iterator[tuple[str, str | int | None]]:
        board = self.start.board
        yield "Site", self.site
        yield "Date", None if self.date is None else self.date.isoformat().replace("-", ".")
        yield "Blue", self.blue
        yield "Red", self.red
        yield "Result", self.result
        yield "Termination", self.termination
        yield "TimeControl", self.time_control
        yield "Deck", self.deck
        yield "Cards", ",".join(self.start.cards)
        yield "First", self.start.turn.word
        yield "BlueRating", self.blue_rating
        yield "RedRating", self.red_rating
        yield "Board", None if board == START_BOARD else board

    def _moves(self) -> str:
        tokens = []
        for index, action in enumerate(self.actions):
            if index % 2 == 0:
                tokens.append(f"{index // 2 + 1}.")
            tokens.append(str(action))
        text = " ".join([*tokens, self.result])
        return textwrap.fill(text, _LINE_WIDTH, break_long_words=False, break_on_hyphens=False)

    def _check_tags(self) -> None:
        for name, value in (("Site", self.site), ("Blue", self.blue), ("Red", self.red)):
            if value and any(unicodedata.category(letter) in _UNWRITABLE for letter in value):
                raise BadText(f"{name} must be one line of text, not {quoted(value)}")
        if self.time_control is not None and not _TIME_CONTROL.fullmatch(self.time_control):
            raise BadText(
                f"TimeControl must be bank+increment/cap or -, not {quoted(self.time_control)}"
            )
        for rating in (self.blue_rating, self.red_rating):
            if rating is not None and not _RATING.fullmatch(str(rating)):
                raise BadText(f"a rating of {quoted(str(rating))} cannot be")
        if self.deck is not None and self.deck not in DECKS:
            raise BadText(f"Deck must be {' or '.join(DECKS)}, not {quoted(self.deck)}")
        for card in self.start.cards:
            if self.deck is not None and card not in DECKS[self.deck]:
                raise BadText(f"{card} is not in the deck {self.deck}")

    def _check_ending(self, positions: Sequence[Position]) -> None:
        if self.result not in TERMINATIONS:
            raise BadText(f"Result must be blue, red, draw or *, not {quoted(self.result)}")
        if self.termination not in TERMINATIONS[self.result]:
            termination = "none" if self.termination is None else quoted(self.termination)
            raise BadText(f"the result {self.result} cannot have the termination {termination}")
        ending = _ending(positions[-1], Counter(positions))
        if ending is None and self.termination in _ON_THE_BOARD:
            raise BadText(f"the moves do not end by {self.termination}")
        if ending is not None and ending != (self.result, self.termination):
            raise BadText(f"the moves end in {ending[0]} by {ending[1]}, the tags say otherwise")


def _ending(position: Position, seen: Mapping[Position, int]) -> tuple[str, str] | None:
    """Result and termination where the board alone ends the game; a win goes first."""
    outcome = position.outcome()
    if outcome is not None:
        return outcome.winner.word, outcome.termination
    return ("draw", "repetition") if seen[position] >= 3 else None


def _split(text: str) -> tuple[dict[str, str], str]:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").strip("\n").split("\n")
    tags: dict[str, str] = {}
    for number, line in enumerate(lines):
        if not line.startswith("["):
            return tags, "\n".join(lines[number:])
        match = _TAG.fullmatch(line.rstrip())
        if match is None:
            raise BadText(f"{quoted(line)} is not a tag")
        name, value = match.groups()
        if name in tags:
            raise BadText(f"the tag {name} is there twice")
        tags[name] = _unescaped(value)
    return tags, ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _unescaped(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value)


def _read_start(tags: Mapping[str, str]) -> Position:
    try:
        first = Colour.from_word(tags["First"])
    except ValueError:
        raise BadText(f"First must be blue or red, not {quoted(tags['First'])}") from None
    return Position.parse(f"{tags.get('Board', START_BOARD)} {tags['Cards']} {first.value}")


def _read_date(text: str | None) -> datetime.date | None:
    if text is None:
        return None
    try:
        if _DATE.fullmatch(text):
            return datetime.date.fromisoformat(text.replace(".", "-"))
    except ValueError:
        pass
    raise BadText(f"Date must be a day like 2026.12.01, not {quoted(text)}")


def _read_rating(text: str | None) -> int | None:
    if text is None:
        return None
    if not _RATING.fullmatch(text):
        raise BadText(f"a rating must be a number, not {quoted(text)}")
    return int(text)


def _read_moves(text: str, result: str) -> tuple[Action, ...]:
    tokens = text.split()
    if not tokens or tokens.pop() != result:
        raise BadText(f"the moves must end with the result of the tags, {quoted(result)}")
    actions = []
    for index, token in enumerate(tokens):
        number, place = divmod(index, 3)
        if place > 0:
            actions.append(parse_move(token))
        elif token != f"{number + 1}.":
            raise BadText(f"move number {number + 1}. is missing before {quoted(token)}")
    if len(tokens) % 3 == 1:
        raise BadText(f"no move follows {quoted(tokens[-1])}")
    return tuple(actions)
