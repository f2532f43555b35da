"""The rows of what players are to be told, and by which channels."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import Message


class Kind(models.TextChoices):
    """What a player can be told."""

    TURN = "turn", _("It is my turn")
    REMINDER = "reminder", _("My time is running out")
    OVER = "over", _("A game of mine is over")
    DRAW = "draw", _("I am offered a draw")
    CHALLENGE = "challenge", _("I am challenged, or my challenge is answered")
    AWAY = "away", _("Away time is used in a game of mine")
    OUTAGE = "outage", _("The site was away and deadlines have moved")
    DIGEST = "digest", _("My daily digest")


class Subscription(models.Model):
    """By which channels a player wants one kind of notice, and the token that ends its mails."""

    player = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="subscriptions"
    )
    kind = models.CharField(max_length=9, choices=Kind)
    mail = models.BooleanField(default=True)
    site = models.BooleanField(default=True)
    push = models.BooleanField(default=True)
    token = models.CharField(max_length=43, unique=True, default=secrets.token_urlsafe)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["player", "kind"], name="subscription_once"),
        ]

    def __str__(self) -> str:
        return f"{self.player_id}:{self.kind}"


class Notice(models.Model):
    """Something a player is to be told; written in the transaction of the event itself."""

    # The kind of the message that a player sends to themselves; nobody subscribes to it.
    TEST = "test"

    player = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices"
    )
    # Says it all, so that nothing is told twice: `turn:g17:p6`, `challenge:c9:received`.
    key = models.CharField(max_length=60)
    kind = models.CharField(max_length=9, choices=Kind)
    game = models.ForeignKey(
        "games.Game", null=True, blank=True, on_delete=models.CASCADE, related_name="notices"
    )
    challenge = models.ForeignKey(
        "games.Challenge", null=True, blank=True, on_delete=models.CASCADE, related_name="notices"
    )
    # The ply that is awaited, where the notice is about one.
    ply = models.PositiveIntegerField(null=True, blank=True)
    created = models.DateTimeField()
    not_before = models.DateTimeField()
    seen = models.DateTimeField(null=True, blank=True)
    withdrawn = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["player", "key"], name="notice_once")]
        indexes = [
            # A deed or a look at a game asks which of its notices still wait.
            models.Index(
                fields=["game", "player"],
                condition=Q(seen__isnull=True, withdrawn__isnull=True),
                name="notice_unseen",
            ),
            # The bell on every page: what a player has not seen, the newest first.
            models.Index(
                fields=["player", "-id"],
                condition=Q(seen__isnull=True, withdrawn__isnull=True),
                name="notice_bell",
            ),
            # The hourly clean-up asks by age.
            models.Index(fields=["created"], name="notice_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.player_id}:{self.key}"

    @property
    def path(self) -> str:
        """Where it leads: to what it is about, as it is now."""
        if self.game_id is not None:
            return reverse("game", args=[self.game_id])
        if self.challenge_id is not None:
            return reverse("challenge", args=[self.challenge_id])
        return reverse("your_turn")


class PushDevice(models.Model):
    """A browser that asked to be told: its push service's address for it (RFC 8030), and the
    two values that only it can read messages by (RFC 8291)."""

    player = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="push_devices"
    )
    endpoint = models.CharField(max_length=1000, unique=True)
    # Base64url without padding, as browsers give them.
    p256dh = models.CharField(max_length=100)
    auth = models.CharField(max_length=40)
    # What the player knows it by: `Firefox on Linux`.
    name = models.CharField(max_length=60)
    created = models.DateTimeField()
    last_used = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.player_id}:{self.name}"


class Delivery(Message):
    """The way of one notice through one channel; through push, to one device."""

    class Channel(models.TextChoices):
        MAIL = "mail", _("mail")
        PUSH = "push", _("push")

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="deliveries")
    channel = models.CharField(max_length=4, choices=Channel, default=Channel.MAIL)
    device = models.ForeignKey(
        PushDevice, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries"
    )

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["notice"], condition=Q(channel="mail"), name="delivery_one_mail"
            ),
            models.UniqueConstraint(
                fields=["notice", "device"], condition=Q(channel="push"), name="delivery_one_push"
            ),
            models.CheckConstraint(
                condition=Q(channel="mail", device__isnull=True)
                | Q(channel="push", device__isnull=False),
                name="delivery_push_has_a_device",
            ),
        ]
        indexes = [
            # The mail task asks for what is due, the oldest first.
            models.Index(
                fields=["next_try"], condition=Q(next_try__isnull=False), name="delivery_due"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.notice_id}:{self.channel}"


class Feed(models.Model):
    """The secret address of a player's feed; the secret itself is kept nowhere."""

    class Form(models.TextChoices):
        ATOM = "atom", _("Atom feed")
        ICAL = "ical", _("calendar")

    player = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="feeds"
    )
    form = models.CharField(max_length=4, choices=Form)
    # SHA-256 of the token, in hexadecimal digits.
    token_hash = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["player", "form"], name="feed_one_a_form")]

    def __str__(self) -> str:
        return f"{self.player_id}:{self.form}"
