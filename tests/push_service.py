"""A push service of the tests' own, and a browser that reads what came through it.

The reading follows RFC 8188, 8291 and 8292 line by line and shares no code with the sender.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pytest_django import Settings

from games import push_service
from onitama_site import vapid

CURVE = ec.SECP256R1()
# The site's own.
KEY = vapid.make()


def switch_on(settings: Settings, *hosts: str) -> None:
    """As the environment would, with these hosts beside two of the usual ones; none of them has
    been slow in an earlier test."""
    push_service._left_alone_until.clear()
    settings.VAPID_PRIVATE_KEY = KEY
    settings.VAPID_PUBLIC_KEY = vapid.public_key(KEY)
    settings.VAPID_CONTACT = "mailto:warden@onitama.example"
    settings.PUSH_HOSTS = ["fcm.googleapis.com", "*.push.apple.com", *hosts]


def text(value: bytes) -> str:
    """Base64url without padding."""
    return urlsafe_b64encode(value).decode().rstrip("=")


def raw(value: str) -> bytes:
    return urlsafe_b64decode(value + "=" * (-len(value) % 4))


def _serve(handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    # How often it looks whether it is to stop, for which each test waits.
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


class Post(NamedTuple):
    path: str
    headers: Mapping[str, str]
    body: bytes


class PushService:
    """Takes every post until it is told otherwise; answers per path go before the general one."""

    def __init__(self) -> None:
        self.status = 201
        self.statuses: dict[str, int] = {}
        self.headers: dict[str, str] = {}
        self.stalls = 0.0
        self.posts: list[Post] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            # One connection for many messages.
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.posts.append(Post(self.path, dict(self.headers.items()), body))
                time.sleep(service.stalls)
                self.send_response(service.statuses.get(self.path, service.status))
                for name, value in service.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = _serve(Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"

    def address(self, path: str = "/push/1") -> str:
        return f"http://{self.host}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Registry:
    """Where a chromium registers for push, in the place of Google's: it gives out tokens."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = registry.answer(self.path, body)
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = _serve(Handler)

    @property
    def flags(self) -> tuple[str, ...]:
        """What tells a chromium to come here."""
        address = f"127.0.0.1:{self._server.server_port}"
        return (
            f"--gcm-checkin-url=http://{address}/checkin",
            f"--gcm-registration-url=http://{address}/register",
            # Where messages would come from: nothing listens there.
            "--gcm-mcs-endpoint=https://127.0.0.1:9",
        )

    def answer(self, path: str, body: bytes) -> bytes:
        if path == "/checkin":
            # AndroidCheckinResponse: stats_ok, then android_id and security_token, two fixed64.
            return bytes([0x08, 1, 0x39, *[7] * 8, 0x41, *[9] * 8])
        if b"delete=true" in body:
            return b"deleted=yes"
        if b"X-subtype=wp:" not in body:
            return b"token=of-the-browsers-own"
        self.tokens.append(f"token-{len(self.tokens) + 1}")
        return f"token={self.tokens[-1]}".encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Browser:
    """One subscription: its keys, and what it makes of a message."""

    def __init__(self, endpoint: str, private: str = "", auth: str = "") -> None:
        self.endpoint = endpoint
        self._private = (
            ec.derive_private_key(int.from_bytes(raw(private)), CURVE)
            if private
            else ec.generate_private_key(CURVE)
        )
        self._auth = raw(auth) if auth else hashes_of(endpoint)[:16]
        self._public = self._private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )

    @property
    def subscription(self) -> dict[str, str]:
        """As the page sends it."""
        keys = {"p256dh": text(self._public), "auth": text(self._auth)}
        return {"endpoint": self.endpoint, **keys}

    def read(self, post: Post) -> dict[str, str]:
        message: dict[str, str] = json.loads(self.decrypt(post.body))
        return message

    def decrypt(self, body: bytes) -> bytes:
        """RFC 8291, section 3, over RFC 8188, section 2."""
        salt, size, length = body[:16], int.from_bytes(body[16:20]), body[20]
        sender, record = body[21 : 21 + length], body[21 + length :]
        assert len(record) <= size, "one record is all that a push message may have"
        shared = self._private.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(CURVE, sender)
        )
        info = b"WebPush: info\0" + self._public + sender
        secret = _expand(_extract(self._auth, shared), info, 32)
        mixed = _extract(salt, secret)
        key = _expand(mixed, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _expand(mixed, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, record, None).rstrip(b"\0")
        assert plain[-1] == 2, "the last record is marked as such"
        return plain[:-1]


def hashes_of(seed: str) -> bytes:
    digest = hashes.Hash(hashes.SHA256())
    digest.update(seed.encode())
    return digest.finalize()


def _extract(salt: bytes, secret: bytes) -> bytes:
    return hmac.digest(salt, secret, "sha256")


def _expand(secret: bytes, info: bytes, length: int) -> bytes:
    return hmac.digest(secret, info + b"\1", "sha256")[:length]


class Token(NamedTuple):
    """What a request is signed with: the public key, the header and the claims."""

    key: str
    header: dict[str, Any]
    claims: dict[str, Any]


def token(post: Post) -> Token:
    """The token of the Authorization header; its signature is verified (RFC 8292, 7515)."""
    scheme, _blank, rest = post.headers["Authorization"].partition(" ")
    assert scheme == "vapid"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    header, claims, signature = parts["t"].split(".")
    r, s = (int.from_bytes(half) for half in (raw(signature)[:32], raw(signature)[32:]))
    key = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, raw(parts["k"]))
    signed = f"{header}.{claims}".encode()
    key.verify(encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))
    return Token(parts["k"], json.loads(raw(header)), json.loads(raw(claims)))
