"""Questions asked of a player's finished games, and the record of any game as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self, cast

from django.db.models import OuterRef, Q, QuerySet, Subquery

from accounts.models import User
from games.models import Game, Ply, Seat
from games.onitama.cards import Colour
from games.onitama.position import parse_move
from games.onitama.record import Record

PAGE_SIZE = 25
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# No more digits than a date up to the year 5138 and a key of the database have.
_KEY = re.compile(r"([0-9]{1,17})\.([0-9]{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Key:
    """A seat's place among the finished games of its player, as an address carries it."""

    ended: datetime
    seat: int

    @classmethod
    def parse(cls, text: str) -> Self:
        match = _KEY.fullmatch(text)
        if match is None:
            raise ValueError(text)
        return cls(_EPOCH + int(match[1]) * _MICROSECOND, int(match[2]))

    @classmethod
    def of(cls, seat: Seat) -> Self:
        return cls(cast(datetime, seat.ended), seat.pk)

    def __str__(self) -> str:
        return f"{(self.ended - _EPOCH) // _MICROSECOND}.{self.seat}"

    # The first half lets an index jump to the place; alone, the second makes it read from the end.
    @property
    def older(self) -> Q:
        return Q(ended__lte=self.ended) & (Q(ended__lt=self.ended) | Q(id__lt=self.seat))

    @property
    def newer(self) -> Q:
        return Q(ended__gte=self.ended) & (Q(ended__gt=self.ended) | Q(id__gt=self.seat))


@dataclass(frozen=True, slots=True)
class Filter:
    """Which of the finished games are meant; what is empty leaves all."""

    opponent: User | None = None
    result: str = ""
    kind: str = ""

    def __bool__(self) -> bool:
        return self != Filter()


@dataclass(frozen=True, slots=True)
class Page:
    """Seats with their game, opponent and `last`, the token of the last ply ("" without one).

    A key says where the pages beside this one begin; None where there is no such page.
    """

    seats: Sequence[Seat]
    newer: Key | None
    older: Key | None


def finished(player: User, only: Filter) -> QuerySet[Seat]:
    """Newest first. Each condition is on the seat itself, so an index answers without a join."""
    seats = Seat.objects.filter(player=player, ended__isnull=False)
    if only.opponent is not None:
        seats = seats.filter(opponent=only.opponent)
    if only.result:
        seats = seats.filter(result=only.result)
    if only.kind:
        seats = seats.filter(opponent_kind=only.kind)
    return seats.order_by("-ended", "-id")


def page(
    player: User,
    only: Filter,
    *,
    before: Key | None = None,
    after: Key | None = None,
    size: int = PAGE_SIZE,
) -> Page:
    """The newest games, or those older than `before`, or the next newer than `after`."""
    last = Ply.objects.filter(game=OuterRef("game"), number=OuterRef("plies")).values("action")
    seats = (
        finished(player, only).select_related("game", "opponent").annotate(last=Subquery(last[:1]))
    )
    if after is not None:
        found = list(seats.filter(after.newer).reverse()[: size + 1])
        if len(found) <= size:
            # All that is newer, and room for more: the newest page itself.
            return page(player, only, size=size)
        shown = found[:size][::-1]
        return Page(shown, newer=Key.of(shown[0]), older=Key.of(shown[-1]))
    if before is not None:
        seats = seats.filter(before.older)
    found = list(seats[: size + 1])
    shown = found[:size]
    return Page(
        shown,
        newer=Key.of(shown[0]) if shown and before is not None else None,
        older=Key.of(shown[-1]) if len(found) > size else None,
    )


def record_of(game: Game, site: str) -> Record:
    """The game as a record; `site` is its address. The seats are loaded already."""
    names = {seat.colour: seat.player.username for seat in game.sides}
    tokens = game.told.values_list("action", flat=True)
    return Record(
        start=game.start,
        actions=tuple(map(parse_move, tokens)),
        result=_result(game),
        termination=game.termination or None,
        site=site,
        date=game.created.astimezone(UTC).date(),
        blue=names[Colour.BLUE],
        red=names[Colour.RED],
        time_control=str(game.control or "-"),
        deck=game.deck,
    )


def _result(game: Game) -> str:
    """A game that runs or was aborted has none, and gets the asterisk."""
    if game.winner:
        return Colour(game.winner).word
    drawn = game.is_over and game.termination != Game.Termination.ABORTED
    return "draw" if drawn else "*"
