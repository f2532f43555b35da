"""Requests whose head claims a charset, through the door that gunicorn uses."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from io import BytesIO, StringIO
from typing import Any
from urllib.parse import quote
from wsgiref.util import setup_testing_defaults

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from onitama_site.handler import Handler
from onitama_site.logs import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _keep_the_connection() -> Iterator[None]:
    """As Django's own test client does: a request would close what the test rolls back."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


CHARSETS = [
    *("charset=hex", "charset=zlib", "charset=rot13", "charset=undefined", "charset=idna"),
    *("charset=utf-7", "charset=unicode_escape", "charset=nosuch", "charset=utf-16"),
    *("charset*=nosuch''x", "charset*=idna''x", "charset*=unicode_escape''%5Cud800"),
]
LONE = quote("\\ud800+2AA-")
FORM = b'--x\r\nContent-Disposition: form-data; name="login"\r\n\r\n\\ud800+2AA-\r\n--x--\r\n'


def answer(content_type: str, **environ: Any) -> int:
    said: list[str] = []
    setup_testing_defaults(environ)
    environ |= {"HTTP_HOST": "127.0.0.1", "CONTENT_TYPE": content_type}

    def start(status: str, *_: object) -> Callable[[bytes], object]:
        said.append(status)
        return len

    body: Any = Handler()(environ, start)
    b"".join(body)
    body.close()
    return int(said[0].split()[0])


@pytest.mark.parametrize("charset", CHARSETS)
def test_it_reads_a_query_as_utf8(charset: str) -> None:
    query = f"opponent={LONE}"
    assert answer(f"text/plain; {charset}", PATH_INFO="/games/new/", QUERY_STRING=query) == 200


@pytest.mark.parametrize("charset", CHARSETS)
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_it_reads_a_form_as_utf8(kind: str, charset: str) -> None:
    multipart = kind.startswith("multipart")
    body = FORM if multipart else f"login={LONE}".encode()
    status = answer(
        f"{kind}; boundary=x; {charset}",
        REQUEST_METHOD="POST",
        PATH_INFO="/accounts/login/",
        CONTENT_LENGTH=str(len(body)),
        **{"wsgi.input": BytesIO(body)},
    )
    # It has no CSRF token; what matters is that it was read at all.
    assert status == 403


def test_it_reads_letters_beyond_ascii() -> None:
    sent = "opponent=" + quote("é")
    assert answer("text/plain; charset=latin-1", PATH_INFO="/games/new/", QUERY_STRING=sent) == 200


def test_nonsense_is_one_line_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    written = StringIO()
    [console] = [h for h in logging.getLogger().handlers if one_line in h.filters]
    monkeypatch.setattr(console, "stream", written)
    assert answer("", PATH_INFO="/games/new/", QUERY_STRING="opponent=%00") == 400
    assert "NUL" in written.getvalue()
    assert "Traceback" not in written.getvalue()
