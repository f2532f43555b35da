"""Reads the environment for settings.py and stops the start-up, in one line, on nonsense."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import re
import secrets
from email.utils import parseaddr
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str = "") -> str:
    """The variable without surrounding blanks; an empty one counts as unset."""
    return os.environ.get(name, "").strip() or default


def words(name: str) -> list[str]:
    """A list separated by commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()]


def flag(name: str, default: str = "0") -> bool:
    """`1` or `0`; raises ImproperlyConfigured on anything else."""
    value = text(name, default)
    if value not in {"0", "1"}:
        raise ImproperlyConfigured(f"{name} must be 0 or 1, not {value!r}.")
    return value == "1"


def number(name: str, default: float, *, least: float, most: float) -> float:
    """A number in [least, most]; raises ImproperlyConfigured on anything else."""
    value = text(name, str(default))
    try:
        result = float(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not {value!r}.") from None
    if not least <= result <= most:
        raise ImproperlyConfigured(f"{name} must lie between {least:g} and {most:g}, not {value}.")
    return result


def origin(name: str, default: str) -> str:
    """A scheme and host without a path, as links need it; raises ImproperlyConfigured."""
    value = text(name, default).rstrip("/")
    try:
        parts = urlsplit(value)
        well_formed = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        well_formed = False
    if not well_formed or parts.scheme not in {"http", "https"} or parts.path or parts.query:
        raise ImproperlyConfigured(f"{name} must look like https://example.org, not {value!r}.")
    return value


def hosts(name: str) -> list[str]:
    """Bare host names separated by commas; raises ImproperlyConfigured."""
    names = words(name)
    for host in names:
        if not re.fullmatch(r"\*|\.?[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]", host):
            raise ImproperlyConfigured(f"{name} must list hosts like example.org, not {host!r}.")
    return names


def sender(name: str, default: str) -> str:
    """Who mails are from, perhaps with a name before the address; raises ImproperlyConfigured."""
    given = text(name)
    if given and not re.fullmatch(r"[^@\s]+@[^@\s]+", parseaddr(given)[1]):
        raise ImproperlyConfigured(f"{name} must look like Me <me@example.org>, not {given!r}.")
    return given or default


def broker(name: str, default: str) -> str:
    """The address of Redis or Valkey; raises ImproperlyConfigured."""
    value = text(name, default)
    if not re.match(r"(rediss?|redis\+socket)://.", value):
        # Not the value: it holds a password.
        raise ImproperlyConfigured(f"{name} must begin with redis:// or rediss://.")
    return value


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host; `host` is as in ALLOWED_HOSTS."""
    bare = host.strip("[]")
    if bare == "localhost":
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


_PUSH_HOST = re.compile(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]{1,5})?|localhost(:[0-9]{1,5})?")

PUSH_IS_MISSING = "pywebpush is missing: pip install --require-hashes -r requirements-push.txt"


def push_is_missing() -> bool:
    return any(find_spec(name) is None for name in ("cryptography", "pywebpush"))


def push_keys(name: str) -> tuple[str, str]:
    """The private key of web push and the public one that belongs to it; empty: no push."""
    private = text(name)
    if not private:
        return "", ""
    if push_is_missing():
        raise ImproperlyConfigured(f"{name} is set, but {PUSH_IS_MISSING}")
    try:
        # By name: what it needs is an extra, which other sites need not install.
        return private, import_module("onitama_site.vapid").public_key(private)
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name} is no key ({error}): make one by manage.py make_push_keys."
        ) from None


def push_contact(name: str, default: str) -> str:
    """Where push services reach whoever runs the site (RFC 8292); raises ImproperlyConfigured."""
    value = text(name, default)
    if not re.fullmatch(r"mailto:[!-~]+@[!-~]+|https://[!-~]+", value):
        raise ImproperlyConfigured(
            f"{name} must look like mailto:me@example.org or https://example.org, not {value!r}."
        )
    return value


def push_hosts(name: str) -> list[str]:
    """Hosts, each with its port where it is not that of https; `*.` before one for all below."""
    hosts = [word.lower() for word in words(name)]
    for host in hosts:
        if not _PUSH_HOST.fullmatch(host):
            raise ImproperlyConfigured(
                f"{name} must list hosts like push.example.org, *.example.org or"
                f" push.example.org:8443, not {host!r}."
            )
    return hosts


def data_directory(base: Path) -> Path:
    """The directory of all state, readable by its owner alone; made when missing."""
    path = Path(text("ONITAMA_DATA") or base / "var").resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(f"ONITAMA_DATA: cannot make {path}: {error.strerror}.") from None
    return path


def secret_key(data: Path) -> str:
    """SECRET_KEY, or the one in the data directory, made at the first start.

    The lock lets several processes start at once and agree on one key.
    """
    given = text("SECRET_KEY")
    if given:
        return given
    descriptor = os.open(data / "secret_key", os.O_RDWR | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        key = file.read().strip()
        if not key:
            key = secrets.token_urlsafe(50)
            file.write(key)
    return key
