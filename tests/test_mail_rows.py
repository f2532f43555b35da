"""Mails as rows: written once, sent from there through a real server, wiped when done with."""

from __future__ import annotations

import smtplib
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session
from celery import Celery
from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives, send_mail
from django.core.mail.message import BadHeaderError
from django.db import connection, transaction
from django.test import override_settings
from django.utils import timezone

from accounts import mail, nudge
from accounts.models import GIVE_UP_AFTER, RETRY_MINUTES, Mail
from accounts.tasks import clean_up, send_mails
from tests import mails
from tests.servers import Mood, PostOffice, free_port

pytestmark = pytest.mark.django_db


def write(to: str = "ada@example.org", *, key: str = "", **more: Any) -> Mail:
    """A row that is due."""
    message = EmailMultiAlternatives("Hello", "Good day, Añña.\n.\nFrom here.", to=[to], **more)
    message.attach_alternative("<p>Good day</p>", "text/html")
    return mail.write(message, key=key or f"test:{to}", next_try=timezone.now())


@contextmanager
def server(port: int, **more: Any) -> Iterator[None]:
    values = {
        "EMAIL_URL": f"smtp://127.0.0.1:{port}",
        "EMAIL_HOST": "127.0.0.1",
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": "",
        "EMAIL_HOST_PASSWORD": "",
        "EMAIL_USE_TLS": False,
        "EMAIL_USE_SSL": False,
        "EMAIL_TIMEOUT": 0.5,
        "MAILBOX": False,
    }
    with override_settings(**values | more):
        yield


@pytest.fixture
def office(post_office: PostOffice) -> Iterator[PostOffice]:
    with server(post_office.port):
        yield post_office


def fresh(row: Mail) -> Mail:
    return Mail.objects.get(pk=row.pk)


# --- writing --------------------------------------------------------------------------------


def test_django_s_own_way_writes_a_row() -> None:
    send_mail("Hello", "Good day", None, ["ada@example.org", "bob@example.org"])
    first, second = Mail.objects.order_by("pk")
    assert (first.recipient, second.recipient) == ("ada@example.org", "bob@example.org")
    assert first.key != second.key
    assert first.next_try is not None
    assert mails.text(mails.parsed(first)).strip() == "Good day"


@override_settings(SITE_URL="https://onitama.example")
def test_a_row_is_a_whole_message() -> None:
    row = write(from_email="Onitama <o@onitama.example>", headers={"X-One": "two"})
    message = mails.parsed(row)
    assert message["From"] == "Onitama <o@onitama.example>"
    assert (message["To"], message["Subject"], message["X-One"]) == (
        "ada@example.org",
        "Hello",
        "two",
    )
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].endswith("@onitama.example>")
    assert message["Date"]
    assert mails.text(message).splitlines() == ["Good day, Añña.", ".", "From here."]
    assert bytes(row.message).isascii()
    assert b"\n" not in bytes(row.message).replace(b"\r\n", b"")


def test_a_key_is_written_once() -> None:
    first = write(key="notice:1")
    again = write(key="notice:1")
    assert again == first
    assert bytes(again.message) == bytes(fresh(first).message)
    assert Mail.objects.count() == 1


def test_a_row_for_others_to_schedule_is_not_due(office: PostOffice) -> None:
    mail.write(EmailMessage("Hello", "", to=["ada@example.org"]), key="notice:1", next_try=None)
    send_mails()
    assert office.received == []


@pytest.mark.parametrize(
    "field",
    [
        {"subject": "Hello\nBcc: eve@example.org"},
        {"to": ["ada@example.org\nBcc: eve@example.org"]},
        {"from_email": "a@example.org\r\nBcc: eve@example.org"},
        {"headers": {"X-One": "two\nBcc: eve@example.org"}},
        {"headers": {"List-Id": "two\r\n\r\nbody"}},
    ],
)
def test_no_header_gets_in_through_another(field: dict[str, Any]) -> None:
    message = EmailMessage(**{"subject": "Hello", "to": ["ada@example.org"]} | field)
    with pytest.raises((BadHeaderError, ValueError)):
        mail.write(message, key="test", next_try=None)
    assert not Mail.objects.exists()


def test_a_rolled_back_event_has_no_mail() -> None:
    with pytest.raises(RuntimeError), transaction.atomic():
        send_mail("Hello", "Good day", None, ["ada@example.org"])
        raise RuntimeError
    assert not Mail.objects.exists()


# --- sending --------------------------------------------------------------------------------


def test_it_is_sent_as_written_and_wiped(office: PostOffice) -> None:
    row = write()
    written = mails.parsed(row)
    send_mails()
    [received] = office.to("ada@example.org")
    assert received["Message-ID"] == written["Message-ID"]
    body: Any = received.get_payload(0)
    assert body.get_payload(decode=True).decode().splitlines()[:3] == [
        "Good day, Añña.",
        ".",
        "From here.",
    ]
    row = fresh(row)
    assert row.sent is not None
    assert (row.next_try, row.error, bytes(row.message)) == (None, "", b"")


def test_it_is_sent_once(office: PostOffice) -> None:
    row = write()
    send_mails()
    send_mails()
    mail.send(fresh(row), now=timezone.now())
    assert len(office.received) == 1


def test_it_is_sent_by_one_of_two_workers(office: PostOffice) -> None:
    row = write()
    lease = timedelta(seconds=60)
    assert row.claim(timezone.now(), lease)
    assert not fresh(row).claim(timezone.now(), lease)
    send_mails()
    assert office.received == []


def test_a_worker_that_died_leaves_it_due(office: PostOffice) -> None:
    row = write()
    row.claim(timezone.now() - timedelta(seconds=61), timedelta(seconds=60))
    Mail.objects.filter(pk=row.pk).update(next_try=timezone.now())
    send_mails()
    assert len(office.received) == 1
    assert fresh(row).tries == 1


def test_a_late_worker_undoes_nothing(office: PostOffice) -> None:
    """Its lease ran out, another one sent the mail; its own trouble no longer counts."""
    row = write()
    late = fresh(row)
    send_mails()
    late.mark_delayed(timezone.now(), "timed out")
    late.mark_refused(timezone.now(), "550")
    row = fresh(row)
    assert (row.next_try, row.failed, row.error) == (None, None, "")


def test_many_mails_go_over_one_connection(
    office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[smtplib.SMTP] = []
    real = mail._connect

    def connect() -> smtplib.SMTP:
        opened.append(real())
        return opened[-1]

    monkeypatch.setattr(mail, "_connect", connect)
    for number in range(5):
        write(f"ada{number}@example.org")
    send_mails()
    assert len(office.received) == 5
    assert len(opened) == 1


class Tired(PostOffice):
    """Takes two mails over a connection, then ends it in its own way."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way
        self.taken: Counter[Session] = Counter()

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.way == "says so" and self.taken[session] >= 2:
            return "421 4.7.0 that was enough"
        envelope.mail_from = address
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        answer = await super().handle_DATA(server, session, envelope)
        self.taken[session] += 1
        if self.way == "hangs up" and self.taken[session] == 2:
            transport: Any = server.transport
            transport.write(b"250 OK\r\n")
            transport.close()
        return answer


@pytest.mark.parametrize("way", ["says so", "hangs up"])
def test_a_server_that_has_enough_delays_nothing(way: str) -> None:
    tired = Tired(way)
    tired.open()
    rows = [write(f"ada{number}@example.org") for number in range(7)]
    with server(tired.port):
        send_mails()
    tired.close()
    assert [message["To"] for message in tired.received] == [row.recipient for row in rows]
    assert {fresh(row).tries for row in rows} == {1}
    assert all(fresh(row).sent for row in rows)


def test_the_longest_due_goes_first(office: PostOffice) -> None:
    for number, minutes in enumerate((1, 3, 2)):
        row = write(f"ada{number}@example.org")
        due = timezone.now() - timedelta(minutes=minutes)
        Mail.objects.filter(pk=row.pk).update(next_try=due)
    send_mails()
    assert [message["To"] for message in office.received] == [
        f"ada{number}@example.org" for number in (1, 2, 0)
    ]


def test_a_run_ends_in_time(office: PostOffice) -> None:
    for number in range(3):
        write(f"ada{number}@example.org")
    mail.send_due(seconds=0)
    assert office.received == []


# --- what may go wrong ----------------------------------------------------------------------


def test_a_refused_recipient_is_final(office: PostOffice) -> None:
    office.moods["ada@example.org"] = Mood.REFUSE
    refused, other = write(), write("bob@example.org")
    send_mails()
    refused = fresh(refused)
    assert refused.failed is not None
    assert refused.error == "550 5.1.1 no such mailbox"
    assert (refused.next_try, bytes(refused.message)) == (None, b"")
    assert fresh(other).sent is not None
    with pytest.raises(mail.Refused):
        mail.send(refused, now=timezone.now())


@pytest.mark.parametrize("mood", [Mood.DEFER, Mood.DROP, Mood.STALL])
def test_other_trouble_delays_it_and_nothing_else(office: PostOffice, mood: Mood) -> None:
    office.moods["ada@example.org"] = mood
    delayed, other = write(), write("bob@example.org")
    before = timezone.now()
    send_mails()
    delayed = fresh(delayed)
    assert delayed.failed is None
    assert delayed.next_try is not None
    assert delayed.next_try >= before + timedelta(minutes=RETRY_MINUTES[0])
    assert delayed.error
    assert bytes(delayed.message)
    assert fresh(other).sent is not None
    office.moods.clear()
    Mail.objects.filter(pk=delayed.pk).update(next_try=timezone.now())
    send_mails()
    assert len(office.to("ada@example.org")) == 1


def test_it_is_tried_again_after_longer_and_longer(office: PostOffice) -> None:
    office.mood = Mood.DEFER
    row = write()
    waits = []
    for _ in range(6):
        Mail.objects.filter(pk=row.pk).update(next_try=timezone.now())
        before = timezone.now()
        send_mails()
        due = fresh(row).next_try
        assert due is not None
        waits.append(round((due - before).total_seconds() / 60))
    assert waits == [*RETRY_MINUTES, 60, 60]


def test_it_is_given_up_after_three_days(office: PostOffice) -> None:
    office.mood = Mood.DEFER
    row = write()
    Mail.objects.filter(pk=row.pk).update(created=timezone.now() - GIVE_UP_AFTER)
    send_mails()
    row = fresh(row)
    assert (row.error, row.next_try, bytes(row.message)) == ("expired", None, b"")
    assert row.failed is not None
    assert office.tries == []


def test_a_server_that_is_away_ends_the_run() -> None:
    """The others are not made to wait for it one by one, and keep their place."""
    first, second = write(), write("bob@example.org")
    with server(free_port()):
        send_mails()
    assert "ConnectionRefusedError" in fresh(first).error
    assert fresh(first).tries == 1
    second = fresh(second)
    assert second.tries == 0
    assert second.next_try is not None
    assert second.next_try <= timezone.now()


def test_a_server_that_is_back_gets_everything(office: PostOffice) -> None:
    office.close()
    rows = [write(f"ada{number}@example.org") for number in range(3)]
    for _ in range(4):
        send_mails()
    office.open()
    Mail.objects.update(next_try=timezone.now())
    send_mails()
    assert len(office.received) == 3
    assert all(fresh(row).sent for row in rows)


@contextmanager
def talker(*lines: bytes, hang: bool = False) -> Iterator[int]:
    """A server that says these lines, one after each thing it hears, whatever it hears."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def talk() -> None:
        while not done.is_set():
            try:
                peer, _address = listener.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(2)
                for number, line in enumerate(lines):
                    try:
                        if number:
                            peer.recv(65536)
                        peer.sendall(line)
                    except OSError:
                        break
                if hang:
                    done.wait(5)

    thread = threading.Thread(target=talk)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        done.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


@pytest.mark.parametrize(
    ("lines", "hang"),
    [
        ((), False),
        ((), True),
        ((b"554 go away\r\n",), False),
        ((b"no such protocol\r\n",), False),
        ((b"\xff\x00\xff\r\n",), False),
        ((b"220 " + b"x" * 20_000 + b"\r\n",), False),
        ((b"220 hello\r\n",), True),
        ((b"220 hello\r\n", b"500 what?\r\n", b"500 what?\r\n"), False),
        ((b"220 hello\r\n", b"250 hello\r\n", b"550 not from you\r\n"), True),
        ((b"220 hello\r\n", b"250 hello\r\n", b"421 closing\r\n"), False),
        ((b"220 hello\r\n", b"250 hello\r\n", b"250 go on\r\n", b"421 closing\r\n"), False),
        ((b"220 hello\r\n", b"250 hello\r\n", b"250 go on\r\n", b"451 \0later\r\n"), True),
        ((b"220 hello\r\n", b"250 hello\r\n", b"250 go on\r\n"), False),
    ],
)
def test_no_server_s_answer_is_too_odd(lines: tuple[bytes, ...], hang: bool) -> None:
    row = write()
    with talker(*lines, hang=hang) as port, server(port):
        began = time.monotonic()
        send_mails()
        assert time.monotonic() - began < 5
    row = fresh(row)
    assert (row.sent, row.failed, row.tries) == (None, None, 1)
    assert row.next_try is not None
    assert row.error
    assert "\0" not in row.error


def test_a_text_refused_for_good_is_final() -> None:
    row = write()
    lines = (
        b"220 hi\r\n",
        b"250 hi\r\n",
        b"250 ok\r\n",
        b"250 ok\r\n",
        b"354 go\r\n",
        b"554 spam\r\n",
    )
    with talker(*lines, hang=True) as port, server(port):
        send_mails()
    assert fresh(row).error == "554 spam"
    assert fresh(row).failed is not None


@pytest.mark.parametrize(
    "more",
    [
        {"EMAIL_USE_TLS": True},
        {"EMAIL_USE_SSL": True},
        {"EMAIL_HOST_USER": "o", "EMAIL_HOST_PASSWORD": "x"},
        {"EMAIL_HOST": "a" * 70 + ".example"},
        {"EMAIL_HOST": ".."},
    ],
)
def test_a_server_unlike_its_settings_delays_it(
    post_office: PostOffice, more: dict[str, Any]
) -> None:
    row = write()
    with server(post_office.port, **more):
        send_mails()
    row = fresh(row)
    assert (row.sent, row.failed) == (None, None)
    assert row.error
    assert post_office.received == []


@pytest.mark.parametrize(
    "error", [RuntimeError("what?"), MemoryError(), UnicodeEncodeError("ascii", "ü", 0, 1, "no")]
)
def test_one_bad_mail_stops_no_other(
    office: PostOffice, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    real = smtplib.SMTP.rcpt

    def rcpt(self: smtplib.SMTP, recipient: str) -> Any:
        if recipient == "ada@example.org":
            raise error
        return real(self, recipient)

    monkeypatch.setattr(smtplib.SMTP, "rcpt", rcpt)
    bad, good = write(), write("bob@example.org")
    send_mails()
    assert fresh(good).sent is not None
    bad = fresh(bad)
    assert (bad.sent, bad.failed) == (None, None)
    assert type(error).__name__ in bad.error


def test_an_address_that_fits_no_wire_stops_no_other(office: PostOffice) -> None:
    bad, good = write(), write("bob@example.org")
    Mail.objects.filter(pk=bad.pk).update(recipient="ädä@example.org")
    send_mails()
    assert fresh(good).sent is not None
    assert fresh(bad).error


# --- without a server -----------------------------------------------------------------------


@override_settings(EMAIL_URL="", MAILBOX=True)
def test_in_the_mailbox_it_has_arrived_and_is_kept() -> None:
    row = write()
    send_mails()
    row = fresh(row)
    assert row.sent is not None
    assert bytes(row.message)


@override_settings(EMAIL_URL="", MAILBOX=False)
def test_with_neither_it_waits() -> None:
    row = write()
    send_mails()
    row = fresh(row)
    assert (row.sent, row.failed) == (None, None)
    assert row.next_try is not None
    assert "EMAIL_URL" in row.error


# --- afterwards -----------------------------------------------------------------------------


@override_settings(MAILBOX=False)
def test_rows_go_after_thirty_days() -> None:
    old, young = write(), write("bob@example.org")
    Mail.objects.filter(pk=old.pk).update(created=timezone.now() - timedelta(days=30))
    clean_up()
    assert list(Mail.objects.all()) == [young]
    assert bytes(fresh(young).message)


@override_settings(MAILBOX=False)
def test_a_body_nobody_will_send_is_wiped() -> None:
    row = write()
    Mail.objects.filter(pk=row.pk).update(created=timezone.now() - timedelta(days=4), next_try=None)
    clean_up()
    assert bytes(fresh(row).message) == b""


# --- the nudge ------------------------------------------------------------------------------


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[int, ...]]]:
    sent: list[tuple[str, tuple[int, ...]]] = []
    monkeypatch.setattr(nudge, "_quiet_until", 0.0)
    monkeypatch.setattr(
        "celery.app.base.Celery.send_task",
        lambda self, name, args, **options: sent.append((name, args)),
    )
    return sent


@pytest.mark.django_db(transaction=True)
def test_a_mail_nudges_the_worker_after_the_commit(
    published: list[tuple[str, tuple[int, ...]]],
) -> None:
    with transaction.atomic():
        send_mail("Hello", "", None, ["ada@example.org"])
        send_mail("Hello", "", None, ["bob@example.org"])
        nudge.nudge("other", 1)
        nudge.nudge("other", 1)
        nudge.nudge("other", 2)
        assert published == []
    assert published == [(mail.SEND_MAILS, ()), ("other", (1,)), ("other", (2,))]


@pytest.mark.django_db(transaction=True)
def test_an_event_that_is_undone_nudges_nobody(
    published: list[tuple[str, tuple[int, ...]]],
) -> None:
    with transaction.atomic():
        with pytest.raises(RuntimeError), transaction.atomic():
            nudge.nudge("other")
            raise RuntimeError
        nudge.nudge("another")
    assert published == [("another", ())]


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_away_costs_one_request_a_moment(
    monkeypatch: pytest.MonkeyPatch, published: list[tuple[str, tuple[int, ...]]]
) -> None:
    tries = []

    def fail(*args: Any, **options: Any) -> None:
        tries.append(options)
        raise ConnectionError("refused")

    monkeypatch.setattr("celery.app.base.Celery.send_task", fail)
    for _ in range(3):
        nudge.nudge("other")
    assert len(tries) == 1
    assert tries[0]["retry"] is False
    monkeypatch.setattr(nudge, "_quiet_until", time.monotonic())
    nudge.nudge("other")
    assert len(tries) == 2


@pytest.fixture
def broker_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Lets nudges go to a port, with what the web process may wait for it."""
    apps: list[Celery] = []

    def at(port: int) -> None:
        app = Celery("test", broker=f"redis://127.0.0.1:{port}/0", set_as_current=False)
        app.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
        apps.append(app)
        monkeypatch.setattr(nudge, "current_app", app)
        monkeypatch.setattr(nudge, "_quiet_until", 0.0)

    yield at
    for app in apps:
        app.close()


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_refuses_is_not_waited_for(broker_at: Callable[[int], None]) -> None:
    broker_at(free_port())
    began = time.monotonic()
    nudge.nudge("other")
    assert time.monotonic() - began < 1
    assert nudge._quiet_until > began


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_stalls_is_not_waited_for(broker_at: Callable[[int], None]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        broker_at(silent.getsockname()[1])
        began = time.monotonic()
        nudge.nudge("other")
        assert time.monotonic() - began < 1
        assert nudge._quiet_until > began


def test_the_row_that_waits_is_found_by_its_index() -> None:
    """The task asks every few seconds, whatever has been sent before."""
    due = Mail.objects.filter(next_try__lte=timezone.now()).order_by("next_try", "pk")
    assert "mail_due" in due.explain() or connection.vendor == "postgresql"
