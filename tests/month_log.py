"""What the simulated month and its judge share: habits, the log, and the site's books."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any

SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (1, 60, 3600, 86400))


@dataclass(frozen=True)
class Habit:
    """A player: first what they have set, then how they live."""

    name: str
    zone: str = "Europe/Amsterdam"
    mode: str = "every"
    quiet: tuple[time, time] | None = None
    digest: int | None = None
    reminders: tuple[int, ...] = (24, 4)
    away: bool = False
    on_time: str = "win"
    # How mails fare there: taken; refused for good; taken the second time; never confirmed.
    address: str = "good"
    device: bool = False
    # The kind of notice whose first mail makes them press "No more mails of this kind".
    mutes: str = ""
    # Hours of their day at which they come, and how likely.
    comes: tuple[int, ...] = (8, 20)
    chance: float = 0.45
    # Of a game that waits: how likely they only look at it, and how likely they answer.
    looks: float = 0.1
    answers: float = 0.8
    # False: their browser is always open, and asks by itself.
    navigates: bool = True
    # They move when their own time is over, and not before.
    late: bool = False
    # Days of the month, from and until, on which they do not come.
    gone: tuple[int, int] = (0, 0)
    # The last day away that they announced, as such a day.
    until: int | None = None
    # They play the computer all evening.
    evenings: bool = False


@dataclass(frozen=True)
class Span:
    """When it begins and ends, when the site is away, and how many games there are to be."""

    start: datetime
    end: datetime
    down: datetime
    up: datetime
    games: int
    # Games begin until then.
    begun_by: datetime
    controls: tuple[str, ...] = ("1", "3+1", "3+1", "3+1", "3", "3", "7")


@dataclass(frozen=True)
class Event:
    """One line of the log."""

    at: datetime
    what: str
    player: str = ""
    game: int = 0
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Books:
    """What the site's rows say in the end."""

    # Player and key.
    notices: set[tuple[str, str]]
    # By player: time, hours, balance, and the games with their plies that the hours served.
    ledger: dict[str, list[tuple[datetime, int, int, frozenset[tuple[int, int]]]]]
    held: dict[str, int]
    # Ending, winner's colour and deadline of each game.
    games: dict[int, tuple[str, str, datetime | None]]
    # Of player and key: due, and not gone.
    unsent: list[str]
    # Mails and pushes that count as sent.
    sent: int
    # Numbers of the site's absences, in order.
    outages: list[int]
