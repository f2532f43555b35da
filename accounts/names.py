"""Names nobody may sign up with, for they are, or look like, somebody the site vouches for; and
how the names of such players are shown."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

BELTS = ("white", "yellow", "orange", "green", "blue", "brown", "black", "grandmaster")
# Of old, which still finish their games.
LEVELS = ("random", "two-ply", "four-ply")
STAFF = (
    *("abuse", "admin", "administrator", "help", "helpdesk", "info", "mail", "mailbox", "mailer"),
    *("mailer-daemon", "mod", "moderator", "moderators", "noreply", "no-reply", "official"),
    *("onitama", "operator", "owner", "postmaster", "root", "security", "site", "staff"),
    *("superuser", "support", "sysadmin", "system", "team", "webmaster"),
)
NOBODY = (
    *("anonymous", "anybody", "bot", "closed-account", "computer", "deleted", "engine", "everyone"),
    *("me", "nobody", "none", "null", "player", "robot", "somebody", "undefined", "unknown"),
    *("user", "you"),
)


# By username, what players are called who do not choose their name; games fills it.
CALLED: dict[str, Promise] = {}


def shown(username: str) -> str:
    """The name as people read it: "White belt" for white-belt, a person's own as it is."""
    called = CALLED.get(username)
    return username if called is None else str(called)


def meant(name: str) -> str:
    """The username of whom a reader writes as they see it shown, or as it is."""
    written = name.strip().lower()
    return next((key for key, called in CALLED.items() if str(called).lower() == written), name)


def _plain(name: str) -> str:
    """What is left of a name for somebody who reads over it."""
    return name.lower().replace("-", "").replace("_", "")


RESERVED = frozenset(
    _plain(name) for name in (*BELTS, *(f"{belt}-belt" for belt in BELTS), *LEVELS, *STAFF, *NOBODY)
)


def refuse_reserved(name: str) -> None:
    plain = _plain(name)
    if plain in RESERVED or plain.startswith("guest"):
        raise ValidationError(_("This name is reserved."), code="reserved")
