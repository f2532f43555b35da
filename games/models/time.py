"""The rows of time beside the clocks: away time that was taken, and the site's own outages."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class AwayEntry(models.Model):
    """One line of a player's ledger of away time; the first line is what everybody starts with,
    and is not written."""

    class Reason(models.TextChoices):
        MONTH = "month", _("earned with the month")
        TAKEN = "taken", _("taken when a clock ran out")

    player = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="away_entries"
    )
    at = models.DateTimeField()
    reason = models.CharField(max_length=5, choices=Reason)
    # Earned, or (negative) taken; then what is held after it.
    hours = models.SmallIntegerField()
    balance = models.PositiveSmallIntegerField()

    class Meta:
        verbose_name_plural = "away entries"
        indexes = [
            # The ledger's page, the newest first.
            models.Index(fields=["player", "-id"], name="away_ledger"),
        ]

    def __str__(self) -> str:
        return f"{self.player_id}:{self.hours:+d}"


class AwayShift(models.Model):
    """One deadline put off by an hour taken; an hour serves every game due within it."""

    entry = models.ForeignKey(AwayEntry, on_delete=models.CASCADE, related_name="shifts")
    game = models.ForeignKey("games.Game", on_delete=models.CASCADE, related_name="away_shifts")
    ply = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["entry", "game"], name="away_shift_once")]

    def __str__(self) -> str:
        return f"{self.entry_id}:{self.game_id}"


class Heartbeat(models.Model):
    """One row: when the sweep last ran. Its age tells an outage of the site."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="heartbeat_one_row")]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}"


class Outage(models.Model):
    """A gap between two sweeps in which the site was away."""

    began = models.DateTimeField()
    ended = models.DateTimeField()

    def __str__(self) -> str:
        return f"o{self.pk}"
