"""The rows of games: contests, seats, plies, challenges."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from accounts.models import NAVIGATION_KEPT_TO, User
from games.clock import TimeControl
from games.onitama.position import START_BOARD, Position


class Side(models.TextChoices):
    BLUE = "b", _("Blue")
    RED = "r", _("Red")


class Deck(models.TextChoices):
    BASE = "base", _("16 base cards")
    ALL34 = "all34", _("34 cards: base, Sensei’s Path, Goat and Sheep")


class Level(models.TextChoices):
    """The computer's levels that are offered; each is the name of a player row.

    There are rows of older levels, too: they begin no game, and go on in those they are in.
    """

    WHITE = "white-belt", _("White belt")
    YELLOW = "yellow-belt", _("Yellow belt")
    ORANGE = "orange-belt", _("Orange belt")
    GREEN = "green-belt", _("Green belt")
    BLUE = "blue-belt", _("Blue belt")
    BROWN = "brown-belt", _("Brown belt")
    BLACK = "black-belt", _("Black belt")
    GRANDMASTER = "grandmaster", _("Grandmaster")


class Clocked(models.Model):
    """A time control in three columns, all empty where there is no clock."""

    bank = models.DurationField(null=True, blank=True)
    increment = models.DurationField(null=True, blank=True)
    cap = models.DurationField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def control(self) -> TimeControl | None:
        if self.bank is None or self.increment is None or self.cap is None:
            return None
        return TimeControl(self.bank, self.increment, self.cap)

    @control.setter
    def control(self, control: TimeControl | None) -> None:
        self.bank = control and control.bank
        self.increment = control and control.increment
        self.cap = control and control.cap


class GameQuerySet(models.QuerySet["Game"]):
    def visible_to(self, user_pk: int | None) -> Self:
        """Public games, and the private ones this reader sits in."""
        seats = Seat.objects.filter(game=models.OuterRef("pk"), player=user_pk)
        return self.filter(Q(private=False) | models.Exists(seats))

    def with_seats(self) -> Self:
        """For lists: what `sides` reads for one game, for all of them in one query."""
        seats = Seat.objects.select_related("player").order_by("colour")
        return self.prefetch_related(models.Prefetch("seats", seats, to_attr="sides"))

    def running(self) -> Self:
        return self.filter(status=Game.Status.RUNNING)


def new_seed() -> int:
    return secrets.randbits(62)


class Game(Clocked):
    """One contest. The plies are the record; what stands beside them is kept for lists,
    polls and sweeps, and is written by games.play alone."""

    class Status(models.TextChoices):
        RUNNING = "running", _("running")
        OVER = "over", _("over")

    class Termination(models.TextChoices):
        STONE = "stone", _("Way of the Stone")
        STREAM = "stream", _("Way of the Stream")
        RESIGNATION = "resignation", _("resignation")
        TIME = "time", _("on time")
        AGREEMENT = "agreement", _("agreement")
        REPETITION = "repetition", _("repetition")
        ABORTED = "aborted", _("aborted")

    status = models.CharField(max_length=7, choices=Status, default=Status.RUNNING)
    termination = models.CharField(max_length=11, choices=Termination, blank=True)
    winner = models.CharField(max_length=1, choices=Side, blank=True)

    deck = models.CharField(max_length=5, choices=Deck)
    # The deal in position order: blue, blue, red, red, side.
    cards = models.CharField(max_length=80)
    first = models.CharField(max_length=1, choices=Side)
    private = models.BooleanField(default=False)
    rated = models.BooleanField(default=False)
    # The engine's choice among equal moves, so that no two games go the same way.
    seed = models.BigIntegerField(default=new_seed)

    position = models.CharField(max_length=120)
    turn = models.CharField(max_length=1, choices=Side)
    plies = models.PositiveIntegerField(default=0)
    # Goes up by one at every change a player can see.
    version = models.PositiveIntegerField(default=1)

    created = models.DateTimeField()
    turn_began = models.DateTimeField()
    ended = models.DateTimeField(null=True, blank=True)
    # The mover's flag falls here; empty without a clock and after the end.
    deadline = models.DateTimeField(null=True, blank=True)
    next_reminder = models.DateTimeField(null=True, blank=True)
    # The last outage of the site that moved this deadline.
    outage = models.ForeignKey(
        "Outage", null=True, blank=True, on_delete=models.SET_NULL, related_name="games"
    )
    # A move counted after its deadline, because the site was away; the next sweep tells why.
    spared = models.BooleanField(default=False)

    draw_offer = models.CharField(max_length=1, choices=Side, blank=True)
    draw_offers = models.PositiveIntegerField(default=0)

    # While the computer owes a move: when the next try may begin (a try moves it to the end of
    # its lease), how many tries there were, and how many sweeps found the move not begun.
    engine_due = models.DateTimeField(null=True, blank=True)
    engine_tries = models.PositiveIntegerField(default=0)
    engine_nudges = models.PositiveIntegerField(default=0)

    objects = GameQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status="running", termination="", winner="", ended__isnull=True)
                | Q(status="over", ended__isnull=False, termination__gt=""),
                name="game_over_has_its_end",
            ),
            models.CheckConstraint(
                condition=Q(winner="")
                | Q(termination__in=["stone", "stream", "resignation", "time"]),
                name="game_winner_by_a_decision",
            ),
            models.CheckConstraint(
                condition=~Q(termination__in=["stone", "stream", "resignation", "time"])
                | Q(winner__in=["b", "r"]),
                name="game_decision_has_a_winner",
            ),
            models.CheckConstraint(
                condition=Q(
                    termination__in=[
                        "",
                        "stone",
                        "stream",
                        "resignation",
                        "time",
                        "agreement",
                        "repetition",
                        "aborted",
                    ]
                ),
                name="game_termination_known",
            ),
            models.CheckConstraint(
                condition=Q(turn__in=["b", "r"], first__in=["b", "r"]), name="game_sides_known"
            ),
            models.CheckConstraint(
                condition=Q(draw_offer__in=["", "b", "r"]), name="game_draw_offer_known"
            ),
            models.CheckConstraint(condition=Q(deck__in=["base", "all34"]), name="game_deck_known"),
            models.CheckConstraint(
                condition=Q(status="running")
                | Q(
                    deadline__isnull=True,
                    next_reminder__isnull=True,
                    engine_due__isnull=True,
                    draw_offer="",
                ),
                name="game_over_waits_for_nothing",
            ),
        ]
        indexes = [
            # The sweep asks for running games out of time.
            models.Index(
                fields=["deadline"], condition=Q(deadline__isnull=False), name="game_deadlines"
            ),
            # The sweep asks for reminders that fall due.
            models.Index(
                fields=["next_reminder"],
                condition=Q(next_reminder__isnull=False),
                name="game_reminders",
            ),
            # The sweep asks for engine moves that nobody is making.
            models.Index(
                fields=["engine_due"], condition=Q(engine_due__isnull=False), name="game_engine"
            ),
            # The sweep after an outage asks whose moves counted late.
            models.Index(fields=["id"], condition=Q(spared=True), name="game_spared"),
        ]

    def __str__(self) -> str:
        return f"g{self.pk}"

    @property
    def is_over(self) -> bool:
        return self.status == self.Status.OVER

    @property
    def current(self) -> Position:
        return Position.parse(self.position)

    @property
    def start(self) -> Position:
        return Position.parse(f"{START_BOARD} {self.cards} {self.first}")

    @property
    def told(self) -> models.QuerySet[Ply]:
        """The record as far as this row goes: without a lock, a move may have come since."""
        return self.record.filter(number__lte=self.plies)

    @cached_property
    def tokens(self) -> list[str]:
        """The record as far as this row goes, as text; read once, so after the lock if any."""
        return list(self.told.values_list("action", flat=True))

    @cached_property
    def sides(self) -> list[Seat]:
        """Blue's seat, then Red's, with their players; read once, so after the lock if any."""
        return facing(self.seats.select_related("player"))

    def seat(self, colour: str) -> Seat:
        return next(seat for seat in self.sides if seat.colour == colour)

    def seat_of(self, player_pk: int | None) -> Seat | None:
        """The player's seat; None for anybody else."""
        return next((seat for seat in self.sides if seat.player_id == player_pk), None)

    def out_of_time(self, now: datetime) -> bool:
        """Whether the deadline is reached; what follows from it is for games.play to say."""
        return self.deadline is not None and self.deadline <= now


class SeatQuerySet(models.QuerySet["Seat"]):
    def to_move(self, player_pk: int) -> Self:
        """The player's seats in running games that wait for them."""
        return self.filter(player=player_pk, result="", game__turn=F("colour"))

    def missed(self) -> Self:
        """Seats lost on time after the last page that their player opened, as far as is known:
        another within the same minute is not noted."""
        here_until = F("player__last_navigation") + NAVIGATION_KEPT_TO
        since = Q(player__last_navigation=None) | Q(ended__gte=here_until)
        return self.filter(since, result="lost", termination=Game.Termination.TIME)


class Seat(models.Model):
    """One player's side of one game, with what the archive's filters ask beside it."""

    class Result(models.TextChoices):
        WON = "won", _("Won")
        LOST = "lost", _("Lost")
        DRAW = "draw", _("Draw")
        ABORTED = "aborted", _("Aborted")

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="seats")
    player = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="seats"
    )
    colour = models.CharField(max_length=1, choices=Side)
    # What is left when it is not this player's turn; the mover's bank runs to game.deadline.
    bank = models.DurationField(null=True, blank=True)
    # Hours of away time that this side has used in this game.
    away_hours = models.PositiveSmallIntegerField(default=0)
    # The ply after which this side last offered a draw: once between own moves.
    offered_at_ply = models.PositiveIntegerField(null=True, blank=True)

    opponent = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="seats_against"
    )
    opponent_kind = models.CharField(max_length=6, choices=User.Kind)
    result = models.CharField(max_length=7, choices=Result, blank=True)
    termination = models.CharField(max_length=11, choices=Game.Termination, blank=True)
    rated = models.BooleanField(default=False)
    plies = models.PositiveIntegerField(default=0)
    ended = models.DateTimeField(null=True, blank=True)

    objects = SeatQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["game", "colour"], name="seat_one_per_colour"),
            models.UniqueConstraint(fields=["game", "player"], name="seat_two_players"),
            models.CheckConstraint(condition=~Q(player=F("opponent")), name="seat_not_oneself"),
            models.CheckConstraint(condition=Q(colour__in=["b", "r"]), name="seat_colour_known"),
            models.CheckConstraint(
                condition=Q(result="", ended__isnull=True)
                | Q(result__in=["won", "lost", "draw", "aborted"], ended__isnull=False),
                name="seat_result_at_the_end",
            ),
        ]
        indexes = [
            # Your turn, and the count of it on every page: the running games of a player.
            models.Index(fields=["player"], condition=Q(result=""), name="seat_running"),
            # The archive, newest first, from any key; then the same with one filter.
            models.Index(fields=["player", "-ended", "-id"], name="seat_archive"),
            models.Index(fields=["player", "result", "-ended", "-id"], name="seat_by_result"),
            models.Index(fields=["player", "opponent", "-ended", "-id"], name="seat_by_opponent"),
            models.Index(fields=["player", "opponent_kind", "-ended", "-id"], name="seat_by_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.game_id}{self.colour}"

    def left(self, now: datetime) -> timedelta | None:
        """Time on this side's clock, not below nought; None without a clock."""
        game = self.game
        if game.deadline is not None and game.turn == self.colour:
            return max(game.deadline - now, timedelta())
        return self.bank


def facing(seats: Iterable[Seat]) -> list[Seat]:
    """The two seats of a game, Blue's first, each with the other's player as its opponent."""
    # Sorted here: to order whole rows costs Django more than to read them.
    blue, red = sorted(seats, key=lambda seat: seat.colour)
    blue.opponent, red.opponent = red.player, blue.player
    return [blue, red]


class Ply(models.Model):
    """One move or pass as played, as its text token."""

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="record")
    number = models.PositiveIntegerField()
    action = models.CharField(max_length=20)
    played = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["number"]
        constraints = [
            # The last of three guards against two moves at once; also the record's own index.
            models.UniqueConstraint(fields=["game", "number"], name="ply_once"),
            models.CheckConstraint(condition=Q(number__gte=1), name="ply_numbers_from_one"),
        ]

    def __str__(self) -> str:
        return f"{self.game_id}:{self.number}"


class Challenge(Clocked):
    """One player asks another, by name, for a game."""

    class Status(models.TextChoices):
        OPEN = "open", _("open")
        ACCEPTED = "accepted", _("accepted")
        DECLINED = "declined", _("declined")
        WITHDRAWN = "withdrawn", _("withdrawn")
        EXPIRED = "expired", _("expired")

    class Reason(models.TextChoices):
        NONE = "", _("no reason")
        BUSY = "busy", _("I have enough games for now")
        SLOW = "slow", _("this is too slow for me")
        FAST = "fast", _("this is too fast for me")
        DECK = "deck", _("I would like another deck")
        LATER = "later", _("please ask me again later")

    challenger = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="challenges_sent"
    )
    challenged = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="challenges_received"
    )
    # The challenger's side; empty: drawn when the challenge is accepted.
    colour = models.CharField(max_length=1, choices=Side, blank=True)
    deck = models.CharField(max_length=5, choices=Deck, default=Deck.BASE)
    private = models.BooleanField(default=False)
    status = models.CharField(max_length=9, choices=Status, default=Status.OPEN)
    reason = models.CharField(max_length=5, choices=Reason, blank=True)
    created = models.DateTimeField()
    expires = models.DateTimeField()
    game = models.OneToOneField(Game, null=True, blank=True, on_delete=models.SET_NULL)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~Q(challenger=F("challenged")), name="challenge_not_oneself"
            ),
            models.CheckConstraint(
                condition=Q(status__in=["open", "accepted", "declined", "withdrawn", "expired"]),
                name="challenge_status_known",
            ),
        ]
        indexes = [
            # Your turn: the open challenges of a player, sent and received.
            models.Index(fields=["challenger"], condition=Q(status="open"), name="challenge_sent"),
            models.Index(
                fields=["challenged"], condition=Q(status="open"), name="challenge_received"
            ),
            # The hourly clean-up asks which have expired.
            models.Index(fields=["expires"], condition=Q(status="open"), name="challenge_expiry"),
        ]

    def __str__(self) -> str:
        return f"c{self.pk}"

    def is_open(self, now: datetime) -> bool:
        """Whether it can still be answered, or taken back."""
        return self.status == self.Status.OPEN and self.expires > now
