"""Reads the environment for settings.py and stops the start-up, in one line, on nonsense."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str = "") -> str:
    """The variable without surrounding blanks; an empty one counts as unset."""
    return os.environ.get(name, "").strip() or default


def words(name: str) -> list[str]:
    """A list separated by commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()]


def flag(name: str) -> bool:
    """`1` or `0`; raises ImproperlyConfigured on anything else."""
    value = text(name, "0")
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


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host; `host` is as in ALLOWED_HOSTS."""
    bare = host.strip("[]")
    if bare == "localhost":
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


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
