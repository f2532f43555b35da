"""What players are to be told: written with the event, withdrawn when it is no longer so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from accounts.models import User
from games import away, push
from games.models import Challenge, Delivery, Game, Kind, Notice, PushDevice, Subscription

# Product rules: how long a turn waits before it is mailed to somebody who may be looking.
WAIT_AGAINST_COMPUTER = timedelta(minutes=10)
WAIT_WHILE_HERE = timedelta(minutes=2)
COUNTS_AS_HERE = timedelta(minutes=5)
BETWEEN_TESTS = timedelta(minutes=1)
REMOVED_AFTER = timedelta(days=90)

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
    """Write a notice, its mail for people, its pushes; the computer is told nothing.

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
    if push.configured():
        _write_pushes(notice)


def _write_pushes(notice: Notice) -> None:
    Delivery.objects.bulk_create(
        Delivery(
            notice=notice,
            channel=Delivery.Channel.PUSH,
            device=device,
            created=notice.created,
            next_try=notice.not_before,
        )
        for device in PushDevice.objects.filter(player=notice.player_id)
    )


def tell_once(
    player: User,
    kind: Kind,
    key: str,
    *,
    now: datetime,
    game: Game | None = None,
    challenge: Challenge | None = None,
    ply: int | None = None,
) -> None:
    """As tell(), for what comes up more than once and is told the first time."""
    if not was_told(player, key):
        tell(player, kind, key, now=now, game=game, challenge=challenge, ply=ply)


def was_told(player: User, key: str) -> bool:
    return Notice.objects.filter(player=player, key=key).exists()


def patience(player: User, opponent: User, now: datetime) -> timedelta:
    """How long a notice of a game waits, in case its reader is looking anyway."""
    if opponent.is_engine:
        return WAIT_AGAINST_COMPUTER
    here = player.last_navigation
    return WAIT_WHILE_HERE if here and now - here < COUNTS_AS_HERE else timedelta()


def see(player: User, game: Game, *, now: datetime) -> None:
    """The player looked at the game, or did something in it: nothing so far need be told.

    Not where the game has moved on since it was read: of what that brought nothing was shown.
    Asked first, for most looks find nothing, and on SQLite even such an update stands in line.
    """
    waiting = _waiting(game).filter(player=player, game__version=game.version)
    if waiting.exists():
        waiting.update(seen=now)


def see_challenge(player: User, challenge: Challenge, *, now: datetime) -> None:
    """As see(): not an answer that came since the challenge was read."""
    about = Notice.objects.filter(challenge=challenge, challenge__status=challenge.status)
    about.filter(player=player, seen__isnull=True, withdrawn__isnull=True).update(seen=now)


def withdraw(game: Game, kinds: Iterable[Kind], *, now: datetime) -> None:
    """What these notices say of the game is no longer so."""
    _waiting(game).filter(kind__in=kinds).update(withdrawn=now)


def withdraw_digests(player: User, *, now: datetime) -> None:
    """A new one says all that an older one said."""
    _unread_digests(player).update(withdrawn=now)


def _unread_digests(player: User) -> QuerySet[Notice]:
    digests = Notice.objects.filter(player=player, kind=Kind.DIGEST)
    return digests.filter(seen__isnull=True, withdrawn__isnull=True)


def _waiting(game: Game) -> QuerySet[Notice]:
    return Notice.objects.filter(game=game, seen__isnull=True, withdrawn__isnull=True)


# --- what the bell shows --------------------------------------------------------------------


def unread(player: User) -> QuerySet[Notice]:
    """What the bell counts and lists, the newest first; not what waits on a channel of its own."""
    return _shown(player).filter(seen__isnull=True, withdrawn__isnull=True).order_by("-pk")


def seen_lately(player: User, *, since: datetime) -> QuerySet[Notice]:
    return _shown(player).filter(seen__gte=since, withdrawn__isnull=True).order_by("-seen", "-pk")


def _shown(player: User) -> QuerySet[Notice]:
    silent = Subscription.objects.filter(player=player, site=False)
    told = Notice.objects.filter(player=player).exclude(kind=Notice.TEST)
    return told.exclude(kind__in=silent.values("kind"))


def take_back(untrue: Iterable[Notice], *, now: datetime) -> None:
    """Withdraw what is no longer so although no deed has said it."""
    keys = [notice.pk for notice in untrue]
    if keys:
        Notice.objects.filter(pk__in=keys, withdrawn__isnull=True).update(withdrawn=now)


def see_all(player: User, newest: int, *, now: datetime) -> None:
    """Up to the newest that the player's page listed: what came after it nobody has seen."""
    unread(player).filter(pk__lte=newest).update(seen=now)


def see_told(listed: Iterable[Notice], *, now: datetime) -> None:
    """The player read the bell's page: what leads to no game or challenge is told by that."""
    told = [it.pk for it in listed if it.game_id is None and it.challenge_id is None]
    if told:
        Notice.objects.filter(pk__in=told, seen=None).update(seen=now)


def see_digests(player: User, *, now: datetime) -> None:
    """The player looked at what a digest lists."""
    digests = _unread_digests(player)
    if player.digest_hour is not None and digests.exists():
        digests.update(seen=now)


# --- what a player wants to be told, and how ------------------------------------------------


def channels(player: User) -> dict[str, tuple[bool, bool, bool]]:
    """For each kind whether the player wants it on site, by mail, by push: at first, all."""
    said = {row.kind: (row.site, row.mail, row.push) for row in player.subscriptions.all()}
    return {kind: said.get(kind, (True, True, True)) for kind in Kind.values}


def set_channels(player: User, wanted: Ways) -> None:
    """As channels() gives it; kinds that are not named stay as they are."""
    before = channels(player)
    for kind, ways in wanted.items():
        if before[kind] != ways:
            said = dict(zip(("site", "mail", "push"), ways, strict=True))
            Subscription.objects.update_or_create(player=player, kind=kind, defaults=said)


def look_again(player: User, *, now: datetime) -> None:
    """What waits for the end of quiet hours is due, for these have changed; it may wait again."""
    waiting = Delivery.objects.filter(notice__player=player, notice__not_before__lte=now)
    waiting.filter(tries=0, next_try__gt=now).update(next_try=now)


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
            _write_pushes(notice)


def remove_old(now: datetime) -> None:
    """Remove what was seen or withdrawn, with its deliveries, once nobody asks for it any more."""
    old = Notice.objects.filter(created__lte=now - REMOVED_AFTER)
    done = old.exclude(seen__isnull=True, withdrawn__isnull=True).values_list("pk", flat=True)
    while some := list(done[:1000]):
        Notice.objects.filter(pk__in=some).delete()


def last_mail(player: User) -> Delivery | None:
    """The last one that was sent to the player, or failed for good."""
    mails = Delivery.objects.filter(notice__player=player, channel=Delivery.Channel.MAIL)
    tried = mails.alias(at=Coalesce("sent", "failed")).filter(at__isnull=False)
    return tried.order_by("-at", "-pk").first()


def still_true(notice: Notice, now: datetime) -> bool:
    """Whether what the notice says is still so."""
    game, challenge = notice.game, notice.challenge
    if notice.kind in {Kind.TURN, Kind.REMINDER, Kind.AWAY}:
        return (
            game is not None
            and not game.is_over
            and away.covers(game, now)
            and notice.ply == game.plies + 1
        )
    if notice.kind == Kind.DRAW:
        return game is not None and bool(game.draw_offer)
    if challenge is not None and notice.key.endswith(":received"):
        return challenge.is_open(now)
    if challenge is not None and notice.key.endswith(":waits"):
        players = (challenge.challenger, challenge.challenged)
        return challenge.is_open(now) and any(away.is_absent(player) for player in players)
    return True
