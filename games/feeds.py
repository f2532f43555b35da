"""A player's turns and deadlines as programs of their own read them: an Atom feed, a calendar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db.models import Max, OuterRef, Subquery
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.feedgenerator import Atom1Feed
from django.utils.translation import gettext as _

from accounts import mail, names
from accounts.links import link
from accounts.models import User
from games import characters, ical
from games.models import AwayShift, Feed, Ply, Seat
from games.onitama.cards import Colour
from games.onitama.position import Position
from games.wording import card_name, moment

_NEVER = datetime.max.replace(tzinfo=UTC)


class Turn(NamedTuple):
    """One game that waits for the player, in the order in which _turns asks for it."""

    colour: str
    opponent: str
    pk: int
    position: str
    plies: int
    version: int
    began: datetime
    deadline: datetime | None
    last: str | None
    # When the deadline was last put off: by away time in this ply, by an outage of the site.
    away: datetime | None
    outage: datetime | None

    @property
    def changed(self) -> datetime:
        return max(self.began, self.away or self.began, self.outage or self.began)

    @property
    def key(self) -> str:
        """Of the ply that is awaited: `g17:p6`."""
        return f"g{self.pk}:p{self.plies + 1}"


@dataclass(frozen=True, slots=True)
class Document:
    """What a feed answers; the same rows make the same bytes, whenever they are asked for."""

    content: bytes
    content_type: str
    language: str


def _turns(player: User) -> list[Turn]:
    """Least time first; no clock comes last."""
    last = Ply.objects.filter(game=OuterRef("game"), number=OuterRef("game__plies"))
    shifts = AwayShift.objects.filter(game=OuterRef("game"), ply=OuterRef("game__plies") + 1)
    rows = Seat.objects.to_move(player.pk).values_list(
        *("colour", "opponent__username", "game", "game__position", "game__plies"),
        *("game__version", "game__turn_began", "game__deadline"),
        Subquery(last.values("action")[:1]),
        Subquery(shifts.order_by("-entry__at").values("entry__at")[:1]),
        "game__outage__ended",
    )
    turns = map(Turn._make, rows)
    return sorted(turns, key=lambda turn: (turn.deadline or _NEVER, turn.began, turn.pk))


def _changed(feed: Feed, turns: list[Turn]) -> datetime:
    """When what the feed says came to be so: a move of the player's own and an end count, too."""
    seats = Seat.objects.filter(player=feed.player)
    moved = seats.filter(result="").aggregate(at=Max("game__turn_began"))["at"]
    ended = seats.filter(ended__isnull=False).order_by("-ended", "-id")
    over = ended.values_list("ended", flat=True).first()
    changed = [feed.created, *(turn.changed for turn in turns)]
    return max(*changed, moved or feed.created, over or feed.created)


def document(feed: Feed) -> Document:
    """In the player's language and zone."""
    player, spoken = feed.player, feed.player.spoken_language
    turns = _turns(player)
    changed = _changed(feed, turns)
    if feed.form == Feed.Form.ATOM:
        write, content_type = _atom, Atom1Feed.content_type
    else:
        write, content_type = _calendar, "text/calendar; charset=utf-8"
    with translation.override(spoken), timezone.override(player.zone):
        return Document(write(player, turns, changed), content_type, spoken)


def _context(turn: Turn) -> dict[str, Any]:
    position, colour = Position.parse(turn.position), Colour(turn.colour)
    return {
        "turn": turn,
        "opponent": names.shown(turn.opponent),
        "board": characters.board(position, colour),
        "mine": ", ".join(map(card_name, position.hand(colour))),
        "theirs": ", ".join(map(card_name, position.hand(colour.other))),
        "side_card": card_name(position.side_card),
        "deadline": turn.deadline and moment(turn.deadline),
        "link": link("game", turn.pk),
    }


# --- Atom (RFC 4287) ------------------------------------------------------------------------


class _Atom(Atom1Feed):
    """Entries with a content instead of a summary, and a date that is ours where none are."""

    def latest_post_date(self) -> datetime:
        changed: datetime = self.feed["changed"]
        return changed

    def add_item_elements(self, handler: Any, item: dict[str, Any]) -> None:
        super().add_item_elements(handler, {**item, "description": None})
        handler.addQuickElement("content", item["description"], {"type": "html"})


def _atom(player: User, turns: list[Turn], changed: datetime) -> bytes:
    # Names by RFC 4151; they stay when the address of the feed is renewed.
    tag = f"tag:{mail.domain()},2026:"
    # Without a link to itself: whoever is handed a copy is not to learn the secret address.
    feed = _Atom(
        title=_("Onitama: your turn"),
        link=link("your_turn"),
        description=None,
        language=player.spoken_language,
        author_name="Onitama",
        feed_guid=f"{tag}turns:{player.pk}",
        changed=changed,
    )
    for turn in turns:
        feed.add_item(
            title=_("Your turn against %(name)s") % {"name": names.shown(turn.opponent)},
            link=link("game", turn.pk),
            description=render_to_string("games/feed_turn.html", _context(turn)),
            unique_id=f"{tag}{turn.key}",
            pubdate=turn.began,
            updateddate=turn.changed,
        )
    text: str = feed.writeString("utf-8")
    return text.encode()


# --- iCalendar (RFC 5545) -------------------------------------------------------------------


def _calendar(player: User, turns: list[Turn], changed: datetime) -> bytes:
    events = [_deadline(player, turn, turn.deadline) for turn in turns if turn.deadline]
    return ical.calendar(_("Onitama: deadlines"), events, player.zone, changed)


def _deadline(player: User, turn: Turn, deadline: datetime) -> ical.Deadline:
    return ical.Deadline(
        uid=f"{turn.key.replace(':', '-')}@{mail.domain()}",
        sequence=turn.version,
        title=_("Your turn against %(name)s") % {"name": names.shown(turn.opponent)},
        text=render_to_string("games/feed_deadline.txt", _context(turn)).strip(),
        link=link("game", turn.pk),
        began=turn.began,
        changed=turn.changed,
        at=deadline,
        reminder_hours=tuple(player.reminder_hours),
    )
