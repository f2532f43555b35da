"""What players are to be told: written with the event, looked at again before it goes out."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts import mail
from accounts.models import Mail, User
from games.letters import letter
from games.models import Challenge, Delivery, Game, Kind, Notice, Subscription

logger = logging.getLogger(__name__)

# Product rules: how long a turn waits before it is mailed to somebody who may be looking.
WAIT_AGAINST_COMPUTER = timedelta(minutes=10)
WAIT_WHILE_HERE = timedelta(minutes=2)
COUNTS_AS_HERE = timedelta(minutes=5)
BETWEEN_TESTS = timedelta(minutes=1)

# Of kinds of notice: whether they are wanted on site, by mail, by push.
Ways = Mapping[str, tuple[bool, bool, bool]]


class TooSoon(Exception):
    """A test message was sent less than a minute ago."""


def tell(
    player: User,
    kind: Kind,
    key: str,
    *,
    now: datetime,
    game: Game | None = None,
    challenge: Challenge | None = None,
    ply: int | None = None,
    wait: timedelta = timedelta(),
) -> None:
    """Write a notice, and its mail for people; the computer is told nothing.

    Twice the same key is an IntegrityError: the caller holds the lock that rules it out.
    """
    if player.is_engine:
        return
    notice = Notice.objects.create(
        player=player,
        kind=kind,
        key=key,
        game=game,
        challenge=challenge,
        ply=ply,
        created=now,
        not_before=now + wait,
    )
    if player.is_person:
        Delivery.objects.create(notice=notice, created=now, next_try=notice.not_before)


def tell_once(player: User, kind: Kind, key: str, *, now: datetime, game: Game | None) -> None:
    """As tell(), for events that several rows tell the same player of."""
    if not Notice.objects.filter(player=player, key=key).exists():
        tell(player, kind, key, now=now, game=game)


def patience(player: User, opponent: User, now: datetime) -> timedelta:
    """How long a notice of a game waits, in case its reader is looking anyway."""
    if opponent.is_engine:
        return WAIT_AGAINST_COMPUTER
    here = player.last_navigation
    return WAIT_WHILE_HERE if here and now - here < COUNTS_AS_HERE else timedelta()


def see(player: User, game: Game, *, now: datetime) -> None:
    """The player looked at the game, or did something in it: nothing so far need be told.

    Asked first, for most looks find nothing, and on SQLite even such an update stands in line.
    """
    waiting = _waiting(game).filter(player=player)
    if waiting.exists():
        waiting.update(seen=now)


def see_challenge(player: User, challenge: Challenge, *, now: datetime) -> None:
    Notice.objects.filter(
        player=player, challenge=challenge, seen__isnull=True, withdrawn__isnull=True
    ).update(seen=now)


def withdraw(game: Game, kinds: Iterable[Kind], *, now: datetime) -> None:
    """What these notices say of the game is no longer so."""
    _waiting(game).filter(kind__in=kinds).update(withdrawn=now)


def _waiting(game: Game) -> QuerySet[Notice]:
    return Notice.objects.filter(game=game, seen__isnull=True, withdrawn__isnull=True)


# --- what the bell shows --------------------------------------------------------------------


def unread(player: User) -> QuerySet[Notice]:
    """What the bell counts and lists, the newest first; not what waits on a channel of its own."""
    shown = Notice.objects.filter(player=player).exclude(kind=Notice.TEST)
    silent = Subscription.objects.filter(player=player, site=False)
    shown = shown.exclude(kind__in=silent.values("kind"))
    return shown.filter(seen__isnull=True, withdrawn__isnull=True).order_by("-pk")


def seen_lately(player: User, *, since: datetime) -> QuerySet[Notice]:
    shown = Notice.objects.filter(player=player).exclude(kind=Notice.TEST)
    return shown.filter(seen__gte=since, withdrawn__isnull=True).order_by("-seen", "-pk")


def see_all(player: User, *, now: datetime) -> None:
    unread(player).update(seen=now)


def see_told(player: User, *, now: datetime) -> None:
    """The player read the bell's page: what leads to no game or challenge is told by that."""
    told = unread(player).filter(game__isnull=True, challenge__isnull=True)
    if told.exists():
        told.update(seen=now)


# --- what a player wants to be told, and how ------------------------------------------------


def subscription(player: User, kind: str) -> Subscription:
    row, _made = Subscription.objects.get_or_create(player=player, kind=kind)
    return row


def channels(player: User) -> dict[str, tuple[bool, bool, bool]]:
    """For each kind whether the player wants it on site, by mail, by push: at first, all."""
    said = {row.kind: (row.site, row.mail, row.push) for row in player.subscriptions.all()}
    return {kind: said.get(kind, (True, True, True)) for kind in Kind.values}


def set_channels(player: User, wanted: Ways) -> None:
    """As channels() gives it; kinds that are not named stay as they are."""
    before = channels(player)
    for kind, (site, mail_, push) in wanted.items():
        if before[kind] != (site, mail_, push):
            ways = {"site": site, "mail": mail_, "push": push}
            Subscription.objects.update_or_create(player=player, kind=kind, defaults=ways)


def wanted(player: User) -> list[str]:
    """The kinds of notice the player wants by mail: all, unless they said no."""
    return [kind for kind, (_site, by_mail, _push) in channels(player).items() if by_mail]


def want(player: User, kinds: Collection[str]) -> None:
    """Send the player mails of these kinds, and of no other."""
    for kind in Kind.values:
        Subscription.objects.update_or_create(
            player=player, kind=kind, defaults={"mail": kind in kinds}
        )


def send_test(player: User, channel: str, *, now: datetime) -> None:
    """Write a message that says only that messages arrive, due at once; whoever asks nudges.

    Raises TooSoon for a second one through the same channel within a minute.
    """
    with transaction.atomic():
        # Two presses at once count one after the other.
        User.objects.select_for_update(no_key=True).get(pk=player.pk)
        lately = Delivery.objects.filter(
            notice__player=player, notice__kind=Notice.TEST, created__gt=now - BETWEEN_TESTS
        )
        if lately.filter(channel=channel).exists():
            raise TooSoon
        key = f"test:{channel}:{now:%Y-%m-%dT%H:%M:%S.%f}"
        notice = Notice.objects.create(
            player=player, kind=Notice.TEST, key=key, created=now, not_before=now
        )
        if channel == Delivery.Channel.MAIL:
            Delivery.objects.create(notice=notice, created=now, next_try=now)
        else:
            Delivery.objects.bulk_create(
                Delivery(notice=notice, channel=channel, device=device, created=now, next_try=now)
                for device in player.push_devices.all()
            )


def last_mail(player: User) -> Delivery | None:
    """The last one that was sent to the player, or failed for good."""
    tried = Delivery.objects.filter(notice__player=player, channel=Delivery.Channel.MAIL)
    return tried.filter(Q(sent__isnull=False) | Q(failed__isnull=False)).order_by("-id").first()


def deliver_due(*, seconds: float) -> None:
    """Send what is due, the longest due first, for about so many seconds.

    A server that cannot be reached ends the run: the rest stays due for the next one.
    """
    until = time.monotonic() + seconds
    with mail.connection():
        while time.monotonic() < until:
            due = Delivery.objects.filter(next_try__lte=timezone.now()).order_by("next_try", "pk")
            delivery = due.first()
            if delivery is None or not _try(delivery):
                return


def _try(delivery: Delivery) -> bool:
    """One try. Whatever goes wrong goes wrong for this delivery alone; False: no server."""
    if not delivery.claim(timezone.now(), timedelta(seconds=settings.MAIL_LEASE)):
        return True
    try:
        _deliver(delivery)
    except mail.Refused as refusal:
        delivery.mark_refused(timezone.now(), str(refusal))
    except mail.Unreachable as trouble:
        logger.warning("no mail server: %s", trouble)
        delivery.mark_delayed(timezone.now(), str(trouble))
        return False
    except mail.Delayed as delay:
        delivery.mark_delayed(timezone.now(), str(delay))
    except Exception as error:
        logger.exception("delivery %s failed", delivery.pk)
        delivery.mark_delayed(timezone.now(), repr(error))
    return True


def _deliver(delivery: Delivery) -> None:
    notice = Notice.objects.select_related("player", "game", "challenge").get(pk=delivery.notice_id)
    key = f"notice:{notice.pk}"
    reason = _stale(notice, timezone.now())
    if reason:
        _drop(delivery, notice, key, reason)
        return
    row = Mail.objects.filter(key=key).first() or _write(notice, key)
    mail.send(row, now=timezone.now())
    delivery.mark_sent(timezone.now())


def _stale(notice: Notice, now: datetime) -> str:
    """Why this notice need not go out any more; empty when it must."""
    if notice.withdrawn:
        return "withdrawn"
    if notice.seen:
        return "seen"
    if not still_true(notice, now):
        return "no longer true"
    if not mail.address(notice.player):
        return "no confirmed address"
    if not subscription(notice.player, notice.kind).mail:
        return "not wanted"
    return ""


def still_true(notice: Notice, now: datetime) -> bool:
    """Whether what the notice says is still so."""
    game, challenge = notice.game, notice.challenge
    if notice.kind in {Kind.TURN, Kind.REMINDER}:
        return (
            game is not None
            and not game.is_over
            and not game.out_of_time(now)
            and notice.ply == game.plies + 1
        )
    if notice.kind == Kind.DRAW:
        return game is not None and bool(game.draw_offer)
    if challenge is not None and notice.key.endswith(":received"):
        return challenge.status == Challenge.Status.OPEN and challenge.expires > now
    return True


def _drop(delivery: Delivery, notice: Notice, key: str, reason: str) -> None:
    delivery.next_try, delivery.error = None, reason
    delivery.save(update_fields=["next_try", "error"])
    if reason == "no longer true":
        notice.withdrawn = timezone.now()
        notice.save(update_fields=["withdrawn"])
    Mail.objects.filter(key=key, sent__isnull=True).delete()


def _write(notice: Notice, key: str) -> Mail:
    message = letter(
        notice, mail.address(notice.player), subscription(notice.player, notice.kind).token
    )
    return mail.write(message, key=key, next_try=None)
