"""Web push: which browsers are told, and one notice on its way to one of them."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from importlib import import_module

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Coalesce
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from accounts import mail
from accounts.models import User
from games.letters import said
from games.models import Delivery, Kind, Notice, PushDevice
from onitama_site.environment import is_loopback

# Product rule: the browser least used goes when one too many comes.
MOST_DEVICES = 10
# A message that reached nobody for so long is worth nothing; the page says how it stands.
KEPT_AT_MOST, KEPT_AT_LEAST = timedelta(days=1), timedelta(minutes=1)
# Push services take 4,096 bytes; a notification shows two or three lines.
LONGEST_BODY = 300
# One way to read an address, whoever reads it: no user, no blank, no backslash, no fragment.
_ENDPOINT = re.compile(r"(https?)://([a-z0-9.-]+)(:[0-9]{1,5})?/[!\"$-\[\]-~]*")
_URGENCY: dict[str, str] = {
    Kind.REMINDER: "high",
    Kind.AWAY: "high",
    Kind.DIGEST: "low",
    Kind.OUTAGE: "low",
}


class Gone(mail.Refused):
    """The browser has ended its subscription, and its row is removed."""


class HostRefused(ValueError):
    """An address that is no push service's."""


def configured() -> bool:
    return bool(settings.VAPID_PRIVATE_KEY)


def public_key() -> str:
    """By which a browser's push service will know us, as the browser takes it."""
    return str(settings.VAPID_PUBLIC_KEY)


# --- devices ----------------------------------------------------------------------------------


def allowed(endpoint: str) -> bool:
    """Whether we post there. To the hosts of PUSH_HOSTS alone, and by https: who may name any
    address could make us post into our own network. Loopback, where listed, does without."""
    parts = _ENDPOINT.fullmatch(endpoint)
    if parts is None:
        return False
    scheme, host, port = parts[1], parts[2], parts[3] or ""
    if scheme == "http" and not is_loopback(host):
        return False
    place = host + ("" if (scheme, port) == ("https", ":443") else port)
    return any(fnmatchcase(place, listed) for listed in settings.PUSH_HOSTS)


def add(
    player: User, endpoint: str, *, p256dh: str, auth: str, name: str, now: datetime
) -> PushDevice:
    """The browser tells this player from now on, and no other; raises HostRefused."""
    if not allowed(endpoint):
        raise HostRefused(endpoint)
    with transaction.atomic():
        # Not changed but removed: what another was to be told through it goes too.
        PushDevice.objects.filter(endpoint=endpoint).exclude(player=player).delete()
        known = {"player": player, "p256dh": p256dh, "auth": auth, "name": name}
        device, _made = PushDevice.objects.update_or_create(
            endpoint=endpoint, defaults=known, create_defaults={**known, "created": now}
        )
        used = player.push_devices.order_by(Coalesce("last_used", "created").desc(), "-pk")
        kept = [device.pk, *used.exclude(pk=device.pk).values_list("pk", flat=True)]
        player.push_devices.exclude(pk__in=kept[:MOST_DEVICES]).delete()
    return device


def device_name(user_agent: str) -> str:
    """`Firefox on Linux`: what its player will know the browser by."""
    browser = next((name for sign, name in _BROWSERS if sign in user_agent), _("A browser"))
    system = next((name for sign, name in _SYSTEMS if sign in user_agent), "")
    if not system:
        return browser
    return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}


# Most browsers also claim to be those below them.
_BROWSERS = (
    *(("Edg", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet")),
    *(("Vivaldi/", "Vivaldi"), ("YaBrowser/", "Yandex"), ("FxiOS/", "Firefox")),
    *(("Firefox/", "Firefox"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari")),
)
_SYSTEMS = (
    *(("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("CrOS", "ChromeOS")),
    *(("Windows", "Windows"), ("Mac OS", "Mac"), ("Linux", "Linux")),
)


# --- sending ----------------------------------------------------------------------------------


def send(delivery: Delivery, notice: Notice, *, now: datetime) -> None:
    """Hand the notice to the push service of the delivery's device.

    Raises Gone, mail.Refused or mail.Delayed; never that nothing can be reached, for one push
    service that is down says nothing of the others.
    """
    device = PushDevice.objects.filter(deliveries=delivery.pk).first()
    if device is None:
        raise Gone("the device was removed")
    if not configured() or not allowed(device.endpoint):
        raise mail.Refused("push to there is switched off")
    # By name: what it needs is an extra, and takes the web processes' time and memory.
    service = import_module("games.push_service")
    status, text, retry_after = service.post(
        device,
        _payload(notice),
        ttl=_worth(notice, now),
        urgency=_URGENCY.get(notice.kind, "normal"),
        topic=_tag(notice),
        now=now,
    )
    _judge(device, status, f"{status} {text}", _wait(retry_after, now))
    PushDevice.objects.filter(pk=device.pk).update(last_used=now)


def _judge(device: PushDevice, status: int, answer: str, wait: timedelta) -> None:
    """By RFC 8030: taken, the subscription is at its end, later, or never."""
    if 200 <= status <= 299:
        return
    if status in {404, 410}:
        device.delete()
        raise Gone(answer)
    if status == 429 or status >= 500:
        raise mail.Delayed(answer, wait)
    raise mail.Refused(answer)


def _wait(retry_after: str, now: datetime) -> timedelta:
    """What a header Retry-After asks for: seconds or a date; none when it makes no sense."""
    try:
        wait = (
            timedelta(seconds=int(retry_after))
            if retry_after.isdecimal()
            else parsedate_to_datetime(retry_after) - now
        )
    except (ValueError, TypeError, OverflowError):
        return timedelta()
    return min(max(wait, timedelta()), KEPT_AT_MOST)


def _payload(notice: Notice) -> bytes:
    """What the service worker shows and opens. No address, no token: many eyes see a screen."""
    player = notice.player
    with translation.override(player.spoken_language), timezone.override(player.zone):
        shown = {"title": _title(notice), "body": _body(notice)}
    message = {**shown, "url": notice.path, "tag": _tag(notice)}
    return json.dumps(message, ensure_ascii=False).encode()


def _title(notice: Notice) -> str:
    seat = notice.game and notice.game.seat_of(notice.player_id)
    if seat:
        return _("Your game with %(name)s") % {"name": seat.opponent.shown_name}
    if notice.challenge:
        return _("A challenge")
    return _("Your games")


def _body(notice: Notice) -> str:
    if notice.kind == Notice.TEST:
        return _("This is a test. What happens in your games will be told here.")
    first = " ".join(said(notice).partition("\n\n")[0].split())
    return first if len(first) <= LONGEST_BODY else first[: LONGEST_BODY - 1] + "…"


def _tag(notice: Notice) -> str:
    """One a game: of its notices the newest is shown, and it alone waits at the service."""
    if notice.game_id:
        return f"game-{notice.game_id}"
    return f"challenge-{notice.challenge_id}" if notice.challenge_id else str(notice.kind)


def _worth(notice: Notice, now: datetime) -> timedelta:
    """How long the service shall keep the message for a browser that is off."""
    deadline = notice.game.deadline if notice.game and notice.ply else None
    left = deadline - now if deadline else KEPT_AT_MOST
    return min(max(left, KEPT_AT_LEAST), KEPT_AT_MOST)
