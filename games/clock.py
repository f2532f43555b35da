"""The correspondence clock: bank, increment and cap, as subtractions on datetimes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class TimeControl:
    """While a player is to move the bank runs; a move adds `increment`, never over `cap`.

    "N days a move" is bank = increment = cap = N days.
    """

    bank: timedelta
    increment: timedelta
    cap: timedelta

    def __post_init__(self) -> None:
        if not timedelta() < self.bank <= self.cap or self.increment < timedelta():
            raise ValueError("A clock needs 0 < bank <= cap and an increment that is not negative.")

    def __str__(self) -> str:
        """Seconds, as the record has them: `259200+86400/432000`."""
        parts = (self.bank, self.increment, self.cap)
        bank, increment, cap = (int(part.total_seconds()) for part in parts)
        return f"{bank}+{increment}/{cap}"

    @property
    def days_a_move(self) -> int | None:
        """N, where this is "N days a move", else None."""
        same = self.bank == self.increment == self.cap
        return self.bank.days if same and self.bank == timedelta(days=self.bank.days) else None

    def bank_after_move(self, left: timedelta) -> timedelta:
        """The mover's bank after a move made with `left` on the clock (not below nought)."""
        return min(max(left, timedelta()) + self.increment, self.cap)


def days(bank: int, increment: int, cap: int) -> TimeControl:
    return TimeControl(timedelta(days=bank), timedelta(days=increment), timedelta(days=cap))


# What a challenge offers, by the word its form sends; the first is the default.
PRESETS = {
    "3+1": days(3, 1, 5),
    "1": days(1, 1, 1),
    "3": days(3, 3, 3),
    "7": days(7, 7, 7),
}


def reminder_due(
    deadline: datetime, began: datetime, hours: Collection[int], after: datetime
) -> datetime | None:
    """The next instant later than `after` at which a reminder falls due, or None.

    `hours` are hours before the deadline.
    """
    return min((at for at, _hour in _reminders(deadline, began, hours) if at > after), default=None)


def reminder_passed(
    deadline: datetime, began: datetime, hours: Collection[int], now: datetime
) -> int | None:
    """Of the reminders that are due by now the hours of the nearest to the deadline, or None."""
    return min((hour for at, hour in _reminders(deadline, began, hours) if at <= now), default=None)


def _reminders(
    deadline: datetime, began: datetime, hours: Collection[int]
) -> Iterator[tuple[datetime, int]]:
    """One due less than two hours after the ply began says nothing that the turn's own notice
    has not just said, and is left out."""
    for hour in hours:
        at = deadline - timedelta(hours=hour)
        if at >= began + timedelta(hours=2):
            yield at, hour
