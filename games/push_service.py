"""Speaks to push services: encrypts, signs and posts. Needs the extra `push`; workers import it."""

from __future__ import annotations

import hashlib
import time
from datetime import datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlsplit

import urllib3
from django.conf import settings
from py_vapid import Vapid02
from pywebpush import WebPusher, WebPushException

from accounts import mail
from games.models import PushDevice

# Seconds to be connected, and again to be answered: a service that stalls holds others up.
PATIENCE = 5.0
# So many seconds it is left alone then, or its messages, one by one, would hold up all the rest.
LEFT_ALONE = 60.0
# RFC 8292: at most a day.
SIGNED_FOR = timedelta(hours=12)
LONGEST_ANSWER = 500
_CONTENT = {"Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream"}

_services = urllib3.PoolManager(num_pools=10)
_left_alone_until: dict[str, float] = {}


class Answer(NamedTuple):
    status: int
    text: str
    retry_after: str


def post(
    device: PushDevice, payload: bytes, *, ttl: timedelta, urgency: str, topic: str, now: datetime
) -> Answer:
    """What the device's service says to the message; raises mail.Refused or mail.Delayed."""
    host = urlsplit(device.endpoint).netloc
    if time.monotonic() < _left_alone_until.get(host, 0):
        raise mail.Delayed(f"{host} did not answer lately")
    asked = {"TTL": str(int(ttl.total_seconds())), "Urgency": urgency}
    headers = {**_signature(device.endpoint, now), **asked, "Topic": _secret(topic, device)}
    try:
        # No retry, and no redirect followed: it could lead anywhere.
        answer = _services.request(
            "POST",
            device.endpoint,
            body=_encrypted(payload, device),
            headers=_CONTENT | headers,
            timeout=PATIENCE,
            retries=False,
            preload_content=False,
        )
        text = answer.read(LONGEST_ANSWER).decode("utf-8", "replace")
        answer.close()
    except urllib3.exceptions.TimeoutError as error:
        _left_alone_until[host] = time.monotonic() + LEFT_ALONE
        raise mail.Delayed(f"{host} does not answer") from error
    except urllib3.exceptions.HTTPError as error:
        raise mail.Delayed(f"{type(error).__name__}: {error}") from error
    return Answer(answer.status, text, answer.headers.get("Retry-After", ""))


def _signature(endpoint: str, now: datetime) -> dict[str, str]:
    vapid = Vapid02.from_raw(settings.VAPID_PRIVATE_KEY.encode())
    # The contact was checked when the site started; not every good one passes this check.
    vapid.conf["no-strict"] = True
    service = urlsplit(endpoint)
    claims = {
        "aud": f"{service.scheme}://{service.netloc}",
        "exp": int((now + SIGNED_FOR).timestamp()),
        "sub": settings.VAPID_CONTACT,
    }
    return dict(vapid.sign(claims))


def _encrypted(payload: bytes, device: PushDevice) -> bytes:
    keys = {"p256dh": device.p256dh, "auth": device.auth}
    try:
        pusher = WebPusher({"endpoint": device.endpoint, "keys": keys})
        return bytes(pusher.encode(payload)["body"])
    except (ValueError, WebPushException) as error:
        raise mail.Refused(f"the browser's keys are none: {error}") from error


def _secret(topic: str, device: PushDevice) -> str:
    """The topic as the service sees it: the same for the same game, and telling nothing of it."""
    return hashlib.sha256(f"{topic} {device.auth}".encode()).hexdigest()[:32]
