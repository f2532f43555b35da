"""Games, challenges and notices for the staff to look at; only the deeds change them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from games.models import (
    AwayEntry,
    AwayShift,
    Challenge,
    Delivery,
    Game,
    Heartbeat,
    Notice,
    Outage,
    Ply,
    PushDevice,
    Seat,
    Side,
    Subscription,
)


class ShortPaginator(Paginator):
    """Counts no further than this: a count of a whole table takes longer than its page."""

    MOST = 10_000

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        assert isinstance(rows, QuerySet)  # noqa: S101  # a change list has nothing else
        return rows.order_by()[: self.MOST].count()


class LookOnly:
    """No adding, changing or deleting by hand: the rows tell what happened."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class Sought(admin.ModelAdmin):
    """A list searched by the number of a game or the first letters of a player's name."""

    # Where the two are, seen from the row; empty where a row belongs to no game.
    game_path = "game"
    player_paths: tuple[str, ...] = ("player",)
    # Makes the box appear; what is searched is written below.
    search_fields = ("pk",)
    # Shown by our change_list.html.
    search_label = _("Number of a game, or the beginning of a player’s name")
    paginator = ShortPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    # By the key alone: any other order would read and sort a whole table.
    ordering = ("-pk",)
    sortable_by = ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        for word in search_term.split():
            queryset = queryset.filter(self.matching(word))
        return queryset, False

    def matching(self, word: str) -> Q:
        # No name begins with a digit, and no key has 19 of them.
        if self.game_path and word.isascii() and word.isdecimal() and len(word) < 19:
            return Q((self.game_path, int(word)))
        return self.named(word)

    def named(self, word: str) -> Q:
        named = Q()
        for path in self.player_paths:
            named |= Q((f"{path}__username__istartswith", word))
        return named


class Rows(LookOnly, admin.TabularInline):
    """A table beneath its row; Django's own has columns for changes, with nothing in them."""

    template = "admin/look_only_inline.html"


class SeatInline(Rows):
    model = Seat
    fk_name = "game"
    fields = (
        *("colour", "player", "bank", "away_hours", "offered_at_ply"),
        *("result", "termination", "plies"),
    )
    ordering = ("colour",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Seat]:
        return super().get_queryset(request).select_related("player", "game")


class PlyInline(Rows):
    model = Ply
    verbose_name_plural = _("plies")
    fields = ("number", "action", "played")
    ordering = ("number",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Ply]:
        return super().get_queryset(request).select_related("game")


@admin.register(Game)
class GameAdmin(LookOnly, Sought):
    list_display = (
        *("id", "blue", "red", "status", "termination", "winner", "plies"),
        *("deadline", "created"),
    )
    list_filter = ("status", "termination", "private", ("engine_due", admin.EmptyFieldListFilter))
    # What the computer will choose is nobody's business, the staff's neither; nothing is rated.
    exclude = ("seed", "rated")
    game_path = "pk"
    inlines = (SeatInline, PlyInline)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Game]:
        return Game.objects.with_seats()

    def named(self, word: str) -> Q:
        # Through the seats' keys, not a join, which would show a game once for each seat.
        return Q(pk__in=Seat.objects.filter(player__username__istartswith=word).values("game"))

    @admin.display(description=Side.BLUE.label)
    def blue(self, game: Game) -> str:
        return game.seat(Side.BLUE).player.username

    @admin.display(description=Side.RED.label)
    def red(self, game: Game) -> str:
        return game.seat(Side.RED).player.username


@admin.register(Challenge)
class ChallengeAdmin(LookOnly, Sought):
    list_display = (
        *("id", "challenger", "challenged", "status", "reason", "colour", "deck"),
        *("private", "created", "expires", "game"),
    )
    list_filter = ("status", "private")
    list_select_related = ("challenger", "challenged", "game")
    player_paths = ("challenger", "challenged")


class DeliveryInline(Rows):
    model = Delivery
    fields = ("channel", "device", "created", "tries", "next_try", "sent", "failed", "error")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        return super().get_queryset(request).select_related("device")


@admin.register(Notice)
class NoticeAdmin(LookOnly, Sought):
    list_display = ("key", "player", "kind", "created", "not_before", "seen", "withdrawn")
    list_filter = ("kind", "created")
    list_select_related = ("player",)
    inlines = (DeliveryInline,)


@admin.register(Delivery)
class DeliveryAdmin(LookOnly, Sought):
    list_display = (
        *("notice_key", "player", "channel", "created", "tries", "next_try"),
        *("sent", "failed", "error"),
    )
    list_filter = (
        ("next_try", admin.EmptyFieldListFilter),
        ("sent", admin.EmptyFieldListFilter),
        ("failed", admin.EmptyFieldListFilter),
    )
    list_select_related = ("notice__player",)
    game_path = "notice__game"
    player_paths = ("notice__player",)

    @admin.display(description=_("notice"))
    def notice_key(self, delivery: Delivery) -> str:
        return delivery.notice.key

    @admin.display(description=_("player"))
    def player(self, delivery: Delivery) -> str:
        return delivery.notice.player.username


@admin.register(Subscription)
class SubscriptionAdmin(Sought):
    """The one thing here that staff may set, for somebody who asks to get no more mail."""

    list_display = ("player", "kind", "mail")
    list_filter = ("kind", "mail")
    list_select_related = ("player",)
    game_path = ""
    # Not the token: whoever has it can switch the mails off.
    fields = ("player", "kind", "mail")
    readonly_fields = ("player", "kind")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(PushDevice)
class PushDeviceAdmin(LookOnly, Sought):
    # Neither the address nor the keys: whoever has them can speak to the browser.
    list_display = fields = ("player", "name", "created", "last_used")
    list_select_related = ("player",)
    game_path = ""


class ShiftInline(Rows):
    model = AwayShift
    fields = ("game", "ply")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AwayShift]:
        return super().get_queryset(request).select_related("game")


@admin.register(AwayEntry)
class AwayEntryAdmin(LookOnly, Sought):
    """The ledger that a player reads, line by line: why a deadline has moved, or has not."""

    list_display = ("id", "player", "at", "reason", "hours", "balance")
    list_filter = ("reason",)
    list_select_related = ("player",)
    game_path = "shifts__game"
    inlines = (ShiftInline,)


@admin.register(Heartbeat)
class HeartbeatAdmin(LookOnly, admin.ModelAdmin):
    list_display = ("at",)


@admin.register(Outage)
class OutageAdmin(LookOnly, admin.ModelAdmin):
    list_display = ("id", "began", "ended")
    ordering = ("-pk",)
