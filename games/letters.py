"""Turns a notice into a mail: text that is complete alone, HTML of the same."""

from __future__ import annotations

import re
import textwrap
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db.models import F
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts import mail
from accounts.links import link
from accounts.models import User
from games import away
from games.models import Challenge, Game, Kind, Notice, Seat
from games.onitama.cards import Colour
from games.onitama.position import Position, parse_move
from games.shown import Shown, opponent_of, read_records
from games.wording import moment

# Longer lists end with an address where the rest is; a mail of 100 kB is cut by some readers.
SHOWN = 20
# Plain text is wrapped here (RFC 5322 asks for 78 at most); long words and addresses stay whole.
WIDTH = 76


def letter(notice: Notice, address: str, token: str) -> EmailMultiAlternatives:
    """The mail, in the reader's language and zone, with its List and thread headers.

    `token` is that of the one-click unsubscribe (RFC 8058), for this player and kind; a test,
    which the player asked for, has none. No query for a game whose `sides` and `tokens` were
    read before, unless the mail is about more than that game.
    """
    player = notice.player
    with translation.override(player.spoken_language), timezone.override(player.zone):
        unsubscribe = "" if notice.kind == Notice.TEST else link("unsubscribe", token)
        context = _context(notice)
        context |= {"subject": _subject(notice, context), "unsubscribe": unsubscribe}
        context |= {"said": _said(notice, context), "more": _more(notice, context)}
        message = EmailMultiAlternatives(
            subject=context["subject"],
            body=_tidy(render_to_string("mail/letter.txt", context)),
            to=[address],
            headers=_headers(notice, unsubscribe),
        )
        message.attach_alternative(render_to_string("mail/letter.html", context), "text/html")
    return message


def said(notice: Notice) -> str:
    """What the notice tells, in plain text, in the language and zone that are set."""
    return _said(notice, _context(notice))


def _said(notice: Notice, context: dict[str, Any]) -> str:
    return render_to_string(f"mail/{notice.kind}.txt", context).strip()


def _more(notice: Notice, context: dict[str, Any]) -> str:
    """What a mail says beside that, in paragraphs."""
    return render_to_string("mail/_more.txt", context | _more_context(notice)).strip()


def _tidy(text: str) -> str:
    """No line longer than it should be, nowhere more than one empty line."""
    lines = (line.rstrip() for line in text.strip().splitlines())
    wrapped = (_wrapped(line) if len(line) > WIDTH else line for line in lines)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(wrapped)) + "\n"


def _wrapped(line: str) -> str:
    return textwrap.fill(line, WIDTH, break_long_words=False, break_on_hyphens=False)


# --- the head -------------------------------------------------------------------------------


def _subject(notice: Notice, context: dict[str, Any]) -> str:
    # One subject for each game and challenge, so that its mails are one thread.
    if notice.game is not None:
        opponent = opponent_of(notice.game, notice.player)
        return _("Onitama: your game with %(name)s (%(game)d)") % {
            "name": opponent.shown_name,
            "game": notice.game.pk,
        }
    if notice.challenge is not None:
        return _("Onitama: %(challenger)s challenges %(challenged)s") % {
            "challenger": notice.challenge.challenger.shown_name,
            "challenged": notice.challenge.challenged.shown_name,
        }
    if notice.kind == Kind.DIGEST:
        return _digest_subject(context["count"])
    if notice.kind == Notice.TEST:
        return _("Onitama: this is how mails from us look")
    return _("Onitama: the site was away, your games have more time")


def _digest_subject(count: int) -> str:
    if not count:
        return _("Onitama: what waits for you")
    return ngettext(
        "Onitama: %(n)d game waits for you", "Onitama: %(n)d games wait for you", count
    ) % {"n": count}


def _headers(notice: Notice, unsubscribe: str) -> dict[str, str]:
    if not unsubscribe:
        return {}
    headers = {
        "List-Id": f"Onitama games <games.{mail.domain()}>",
        "List-Unsubscribe": f"<{unsubscribe}>",
    }
    if settings.HTTPS:
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    if notice.game is not None:
        root = f"<game-{notice.game.pk}@{mail.domain()}>"
        headers |= {"References": root, "In-Reply-To": root}
    elif notice.challenge is not None:
        root = f"<challenge-{notice.challenge.pk}@{mail.domain()}>"
        headers |= {"References": root, "In-Reply-To": root}
    return headers


# --- what is in it --------------------------------------------------------------------------


def _context(notice: Notice) -> dict[str, Any]:
    player, now = notice.player, timezone.now()
    context: dict[str, Any] = {
        "notice": notice,
        "player": player,
        "preferences": link("preferences"),
        "link": link("your_turn"),
    }
    if notice.challenge is not None:
        context |= _challenge_context(notice.challenge, notice)
    if notice.game is not None:
        context |= _game_context(notice.game, notice, now)
    match notice.kind:
        case Kind.DIGEST:
            context |= _digest_context(player, now)
        case Kind.OUTAGE:
            context |= _outage_context(notice, now)
        case Notice.TEST:
            context |= {"now": moment(now), "it": _sample(player, now)}
    return context


def _challenge_context(challenge: Challenge, notice: Notice) -> dict[str, Any]:
    sent = challenge.challenger_id == notice.player.pk
    return {
        "challenge": challenge,
        "event": notice.key.rsplit(":", 1)[1],
        "sent": sent,
        "other": challenge.challenged if sent else challenge.challenger,
        "expires": moment(challenge.expires),
        "link": link("challenge", challenge.pk),
    }


def _game_context(game: Game, notice: Notice, now: datetime) -> dict[str, Any]:
    it = Shown.of(game, notice.player, now)
    return {
        "game": game,
        "it": it,
        "seat": it.seat,
        "opponent": it.opponent,
        "link": it.link,
        # A reminder of the hours that are left before the deadline, or of those of away time.
        "of_away": ":away" in notice.key,
        "mine": _awaited(game, notice.ply) == it.colour,
        "away_left": away.left(game.seat(game.turn), now),
    }


def _awaited(game: Game, ply: int | None) -> Colour:
    """Whose ply that is; without one, the colour to move."""
    if ply is None:
        return Colour(game.turn)
    first = Colour(game.first)
    return first if ply % 2 else first.other


def _digest_context(player: User, now: datetime) -> dict[str, Any]:
    mine = Seat.objects.to_move(player.pk)
    games = Game.objects.running().filter(pk__in=mine.values("game")).with_seats()
    first = F("deadline").asc(nulls_last=True)
    shown = list(games.order_by(first, "turn_began")[:SHOWN])
    read_records(shown)
    count = mine.count() if len(shown) == SHOWN else len(shown)
    asked = Challenge.objects.filter(
        challenged=player, status=Challenge.Status.OPEN, expires__gt=now
    )
    return {
        "count": count,
        "games": [Shown.of(game, player, now) for game in shown],
        "unshown": count - len(shown),
        "challenges": [
            (row, moment(row.expires), link("challenge", row.pk))
            for row in asked.select_related("challenger").order_by("expires")[:SHOWN]
        ],
        "waiting": player.seats.filter(result="").count() - count,
    }


def _outage_context(notice: Notice, now: datetime) -> dict[str, Any]:
    """The games whose deadline the outage moved, as far as it still runs."""
    outage = int(notice.key.removeprefix("outage:o"))
    games = Game.objects.running().filter(outage=outage, seats__player=notice.player)
    shown = list(games.with_seats().order_by("deadline")[:SHOWN])
    read_records(shown)
    return {"games": [Shown.of(game, notice.player, now) for game in shown]}


def _sample(player: User, now: datetime) -> Shown:
    """A game that is none, so that a test shows how boards look in the reader's program."""
    start = Position.start(("tiger", "crab", "mantis", "crane", "ox"))
    position = start.play(parse_move("crab:b1b2"))
    game = Game(
        pk=0,
        first=start.turn,
        cards=",".join(start.cards),
        position=str(position),
        turn=position.turn,
        plies=1,
        deadline=now + timedelta(days=3),
    )
    other = User(pk=0, username=_("your opponent"))
    game.sides = [Seat(player=other, colour="b"), Seat(player=player, colour="r")]
    game.tokens = ["crab:b1b2"]
    return Shown.of(game, player, now)


# --- what is said further -------------------------------------------------------------------


def _more_context(notice: Notice) -> dict[str, Any]:
    player, game, now = notice.player, notice.game, timezone.now()
    if game is None:
        return {}
    match notice.kind:
        case Kind.TURN if player.mail_mode == User.MailMode.UNTIL_BACK:
            return {"until_back": Seat.objects.to_move(player.pk).count()}
        case Kind.OVER if game.termination == Game.Termination.TIME:
            seat = game.seat_of(player.pk)
            lost = seat is not None and seat.result == Seat.Result.LOST
            return {"absent": lost and away.is_absent(player)}
        case Kind.REMINDER | Kind.AWAY:
            mover = game.seat(game.turn)
            last = game.deadline and game.deadline + away.left(mover, now) * away.HOUR
            return {
                "held": away.held(mover.player, now),
                "last_moment": last and moment(last),
                "until": away.until(mover.player, now),
                "away": link("away"),
            }
    return {}
