"""Mails on the wire, as a real server got them, against the rules of RFC 5322 and its kin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, timedelta
from email import message_from_bytes, policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from itertools import count

import pytest
from django.test import override_settings
from django.utils import timezone

from accounts import mail
from accounts.models import User
from games import letters
from games.models import Notice
from tests.every_notice import NOTICES
from tests.servers import PostOffice

pytestmark = pytest.mark.django_db

SITE = "https://onitama.example"
TOKEN = "dGhpcyBpcyBhIHRva2VuIG9mIDMyIGJ5dGVzLCByZWFs"
# RFC 5322, 3.2.3 and 3.6.4: dot-atom-text "@" dot-atom-text, within angles.
ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
DOT_ATOM = rf"{ATOM}(?:\.{ATOM})*"
MESSAGE_ID = re.compile(rf"<{DOT_ATOM}@{DOT_ATOM}>")
# RFC 2919, 2: a phrase, then label "." namespace within angles.
LIST_ID = re.compile(rf"{ATOM}(?: {ATOM})* <{DOT_ATOM}\.{DOT_ATOM}>")
ONCE = {
    *("date", "from", "to", "subject", "message-id", "mime-version", "content-type"),
    *("auto-submitted",),
}


@pytest.fixture(autouse=True)
def _public_site(post_office: PostOffice) -> Iterator[None]:
    with override_settings(
        SITE_URL=SITE,
        HTTPS=True,
        DEFAULT_FROM_EMAIL="Onitama <onitama@onitama.example>",
        EMAIL_URL=post_office.url,
        EMAIL_HOST="127.0.0.1",
        EMAIL_PORT=post_office.port,
        EMAIL_HOST_USER="",
        EMAIL_HOST_PASSWORD="",
        EMAIL_USE_TLS=False,
        EMAIL_USE_SSL=False,
    ):
        yield


_keys = count()


def sent(notice: Notice, office: PostOffice) -> bytes:
    """The bytes that the server has of this letter."""
    message = letters.letter(notice, "bob@example.org", TOKEN)
    mail.send(mail.write(message, key=f"wire:{next(_keys)}", next_try=None), now=timezone.now())
    return office.wire[-1]


def parsed(wire: bytes) -> EmailMessage:
    message = message_from_bytes(wire, policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


@pytest.fixture(params=NOTICES)
def notice(request: pytest.FixtureRequest, alice: User, bob: User) -> Notice:
    return NOTICES[request.param](alice, bob)


@pytest.fixture
def wire(notice: Notice, post_office: PostOffice) -> bytes:
    return sent(notice, post_office)


def about(message: EmailMessage) -> None:
    """What every one of them keeps."""
    names = [name.lower() for name in message]
    assert len(names) == len(set(names)), "a header stands there twice"
    assert set(names) >= ONCE
    assert not message.defects
    assert all(not part.defects for part in message.walk())
    for name, value in message.items():
        assert not getattr(value, "defects", ()), (name, value.defects)


def test_lines_and_letters_fit_every_wire(wire: bytes) -> None:
    """RFC 5322, 2.1.1 and 2.3: seven bits, CR and LF in pairs alone, 998 letters at most, 78 where
    that can be: here but in a header that is one long address."""
    assert max(wire) < 128
    assert b"\0" not in wire
    lines = wire.split(b"\r\n")
    assert not any(b"\r" in line or b"\n" in line for line in lines)
    assert max(map(len, lines)) <= 998
    head = lines[: lines.index(b"")]
    for line in lines:
        assert len(line) <= 78 or (line in head and b" " not in line.strip()), line
    # A fold leaves no line that is empty but for spaces (RFC 5322, 2.2.3).
    assert all(line.strip() for line in head)


def test_headers_are_whole_and_stand_once(wire: bytes) -> None:
    message = parsed(wire)
    about(message)
    sender = message["From"].addresses
    assert sender == (Address("Onitama", "onitama", "onitama.example"),)
    assert message["To"].addresses == (Address("", "bob", "example.org"),)
    assert message["Date"].endswith(" -0000")
    when = parsedate_to_datetime(message["Date"]).replace(tzinfo=UTC)
    assert abs(timezone.now() - when) < timedelta(minutes=1)
    assert message["MIME-Version"] == "1.0"
    assert message["Subject"].startswith("Onitama: ")
    head = wire.partition(b"\r\n\r\n")[0].decode("ascii")
    assert all(re.match(r"[!-9;-~]+: ?|[ \t]+\S", line) for line in head.split("\r\n"))


def test_ids_are_ids_and_threads_have_one_root(
    wire: bytes, notice: Notice, post_office: PostOffice
) -> None:
    """RFC 5322, 3.6.4; the root is no mail's own, and the same for all mails of a game."""
    message = parsed(wire)
    again = parsed(sent(notice, post_office))
    assert MESSAGE_ID.fullmatch(message["Message-ID"])
    assert message["Message-ID"] != again["Message-ID"]
    assert message["Subject"] == again["Subject"]
    root = None
    if notice.game is not None:
        root = f"<game-{notice.game.pk}@onitama.example>"
    elif notice.challenge is not None:
        root = f"<challenge-{notice.challenge.pk}@onitama.example>"
    assert message["References"] == message["In-Reply-To"] == again["References"] == root
    assert root is None or MESSAGE_ID.fullmatch(root)


def test_it_says_that_no_person_sent_it(wire: bytes) -> None:
    """RFC 3834, 5: so that nobody's holiday answers it."""
    assert parsed(wire)["Auto-Submitted"] == "auto-generated"


def test_it_can_be_ended_by_one_click(wire: bytes, notice: Notice) -> None:
    """RFC 8058, 3.1 and RFC 2369, 2: one https address between angles, and the exact words.

    A test is no mail of a list: the player asked for this very one.
    """
    message = parsed(wire)
    if notice.kind == Notice.TEST:
        assert not [name for name in message if name.lower().startswith("list-")]
        return
    # The header's value without the folds is the address alone.
    value = str(message["List-Unsubscribe"]).strip()
    assert value == f"<{SITE}/unsubscribe/{TOKEN}/>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert value.strip("<>") in text(message)
    assert value.strip("<>") in str(body(message, "html"))


def test_it_names_its_list(wire: bytes, notice: Notice) -> None:
    """RFC 2919, 2 and 3."""
    value = parsed(wire)["List-Id"]
    if notice.kind == Notice.TEST:
        assert value is None
        return
    assert value == "Onitama games <games.onitama.example>"
    assert LIST_ID.fullmatch(value)
    assert len(value) <= 255


def test_without_https_no_click_is_promised(
    alice: User, bob: User, post_office: PostOffice
) -> None:
    with override_settings(SITE_URL="http://127.0.0.1:8000", HTTPS=False):
        message = parsed(sent(NOTICES["turn"](alice, bob), post_office))
    about(message)
    assert message["List-Unsubscribe-Post"] is None
    assert LIST_ID.fullmatch(message["List-Id"])
    assert MESSAGE_ID.fullmatch(message["References"])


@pytest.mark.parametrize("name", ["turn", "challenged"])
def test_ids_stay_ids_where_the_site_has_no_name(
    alice: User, bob: User, post_office: PostOffice, name: str
) -> None:
    """No IPv6 address is the right side of an id (RFC 5322, 3.6.4), nor of a list's (RFC 2919)."""
    with override_settings(SITE_URL="http://[::1]:8000", HTTPS=False):
        message = parsed(sent(NOTICES[name](alice, bob), post_office))
    about(message)
    assert LIST_ID.fullmatch(message["List-Id"])
    assert MESSAGE_ID.fullmatch(message["Message-ID"])
    assert MESSAGE_ID.fullmatch(message["References"])
    assert "http://[::1]:8000/unsubscribe/" in text(message)


# --- the two parts --------------------------------------------------------------------------


def body(message: EmailMessage, subtype: str) -> str:
    part = message.get_body((subtype,))
    assert isinstance(part, EmailMessage)
    return str(part.get_content())


def text(message: EmailMessage) -> str:
    return body(message, "plain")


def test_text_comes_first_then_the_same_in_html(wire: bytes) -> None:
    """RFC 2046, 5.1.4: the plainest first, the richest last; both in seven bits."""
    message = parsed(wire)
    assert message.get_content_type() == "multipart/alternative"
    parts = list(message.iter_parts())
    assert [part.get_content_type() for part in parts] == ["text/plain", "text/html"]
    for part in parts:
        assert part.get_content_charset() == "utf-8"
        assert part["Content-Transfer-Encoding"] in {"quoted-printable", "7bit"}
        assert part["Content-Disposition"] is None
        assert len([name.lower() for name in part]) == len({name.lower() for name in part})


def test_no_line_of_text_is_long_but_an_address(wire: bytes) -> None:
    for line in text(parsed(wire)).splitlines():
        assert len(line) <= 78 or (line.startswith("http") and " " not in line)
        assert line == line.rstrip()


def test_what_is_not_ascii_goes_as_encoded_words(
    alice: User, bob: User, post_office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 2047, 2: 75 letters a word, 76 a line; a language whose subjects have accents."""
    subject = "Onitama : votre défi à l’adversaire " + "très éloigné " * 8
    monkeypatch.setattr(letters, "_subject", lambda notice, context: subject.strip())
    wire = sent(NOTICES["turn"](alice, bob), post_office)
    assert max(wire) < 128
    lines = [line for line in wire.split(b"\r\n") if b"=?utf-8?" in line]
    assert len(lines) > 1
    assert max(map(len, lines)) <= 76
    assert max(len(word) for line in lines for word in re.findall(rb"=\?\S+\?=", line)) <= 75
    message = parsed(wire)
    about(message)
    assert message["Subject"] == subject.strip()
