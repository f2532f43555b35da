"""The secret addresses of feeds: offered, taken, renewed, removed, and found by their hash."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from django.core import signing
from django.db import transaction

from accounts.links import link
from accounts.models import User
from games.models import Feed

# How long an offer on an open page can be taken.
OFFERED_FOR = timedelta(days=1)
PATHS = {Feed.Form.ATOM: "feed_turns", Feed.Form.ICAL: "feed_deadlines"}


class NotOffered(Exception):
    """This address was offered to nobody, too long ago, or before the one that is in use."""


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def find(form: Feed.Form, token: str) -> Feed | None:
    rows = Feed.objects.select_related("player").filter(player__is_active=True)
    return rows.filter(form=form, token_hash=_hash(token)).first()


def offer(player: User, form: Feed.Form, current: Feed | None) -> str:
    """A new address, signed, for a form to send back: so a form that is sent twice makes one
    address, and its page shows that address again, although we keep none.

    It says which one it is to replace: a form from before must not bring an old one back.
    """
    replaces = current.token_hash if current else ""
    said = [player.pk, form.value, secrets.token_urlsafe(32), replaces]
    return signing.dumps(said, salt="games.feed")


def take(player: User, offered: str, *, now: datetime) -> tuple[Feed.Form, str]:
    """Put the address that was offered to this player into use; the form of the feed, the address.

    Raises NotOffered.
    """
    try:
        pk, form, token, replaces = signing.loads(offered, salt="games.feed", max_age=OFFERED_FOR)
    except signing.BadSignature:
        raise NotOffered from None
    if pk != player.pk:
        raise NotOffered
    with transaction.atomic():
        # The player's row first, so that two at once are one after the other.
        User.objects.select_for_update(no_key=True).get(pk=player.pk)
        row = Feed.objects.filter(player=player, form=form).first()
        current = row.token_hash if row else ""
        if current != _hash(token):
            if current != replaces:
                raise NotOffered
            Feed.objects.update_or_create(
                player=player, form=form, defaults={"token_hash": _hash(token), "created": now}
            )
    return Feed.Form(form), link(PATHS[Feed.Form(form)], token)


def remove(player: User, form: Feed.Form) -> None:
    Feed.objects.filter(player=player, form=form).delete()
