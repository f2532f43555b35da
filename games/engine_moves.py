"""The computer's moves that are due: whose comes first, and when one is made without the engine.

The game's row says it all: when the next try may begin, how many there were, how many sweeps have
asked in vain. A try takes the row until the end of its lease.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db.models import F

from games import play, thinking
from games.models import Game
from games.onitama.fallback import fallback

logger = logging.getLogger(__name__)

# A move that nobody has begun after so many nudges is made without the engine ...
NUDGES = 2
# ... but while the engine is at work elsewhere, only when the minute which is promised is nearly
# over: the sweep that finds it may come late by its own period, and needs a moment itself.
BUSY = timedelta(seconds=min(45.0, 57.0 - settings.SWEEP_SECONDS))
# Who has waited so long goes before those who need less time.
HASTE = timedelta(seconds=20)
# Who has waited longer than this was kept waiting by something else than a crowd.
_CROWD = timedelta(minutes=1)
_MOST = 1000


class Waiting(NamedTuple):
    """A game whose computer owes a move that nobody is making."""

    game: int
    level: str
    tries: int
    nudges: int
    since: datetime

    def place(self, now: datetime) -> tuple[bool, float, datetime]:
        """Least time first, then the longest wait; but who has waited too long comes first."""
        late = now - self.since >= HASTE
        # A second try is made without the engine.
        needs = 0.0 if late or self.tries else thinking.seconds(self.level)
        return not late, needs, self.since


@dataclass(frozen=True, slots=True)
class Claim:
    """A move that is ours to make until the lease ends. `seconds` are for a level that thinks by
    the clock."""

    game: Game
    level: str
    seconds: float | None

    @property
    def without_engine(self) -> bool:
        return self.game.engine_tries > 1


def waiting(now: datetime) -> list[Waiting]:
    """In the order in which they are to be made."""
    due = Game.objects.running().filter(engine_due__lte=now, seats__colour=F("turn"))
    rows = due.order_by("engine_due").values_list(
        *("pk", "seats__player__username", "engine_tries", "engine_nudges", "turn_began")
    )[:_MOST]
    return sorted(map(Waiting._make, rows), key=lambda row: row.place(now))


def claim(game_id: int, now: datetime) -> Claim | None:
    """Take the computer's move in this game; None where it is not due."""
    game = _take(game_id, now)
    if game is None:
        return None
    level = game.seat(game.turn).player.username
    return Claim(game, level, thinking.share(level, [level], workers=1, waited=0))


def claim_next(now: datetime) -> Claim | None:
    """Take the move that is to be made first; None where none is due."""
    rows = waiting(now)
    for row in rows:
        # Another worker may have been quicker.
        if game := _take(row.game, now):
            return Claim(game, row.level, _share(row, rows, now))
    return None


def _take(game_id: int, now: datetime) -> Game | None:
    lease = timedelta(seconds=settings.ENGINE_LEASE)
    taken = Game.objects.filter(pk=game_id, engine_due__lte=now).update(
        engine_due=now + lease, engine_tries=F("engine_tries") + 1
    )
    return Game.objects.get(pk=game_id) if taken else None


def _share(row: Waiting, rows: list[Waiting], now: datetime) -> float | None:
    waits = [now - other.since for other in rows]
    longest = max((wait for wait in waits if wait < _CROWD), default=timedelta())
    return thinking.share(
        row.level,
        [other.level for other in rows],
        workers=settings.ENGINE_WORKERS,
        waited=longest.total_seconds(),
    )


# --- without the engine ---------------------------------------------------------------------


def to_nudge(now: datetime) -> tuple[list[int], list[int]]:
    """For the sweep: the games to nudge, and those where a try has failed or nobody comes."""
    rows = waiting(now)
    unanswered = [row for row in rows if row.nudges >= NUDGES]
    busy = bool(unanswered) and _is_busy(now)
    overdue = {row.game for row in rows if row.tries}
    overdue |= {row.game for row in unanswered if not busy or now - row.since >= BUSY}
    nudge = [row.game for row in rows if row.game not in overdue]
    Game.objects.filter(pk__in=nudge).update(engine_nudges=F("engine_nudges") + 1)
    return nudge, [row.game for row in rows if row.game in overdue]


def _is_busy(now: datetime) -> bool:
    """Whether somebody holds a game: at work, or dead so recently that nobody can know."""
    lease = timedelta(seconds=settings.ENGINE_LEASE)
    held = Game.objects.filter(engine_due__gt=now, engine_due__lte=now + lease)
    return held.filter(engine_tries__gt=0).exists()


def make_without_engine(game_id: int, now: datetime) -> None:
    """A legal move for a computer whose engine failed; harmless where the move was made."""
    game = _take(game_id, now)
    if game is not None:
        play_fallback(game, now)


def play_fallback(game: Game, now: datetime) -> None:
    engine = game.seat(game.turn).player
    action = fallback(game.current, game.seed + game.plies)
    try:
        play.play_move(game.pk, engine, game.plies + 1, action, now=now)
    except play.Refused:
        logger.info("game %s: the computer's move came too late", game.pk)
