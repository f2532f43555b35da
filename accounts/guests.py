"""People who play before they have an account: a row and a session, nothing else."""

from __future__ import annotations

import secrets
from datetime import datetime

from allauth.core import ratelimit
from django.contrib.auth import login
from django.db import IntegrityError, transaction
from django.dispatch import Signal
from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.models import User

# Sent with `guest` and `person` inside the transaction of a log-in from a guest's session, so
# that what the guest began can move there.
guest_became = Signal()


class TooManyGuests(Exception):
    """This address has made as many guests as it may; the text says so to the reader."""

    def __init__(self) -> None:
        super().__init__(_("Too many new guests from where you are. Sign up, or come back later."))


def create_guest(request: HttpRequest, *, now: datetime) -> User:
    """A new guest, logged in; for a POST (allauth counts no GET). Raises TooManyGuests."""
    if not ratelimit.consume(request, action="new_guest"):
        raise TooManyGuests
    guest = _new_row(now)
    login(request, guest)
    return guest


def _new_row(now: datetime) -> User:
    while True:
        name = f"guest-{secrets.token_hex(4)}"
        try:
            with transaction.atomic():
                row: User = User.objects.create_user(
                    name, kind=User.Kind.GUEST, date_joined=now, last_navigation=now
                )
        except IntegrityError:
            if not User.objects.named(name).exists():
                raise
        else:
            return row


def become_person(guest: User, now: datetime) -> bool:
    """Keep the guest's row under the name, address and so on that are set on it; False: it is none.

    Two sign-ups from one session are one: the condition lets only the first through.
    """
    guest.kind, guest.date_joined = User.Kind.PERSON, now
    fields = ("username", "email", "password", "kind", "date_joined", "time_zone")
    changes = {field: getattr(guest, field) for field in fields}
    with transaction.atomic():
        return bool(User.objects.filter(pk=guest.pk, kind=User.Kind.GUEST).update(**changes))
