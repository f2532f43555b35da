"""Turns a notice into a mail: text that is complete alone, HTML of the same."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from accounts.models import User
from games.models import Challenge, Game, Kind, Notice
from games.onitama.cards import CARDS, Colour
from games.onitama.position import SIZE, Position

_CHARACTERS = {"0": ".", "1": "b", "2": "B", "3": "r", "4": "R"}


def letter(notice: Notice, address: str, token: str) -> EmailMultiAlternatives:
    """The mail, in the reader's language and zone, with its List and thread headers.

    `token` is that of the one-click unsubscribe (RFC 8058), for this player and kind.
    """
    with translation.override(settings.LANGUAGE_CODE), timezone.override(notice.player.zone):
        context = _context(notice) | {"unsubscribe": link("unsubscribe", token)}
        context["said"] = _said(notice, context)
        message = EmailMultiAlternatives(
            subject=_subject(notice),
            body=render_to_string("mail/letter.txt", context),
            to=[address],
            headers=_headers(notice, context["unsubscribe"]),
        )
        message.attach_alternative(render_to_string("mail/letter.html", context), "text/html")
    return message


def said(notice: Notice) -> str:
    """What the notice tells, in plain text, in the language and zone that are set."""
    return _said(notice, _context(notice))


def _said(notice: Notice, context: dict[str, Any]) -> str:
    return render_to_string(f"mail/{notice.kind}.txt", context).strip()


def link(name: str, *args: object) -> str:
    """An absolute address of ours, from SITE_URL and never from a request."""
    return settings.SITE_URL + reverse(name, args=args)


def _subject(notice: Notice) -> str:
    # One subject for each game and challenge, so that its mails are one thread.
    if notice.game is not None:
        opponent = _opponent(notice.game, notice.player)
        return _("Onitama: your game with %(name)s (%(game)d)") % {
            "name": opponent.username,
            "game": notice.game.pk,
        }
    if notice.challenge is not None:
        return _("Onitama: %(challenger)s challenges %(challenged)s") % {
            "challenger": notice.challenge.challenger.username,
            "challenged": notice.challenge.challenged.username,
        }
    return _("Onitama: the site was away, your games have more time")


def _headers(notice: Notice, unsubscribe: str) -> dict[str, str]:
    host = urlsplit(settings.SITE_URL).hostname or "localhost"
    headers = {
        "Auto-Submitted": "auto-generated",
        "List-Id": f"Onitama games <games.{host}>",
        "List-Unsubscribe": f"<{unsubscribe}>",
    }
    if settings.HTTPS:
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    if notice.game is not None:
        root = f"<game-{notice.game.pk}@{host}>"
        headers |= {"References": root, "In-Reply-To": root}
    elif notice.challenge is not None:
        root = f"<challenge-{notice.challenge.pk}@{host}>"
        headers |= {"References": root, "In-Reply-To": root}
    return headers


def _opponent(game: Game, player: User) -> User:
    return next(seat.player for seat in game.sides if seat.player_id != player.pk)


def _context(notice: Notice) -> dict[str, Any]:
    context: dict[str, Any] = {
        "notice": notice,
        "player": notice.player,
        "zone_name": str(notice.player.zone),
        "preferences": link("preferences"),
        "link": link("your_turn"),
    }
    if notice.challenge is not None:
        context |= _challenge_context(notice.challenge, notice)
    if notice.game is not None:
        context |= _game_context(notice.game, notice)
    if notice.kind == Kind.REMINDER:
        context["hours"] = int(notice.key.split(":")[3].removesuffix("h"))
    return context


def _challenge_context(challenge: Challenge, notice: Notice) -> dict[str, Any]:
    return {
        "challenge": challenge,
        "event": notice.key.rsplit(":", 1)[1],
        "link": link("challenge", challenge.pk),
    }


def _game_context(game: Game, notice: Notice) -> dict[str, Any]:
    seat = game.seat_of(notice.player.pk)
    colour = Colour(seat.colour) if seat else Colour.BLUE
    position = game.current
    last = game.told.values_list("action", flat=True).last()
    return {
        "game": game,
        "seat": seat,
        "opponent": _opponent(game, notice.player),
        "link": link("game", game.pk),
        "board": board_text(position, colour),
        "rows": board_rows(position, colour),
        "mine": _cards(position.hand(colour)),
        "theirs": _cards(position.hand(colour.other)),
        "side_card": _cards((position.side_card,)),
        "last": last,
        "deadline": game.deadline,
        "deadline_utc": _utc(game.deadline),
    }


def _utc(moment: datetime | None) -> datetime | None:
    return moment.astimezone(UTC) if moment else None


def _cards(names: tuple[str, ...]) -> str:
    return ", ".join(name.replace("_", " ").capitalize() for name in names if name in CARDS)


def board_rows(position: Position, colour: Colour) -> list[tuple[str, str]]:
    """(rank, its five pieces as characters) from the top, the reader's own side at the bottom."""
    ranks = [
        (str(rank + 1), position.board[rank * SIZE : rank * SIZE + SIZE]) for rank in range(SIZE)
    ]
    if colour is Colour.BLUE:
        ranks.reverse()
    else:
        ranks = [(rank, pieces[::-1]) for rank, pieces in ranks]
    return [(rank, "".join(_CHARACTERS[p] for p in pieces)) for rank, pieces in ranks]


def board_text(position: Position, colour: Colour) -> str:
    files = "abcde" if colour is Colour.BLUE else "edcba"
    lines = [f"{rank}  {' '.join(pieces)}" for rank, pieces in board_rows(position, colour)]
    return "\n".join([*lines, "   " + " ".join(files)])
