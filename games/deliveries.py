"""How notices go out: claimed, looked at again, handed to their channel, marked."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Prefetch, Q
from django.utils import timezone

from accounts import mail
from accounts.models import Mail, User
from games import away, digests, hours, push
from games.letters import letter
from games.models import Delivery, Game, Kind, Notice, Subscription
from games.notices import still_true
from games.shown import read_records

logger = logging.getLogger(__name__)

# So many are claimed and looked at together, and what was seen then holds so many seconds.
BATCH = 20
LOOK_HOLDS = 1.0
# Product rule: quiet hours hold nothing back whose deadline falls into them, or so soon after.
AFTER_QUIET = timedelta(hours=2)

# A game out of time is settled by a sweep before this has passed.
SETTLED_WITHIN = timedelta(minutes=1)

ONE_UNTIL_BACK = "one until back"
NO_LONGER_TRUE = "no longer true"


@dataclass
class Claim:
    """A delivery that is this worker's until its lease ends, and what is known of it."""

    delivery: Delivery
    # When it was due, should it be given back.
    due: datetime
    notice: Notice
    # None for a test, to which nobody subscribes.
    subscription: Subscription | None
    # Confirmed by the player; empty where there is none.
    address: str
    # Once it is written.
    mail: Mail | None


def deliver_due(*, seconds: float) -> None:
    """Send what is due, the longest due first, for about so many seconds in all.

    A mail server that cannot be reached ends the mails: the rest stays due for the next run.
    """
    with mail.connection():
        _deliver_due(Delivery.Channel.MAIL, seconds * 2 / 3)
    # No longer than this do mails wait for push services that are slow.
    _deliver_due(Delivery.Channel.PUSH, seconds / 3)


def _deliver_due(channel: Delivery.Channel, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        claims = _claim(channel)
        if not claims or not _try_all(claims, until):
            return


# --- claiming -------------------------------------------------------------------------------


def _claim(channel: Delivery.Channel) -> list[Claim]:
    """The longest due, which nobody else has until the lease ends.

    What was tried before goes alone: whatever it was that stopped that try stops no other.
    """
    now = timezone.now()
    waiting = Delivery.objects.filter(channel=channel, next_try__lte=now)
    # Asked first, for most runs find nothing, and on SQLite a transaction stands in line.
    if not waiting.exists():
        return []
    with transaction.atomic():
        rows = list(waiting.order_by("next_try", "pk").select_for_update(skip_locked=True)[:BATCH])
        if rows:
            rows = rows[:1] if rows[0].tries else [row for row in rows if not row.tries]
        due = {row.pk: row.next_try or now for row in rows}
        lease = now + timedelta(seconds=settings.MAIL_LEASE)
        Delivery.objects.filter(pk__in=due).update(next_try=lease, tries=F("tries") + 1)
    for row in rows:
        row.next_try, row.tries = lease, row.tries + 1
    return _look(rows, due)


def _look(rows: list[Delivery], due: dict[int, datetime]) -> list[Claim]:
    """What is known of these deliveries, in a few queries for all; none of one just removed."""
    notices = Notice.objects.filter(pk__in={row.notice_id for row in rows}).select_related(
        "player", "challenge__challenger", "challenge__challenged"
    )
    notices = notices.prefetch_related(Prefetch("game", Game.objects.with_seats()))
    by_pk = {notice.pk: notice for notice in notices}
    read_records({notice.game for notice in by_pk.values() if notice.game})
    subscriptions = _subscriptions(by_pk.values())
    addresses = mail.confirmed(notice.player for notice in by_pk.values())
    mails = Mail.objects.in_bulk([_key(notice) for notice in by_pk.values()], field_name="key")
    claims = []
    for row in rows:
        if notice := by_pk.get(row.notice_id):
            subscription = subscriptions.get((notice.player_id, notice.kind))
            address = addresses.get(notice.player_id, "")
            # The mail of the same notice is not this one's to send, nor to take back.
            is_mail = row.channel == Delivery.Channel.MAIL
            written = mails.get(_key(notice)) if is_mail else None
            claims.append(Claim(row, due[row.pk], notice, subscription, address, written))
    return claims


def _key(notice: Notice) -> str:
    return f"notice:{notice.pk}"


def _subscriptions(notices: Iterable[Notice]) -> dict[tuple[int, str], Subscription]:
    """By player and kind, made where there was none: a mail needs its token."""
    wanted = {(n.player_id, n.kind) for n in notices if n.kind != Notice.TEST}
    rows = Subscription.objects.filter(
        player__in={player for player, _kind in wanted}, kind__in={kind for _player, kind in wanted}
    )
    found = {(row.player_id, row.kind): row for row in rows}
    missing = wanted - found.keys()
    if missing:
        made = [Subscription(player_id=player, kind=kind) for player, kind in missing]
        Subscription.objects.bulk_create(made, ignore_conflicts=True)
        found = {(row.player_id, row.kind): row for row in rows.all()}
    return found


# --- looking again --------------------------------------------------------------------------


def _stale(claim: Claim, now: datetime) -> str:
    """Why this notice need not go out any more; empty when it must."""
    notice, subscription = claim.notice, claim.subscription
    if not notice.player.is_active:
        return "account closed"
    if notice.withdrawn:
        return "withdrawn"
    if notice.seen:
        return "seen"
    if not still_true(notice, now):
        return NO_LONGER_TRUE
    if notice.kind == Kind.DIGEST and not digests.anything_waits(notice.player, now):
        return NO_LONGER_TRUE
    if claim.delivery.channel == Delivery.Channel.PUSH:
        return "" if subscription is None or subscription.push else "not wanted"
    return _stale_mail(claim)


def _stale_mail(claim: Claim) -> str:
    player, subscription = claim.notice.player, claim.subscription
    if not claim.address:
        return "no confirmed address"
    # Of a test the player asks whether the address takes mails again.
    if subscription is None:
        return ""
    if mail.refuses(player):
        return "address refuses mail"
    if not subscription.mail:
        return "not wanted"
    if claim.notice.kind == Kind.TURN and player.mail_mode == User.MailMode.DIGEST:
        return "digest only"
    return ""


def _is_unsettled(notice: Notice, now: datetime) -> bool:
    """Out of time: whether the game is lost the next sweep says, which after an outage of the
    site gives it more."""
    game = notice.game
    return game is not None and not game.is_over and not away.covers(game, now)


def _quiet_until(notice: Notice, now: datetime) -> datetime | None:
    """The end of the player's quiet hours, where the notice has to wait for it."""
    player = notice.player
    if notice.kind == Notice.TEST or player.quiet_from is None or player.quiet_until is None:
        return None
    end = hours.quiet_end(now, player.zone, player.quiet_from, player.quiet_until)
    game = notice.game
    urgent = (
        game is not None
        and game.deadline is not None
        and game.deadline <= end + AFTER_QUIET
        # The opponent's time is no reason to be woken.
        and game.seat(game.turn).player_id == player.pk
    )
    return None if end <= now or urgent else end


def _drop(claim: Claim, reason: str, now: datetime) -> None:
    with transaction.atomic():
        _take_back_mail(claim, now)
        claim.delivery.mark_dropped(reason)
        if reason == NO_LONGER_TRUE:
            Notice.objects.filter(pk=claim.notice.pk, withdrawn=None).update(withdrawn=now)


def _take_back_mail(claim: Claim, now: datetime) -> None:
    """What was written for an earlier try that failed."""
    if claim.mail is not None:
        # The player's row first, as wherever it is locked with notices.
        _give_turn_back(claim, now)
        Mail.objects.filter(pk=claim.mail.pk, sent=None).delete()
        claim.mail = None


# --- one until I come back ------------------------------------------------------------------


def _is_the_one(player: User, now: datetime) -> bool:
    """Whether a mail may say now that it is the player's turn, and then none until they come
    back; of two workers that ask at once, one hears yes."""
    back = Q(turn_mailed=None) | Q(turn_mailed__lte=F("last_navigation"))
    return bool(User.objects.filter(back, pk=player.pk).update(turn_mailed=now))


def _give_turn_back(claim: Claim, now: datetime) -> None:
    """The one mail did not go after all: another turn that was not mailed for it may."""
    if claim.notice.kind != Kind.TURN or claim.mail is None:
        return
    with transaction.atomic():
        one = User.objects.filter(pk=claim.notice.player_id, turn_mailed=claim.mail.created)
        if one.update(turn_mailed=None):
            Delivery.objects.filter(
                notice__player=claim.notice.player_id,
                notice__seen=None,
                notice__withdrawn=None,
                next_try=None,
                sent=None,
                failed=None,
                error=ONE_UNTIL_BACK,
            ).update(next_try=now)


# --- sending --------------------------------------------------------------------------------


def _try_all(claims: list[Claim], until: float) -> bool:
    """Try them as long as what is known of them holds, and give the rest back; False: no server."""
    until = min(until, time.monotonic() + LOOK_HOLDS)
    ready = _prepared(claims)
    refused: set[str] = set()
    for number, claim in enumerate(ready):
        if number and time.monotonic() >= until:
            _give_back(ready[number:])
            return True
        if claim.address in refused:
            # Perhaps that was one too many: looked at anew before it is tried again.
            _give_back([claim])
            continue
        if not _try(claim):
            _give_back(ready[number + 1 :])
            return False
        if claim.delivery.failed:
            refused.add(claim.address)
    return True


def _give_back(claims: list[Claim]) -> None:
    for claim in claims:
        claim.delivery.put_off(claim.due)


def _prepared(claims: list[Claim]) -> list[Claim]:
    """Those that are to go, their mails written; of the others each is dropped or put off."""
    now = timezone.now()
    ready = []
    for claim in claims:
        try:
            if _is_to_go(claim, now) and _is_drafted(claim, now):
                ready.append(claim)
        except Exception as error:
            _mark_failed(claim.delivery, error)
    fresh = [claim for claim in ready if claim.mail is not None and claim.mail.pk is None]
    written = mail.write_all([claim.mail for claim in fresh if claim.mail is not None])
    for claim, row in zip(fresh, written, strict=True):
        claim.mail = row
    return ready


def _is_to_go(claim: Claim, now: datetime) -> bool:
    if _is_unsettled(claim.notice, now):
        claim.delivery.put_off(now + SETTLED_WITHIN)
        return False
    if reason := _stale(claim, now):
        _drop(claim, reason, now)
        return False
    if later := _quiet_until(claim.notice, now):
        claim.delivery.put_off(later)
        return False
    return True


def _is_drafted(claim: Claim, now: datetime) -> bool:
    """Compose the mail, unless an earlier try has; False: dropped, it was not the one."""
    notice, player = claim.notice, claim.notice.player
    if claim.delivery.channel == Delivery.Channel.PUSH:
        return True
    if claim.mail is not None and claim.mail.recipient != mail.on_the_wire(claim.address):
        _take_back_mail(claim, now)
    if claim.mail is not None:
        return True
    token = claim.subscription.token if claim.subscription else ""
    draft = mail.draft(letter(notice, claim.address, token), key=_key(notice), now=now)
    if notice.kind == Kind.TURN and player.mail_mode == User.MailMode.UNTIL_BACK:
        with transaction.atomic():
            if not _is_the_one(player, now):
                claim.delivery.mark_dropped(ONE_UNTIL_BACK)
                return False
            [draft] = mail.write_all([draft])
    claim.mail = draft
    return True


def _try(claim: Claim) -> bool:
    """One try. Whatever goes wrong goes wrong for this delivery alone; False: no server."""
    delivery, reachable = claim.delivery, True
    try:
        _send(claim)
    except mail.Refused as refusal:
        delivery.mark_refused(timezone.now(), str(refusal))
    except mail.Delayed as delay:
        reachable = not isinstance(delay, mail.Unreachable)
        if not reachable:
            logger.warning("no mail server: %s", delay)
        delivery.mark_delayed(timezone.now(), str(delay), delay.wait)
    except Exception as error:
        _mark_failed(delivery, error)
    if delivery.failed:
        _give_turn_back(claim, timezone.now())
    return reachable


def _mark_failed(delivery: Delivery, error: Exception) -> None:
    logger.error("delivery %s failed", delivery.pk, exc_info=error)
    delivery.mark_delayed(timezone.now(), repr(error))


def _send(claim: Claim) -> None:
    if claim.mail is None:
        push.send(claim.delivery, claim.notice, now=timezone.now())
        claim.delivery.mark_sent(timezone.now())
        return
    bounced = claim.notice.player.bounces > 0
    mail.send(claim.mail, now=timezone.now(), bounced=bounced, then=claim.delivery.mark_sent)
