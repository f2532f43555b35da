"""The rows of games, of what is told of them, and of time; everybody imports them from here."""

from __future__ import annotations

from games.models.contests import (
    Challenge,
    Deck,
    Game,
    Level,
    Ply,
    Seat,
    Side,
    facing,
    new_seed,
)
from games.models.telling import (
    Delivery,
    Feed,
    Kind,
    Notice,
    PushDevice,
    Subscription,
)
from games.models.time import (
    AwayEntry,
    AwayShift,
    Heartbeat,
    Outage,
)

__all__ = [
    "AwayEntry",
    "AwayShift",
    "Challenge",
    "Deck",
    "Delivery",
    "Feed",
    "Game",
    "Heartbeat",
    "Kind",
    "Level",
    "Notice",
    "Outage",
    "Ply",
    "PushDevice",
    "Seat",
    "Side",
    "Subscription",
    "facing",
    "new_seed",
]
