"""The keys by which push services know this site (RFC 8292). Needs the extra `push`."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

LENGTH = 32


def make() -> str:
    """A new private key, as VAPID_PRIVATE_KEY takes it."""
    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return _text(number.to_bytes(LENGTH))


def public_key(private: str) -> str:
    """The public key as browsers take it; raises ValueError on a text that is no private one."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{43}", private):
        raise ValueError("43 letters, digits, - and _ are expected")
    number = int.from_bytes(urlsafe_b64decode(private + "="))
    key = ec.derive_private_key(number, ec.SECP256R1()).public_key()
    return _text(key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))


def _text(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")
