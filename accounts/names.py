"""Names nobody may sign up with: they are, or look like, somebody the site vouches for."""

from __future__ import annotations

from django.core.exceptions import ValidationError
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
