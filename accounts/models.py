"""The rows of people: players of every kind, and the mails the site owes them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar, Self
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import AbstractUser, UserManager
from django.core.validators import MinLengthValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Upper
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import names

# Product rule: after a failure a message is tried again after 1, 5, 15, 60 minutes, then hourly.
RETRY_MINUTES = (1, 5, 15, 60)
GIVE_UP_AFTER = timedelta(days=3)
# Product rule: so many refusals of an address in a row, and no more is sent there.
MOST_BOUNCES = 3
# Product rules for away time, in hours: held at the start, earned each month, held at most.
AWAY_AT_START, AWAY_A_MONTH, AWAY_AT_MOST = 7 * 24, 2 * 24, 21 * 24
# A navigation sooner after one that was noted is not noted.
NAVIGATION_KEPT_TO = timedelta(minutes=1)
# Product rule: who has been away so long and left nothing behind is removed.
IDLE_AFTER = timedelta(days=30)


class UserQuerySet(models.QuerySet["User"]):
    def named(self, name: str) -> Self:
        """The player of that name whatever the case; an exact spelling is not needed."""
        return self.filter(username__iexact=name)

    def holding(self, address: str, *, confirmed: bool) -> Self:
        """People who gave this address, the latest first; who confirmed it is one at most."""
        return self.filter(
            kind=User.Kind.PERSON,
            emailaddress__email=address.lower(),
            emailaddress__verified=confirmed,
        ).order_by("-emailaddress__pk")

    def idle_guests(self, now: datetime) -> Self:
        """Guests who opened no page for IDLE_AFTER."""
        then = now - IDLE_AFTER
        return self.filter(
            Q(last_navigation__lte=then) | Q(last_navigation=None, date_joined__lte=then),
            kind=User.Kind.GUEST,
        )

    def never_confirmed(self, now: datetime) -> Self:
        """People who signed up IDLE_AFTER ago and never confirmed an address."""
        return self.filter(
            kind=User.Kind.PERSON,
            is_staff=False,
            is_superuser=False,
            date_joined__lte=now - IDLE_AFTER,
        ).exclude(emailaddress__verified=True)


class Users(UserManager.from_queryset(UserQuerySet)):  # type: ignore[misc]  # made at run time
    """Django's manager, to which a name is the same whatever its case."""

    use_in_migrations = False

    def get_by_natural_key(self, username: str | None) -> User:
        user: User = self.get(username__iexact=username)
        return user


def usual_reminders() -> list[int]:
    return [24, 4]


def today() -> date:
    """The day it is in UTC."""
    return timezone.now().astimezone(UTC).date()


class User(AbstractUser):
    """A player: somebody with an account, a guest of this browser, or a level of the computer."""

    class Kind(models.TextChoices):
        PERSON = "person", _("person")
        GUEST = "guest", _("guest")
        ENGINE = "engine", _("computer")

    class MailMode(models.TextChoices):
        """How often mails say that it is the player's turn; all else goes in every mode."""

        EVERY = "every", _("Every turn")
        UNTIL_BACK = "back", _("One, until I come back")
        DIGEST = "digest", _("Only in the daily digest")

    class OutOfTime(models.TextChoices):
        """What a player wants when an opponent runs out of time."""

        WIN = "win", _("I win")
        ABORT = "abort", _("The game is aborted")

    first_name = None  # type: ignore[assignment]  # a player has one name
    last_name = None  # type: ignore[assignment]
    username = models.CharField(
        _("name"),
        max_length=20,
        unique=True,
        error_messages={"unique": _("This name is taken.")},
        validators=[
            RegexValidator(
                r"\A[A-Za-z][A-Za-z0-9_-]*\Z",
                _("Use letters, digits, - and _, beginning with a letter."),
            ),
            MinLengthValidator(3),
        ],
    )
    kind = models.CharField(max_length=6, choices=Kind, default=Kind.PERSON)
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    confirm_moves = models.BooleanField(_("confirm moves"), default=True)
    # The last page the player opened, to the minute; no poll counts.
    last_navigation = models.DateTimeField(null=True, blank=True)

    # Of mails; the pages have no other yet than the site's own.
    language = models.CharField(_("language"), max_length=16, default="en")
    mail_mode = models.CharField(max_length=6, choices=MailMode, default=MailMode.EVERY)
    # When the last mail went that said "your turn": in mode "back", none until they come back.
    turn_mailed = models.DateTimeField(null=True, blank=True)
    # The hour of the player's day, 0 to 23; empty: none, unless the mode is "digest".
    digest_hour = models.PositiveSmallIntegerField(null=True, blank=True)
    next_digest = models.DateTimeField(null=True, blank=True)
    # By the player's own clocks; both empty: never quiet. They may lie on two days.
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_until = models.TimeField(null=True, blank=True)
    # Hours before the deadline, up to five.
    reminder_hours = models.JSONField(default=usual_reminders)
    out_of_time = models.CharField(max_length=5, choices=OutOfTime, default=OutOfTime.WIN)
    # Refusals of the address in a row, as mail servers answered 5xx.
    bounces = models.PositiveSmallIntegerField(default=0)

    # Hours held, whether they are to be used, and the day to which months are credited.
    away_hours = models.PositiveSmallIntegerField(default=AWAY_AT_START)
    away_on = models.BooleanField(_("use my away time"), default=True)
    away_credited = models.DateField(default=today)
    # Announced to opponents; the last day away.
    away_until = models.DateField(_("away until"), null=True, blank=True)

    objects: ClassVar[Users] = Users()

    REQUIRED_FIELDS: ClassVar[list[str]] = ["email"]

    class Meta:
        constraints = [
            # Upper, because PostgreSQL then answers every `iexact` from this index.
            models.UniqueConstraint(
                Upper("username"),
                name="user_name_unique_whatever_case",
                violation_error_message=_("This name is taken."),
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["person", "guest", "engine"]), name="user_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(mail_mode__in=["every", "back", "digest"]), name="user_mail_mode_known"
            ),
            models.CheckConstraint(
                condition=Q(out_of_time__in=["win", "abort"]), name="user_out_of_time_known"
            ),
            models.CheckConstraint(
                condition=Q(digest_hour__isnull=True) | Q(digest_hour__lte=23),
                name="user_digest_hour_of_a_day",
            ),
            models.CheckConstraint(
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
                name="user_quiet_has_both_ends",
            ),
            models.CheckConstraint(
                condition=Q(away_hours__lte=AWAY_AT_MOST), name="user_away_hours_at_most"
            ),
        ]
        indexes = [
            # The hourly clean-up asks for guests by their last navigation.
            models.Index(
                fields=["last_navigation"], condition=Q(kind="guest"), name="user_idle_guests"
            ),
            # The sweep asks whose digest is due.
            models.Index(
                fields=["next_digest"],
                condition=Q(next_digest__isnull=False),
                name="user_digests",
            ),
            # The hourly clean-up asks who has not been credited this month's away time.
            models.Index(
                fields=["away_credited"], condition=Q(kind="person"), name="user_away_credits"
            ),
            # Sign-up asks whether somebody has the address.
            models.Index(fields=["email"], name="user_by_email"),
        ]

    def __str__(self) -> str:
        return self.username

    def get_full_name(self) -> str:
        return self.username

    def get_short_name(self) -> str:
        return self.username

    @property
    def shown_name(self) -> str:
        """The name as people read it; the username is what addresses and records carry."""
        return names.shown(self.username)

    @property
    def zone(self) -> ZoneInfo:
        """The player's time zone; UTC when this machine does not know it (any more)."""
        try:
            return ZoneInfo(self.time_zone)
        except (KeyError, ValueError, OSError):
            return ZoneInfo("UTC")

    @property
    def spoken_language(self) -> str:
        """The player's language, as long as the site speaks it."""
        spoken = {code for code, _name in settings.LANGUAGES}
        return self.language if self.language in spoken else settings.LANGUAGE_CODE

    @property
    def is_person(self) -> bool:
        return self.kind == self.Kind.PERSON

    @property
    def is_guest(self) -> bool:
        return self.kind == self.Kind.GUEST

    @property
    def is_engine(self) -> bool:
        return self.kind == self.Kind.ENGINE


def _one_line(error: str) -> str:
    """What a stranger's server said, as a column takes it."""
    return " ".join(error.replace("\0", " ").split())[:200]


class Message(models.Model):
    """What mails and deliveries share: when to try (again), how often it was tried, how it ended.

    `next_try` is both lease and schedule: a worker that takes the row moves it to the end of its
    lease, so a worker that dies leaves the row due again. Empty: nothing is left to do.
    """

    created = models.DateTimeField()
    next_try = models.DateTimeField(null=True, blank=True)
    tries = models.PositiveIntegerField(default=0)
    sent = models.DateTimeField(null=True, blank=True)
    failed = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        abstract = True

    def claim(self, now: datetime, lease: timedelta) -> bool:
        """Whether this worker, and no other, may try the row until now + lease."""
        taken = (
            type(self)
            ._default_manager.filter(pk=self.pk, next_try__lte=now)
            .update(next_try=now + lease, tries=F("tries") + 1)
        )
        if taken:
            self.refresh_from_db(fields=["next_try", "tries"])
        return bool(taken)

    def mark_sent(self, now: datetime) -> None:
        self._mark(next_try=None, sent=now, error="")

    def mark_refused(self, now: datetime, error: str) -> None:
        """It will never go: no more tries."""
        self._mark_unless_taken(next_try=None, failed=now, error=_one_line(error))

    def mark_delayed(self, now: datetime, error: str, at_least: timedelta = timedelta()) -> None:
        """It may go later: tried again by RETRY_MINUTES, given up after GIVE_UP_AFTER."""
        if now - self.created >= GIVE_UP_AFTER:
            self.mark_refused(now, error)
            return
        usual = RETRY_MINUTES[max(min(self.tries, len(RETRY_MINUTES)), 1) - 1]
        wait = max(timedelta(minutes=usual), at_least)
        self._mark_unless_taken(next_try=now + wait, error=_one_line(error))

    def mark_dropped(self, why: str) -> None:
        """It need not go any more."""
        self._mark_unless_taken(next_try=None, error=_one_line(why))

    def put_off(self, until: datetime) -> None:
        """It is due again then, and this was no try."""
        self._mark_unless_taken(next_try=until, tries=self.tries - 1)

    def _mark_unless_taken(self, **fields: Any) -> None:
        """A worker whose lease ran out must not undo what the next one wrote."""
        mine = Q(pk=self.pk, tries=self.tries, sent=None, failed=None)
        self._mark(mine, **fields)

    def _mark(self, where: Q | None = None, **fields: Any) -> None:
        if type(self)._default_manager.filter(where or Q(pk=self.pk)).update(**fields):
            for name, value in fields.items():
                setattr(self, name, value)


class Mail(Message):
    """One mail, whole, from the moment it is owed; wiped once nothing more can come of it."""

    key = models.CharField(max_length=200, unique=True)
    recipient = models.CharField(max_length=254)
    subject = models.CharField(max_length=200)
    # The whole message as bytes on the wire (RFC 5322); empty once wiped.
    message = models.BinaryField(blank=True)

    class Meta:
        indexes = [
            # The mail task asks for what is due, the oldest first.
            models.Index(fields=["next_try"], condition=Q(next_try__isnull=False), name="mail_due"),
            # The hourly clean-up and the mailbox page ask by age.
            models.Index(fields=["created"], name="mail_by_age"),
        ]

    def __str__(self) -> str:
        return self.key

    def _mark(self, where: Q | None = None, **fields: Any) -> None:
        # A reset link opens an account: a message that is done with is kept for /mailbox/ alone.
        if (fields.get("sent") or fields.get("failed")) and not settings.MAILBOX:
            fields["message"] = b""
        super()._mark(where, **fields)
