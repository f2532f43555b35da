"""Every mail of the site: a row written with the event, sent from the row by a worker.

A dead mail server never shows in a request, and a mail that cannot go holds up no other.
"""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import smtplib
import ssl
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timedelta
from email import charset
from email.generator import BytesGenerator
from email.header import Header
from email.utils import parseaddr
from io import BytesIO
from urllib.parse import urlsplit

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.message import sanitize_address
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from accounts.models import GIVE_UP_AFTER, MOST_BOUNCES, Mail, User
from accounts.nudge import nudge

logger = logging.getLogger(__name__)

SEND_MAILS = "accounts.send_mails"
REMOVED_AFTER = timedelta(days=30)

Marks = Callable[[datetime], None]

# Seven bits all the way: no server on the road has to support anything.
_UTF8 = charset.Charset("utf-8")
_UTF8.body_encoding = charset.QP


class Refused(Exception):
    """The recipient's side will never take this mail."""


class Delayed(Exception):
    """It did not go now; it may go later, after `wait` where the other side asks for that."""

    def __init__(self, said: str, wait: timedelta = timedelta()) -> None:
        super().__init__(said)
        self.wait = wait


class Unreachable(Delayed):
    """There is no server to talk to, so no other mail goes either."""


def confirmed(players: Iterable[User]) -> dict[int, str]:
    """By the players' keys, the address that each has confirmed, of those who have."""
    rows = EmailAddress.objects.filter(user__in=players, verified=True)
    # The primary one last, which then is the one that stays.
    return dict(rows.order_by("primary", "-pk").values_list("user", "email"))


def address(player: User) -> str:
    """Where mails about games go: the confirmed address, or empty; so too once it refused
    MOST_BOUNCES mails in a row."""
    return "" if refuses(player) else confirmed([player]).get(player.pk, "")


def refuses(player: User) -> bool:
    """Whether the player's address refused so many mails that no more are sent there."""
    return player.bounces >= MOST_BOUNCES


# --- writing --------------------------------------------------------------------------------


def write(message: EmailMessage, *, key: str, next_try: datetime | None) -> Mail:
    """The row of that key, made from the message unless it is there already.

    Without `next_try` whoever wrote the row says when it is sent.
    """
    row = draft(message, key=key, now=timezone.now())
    row.next_try = next_try
    return _save(row)


def write_all(drafts: Sequence[Mail]) -> list[Mail]:
    """Their rows, as write() gives them."""
    try:
        with transaction.atomic():
            return Mail.objects.bulk_create(drafts)
    except IntegrityError:
        return [_save(row) for row in drafts]


def draft(message: EmailMessage, *, key: str, now: datetime) -> Mail:
    """The row of a message to one recipient, not saved yet."""
    [recipient] = message.recipients()
    return _draft(message, recipient, key, now)


def _draft(message: EmailMessage, recipient: str, key: str, now: datetime) -> Mail:
    # The time too: a site set up anew counts from one again, and mailboxes drop what they know.
    name = hashlib.sha256(f"{key} {now.isoformat()}".encode()).hexdigest()[:32]
    message.encoding = message.encoding or _UTF8
    message.extra_headers.setdefault("Auto-Submitted", "auto-generated")
    message.extra_headers["Message-ID"] = f"<{name}@{domain()}>"
    return Mail(
        key=key,
        recipient=on_the_wire(recipient),
        subject=str(message.subject)[:200],
        message=_wire(message),
        created=now,
    )


def domain() -> str:
    """The site's host where only a name will do: in the ids of mails, lists and feeds."""
    return "localhost" if ":" in _host() else _host()


def on_the_wire(address: str) -> str:
    """An address as mail servers take it: its domain in ASCII."""
    return sanitize_address(address, "utf-8")


def _save(row: Mail) -> Mail:
    row.pk = None
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return Mail.objects.get(key=row.key)
    return row


def _wire(message: EmailMessage) -> bytes:
    wire, whole = BytesIO(), message.message()
    # As Django puts it, the words of a long subject that is not ASCII break RFC 2047 by a letter.
    whole.replace_header("Subject", Header(str(message.subject), header_name="Subject"))
    BytesGenerator(wire, mangle_from_=False, maxheaderlen=76).flatten(whole, linesep="\r\n")
    return wire.getvalue()


class RowBackend(BaseEmailBackend):
    """Django's way to send: here it only writes rows, and nudges the worker that sends them."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        for message in email_messages:
            for recipient in message.recipients():
                now = timezone.now()
                row = _draft(message, recipient, f"account:{uuid.uuid4().hex}", now)
                row.next_try = now
                _save(row)
        nudge(SEND_MAILS)
        return len(email_messages)


# --- sending --------------------------------------------------------------------------------


def send_due(*, seconds: float) -> None:
    """Send the mails that have their own time, the longest due first, for so many seconds.

    A server that cannot be reached ends the run: the other mails stay due, and the next run
    begins with another one.
    """
    until = time.monotonic() + seconds
    with connection():
        while time.monotonic() < until:
            due = Mail.objects.filter(next_try__lte=timezone.now()).order_by("next_try", "pk")
            row = due.first()
            if row is None or not _try(row):
                return


def _try(row: Mail) -> bool:
    """One try. Whatever goes wrong goes wrong for this mail alone; False: no server."""
    now = timezone.now()
    if not row.claim(now, timedelta(seconds=settings.MAIL_LEASE)):
        return True
    try:
        if now - row.created >= GIVE_UP_AFTER:
            row.mark_refused(now, "expired")
        else:
            send(row, now=now)
    except Refused as refusal:
        logger.info("mail %s was refused: %s", row.pk, refusal)
    except Unreachable as trouble:
        logger.warning("no mail server: %s", trouble)
        row.mark_delayed(timezone.now(), str(trouble))
        return False
    except Delayed as delay:
        row.mark_delayed(timezone.now(), str(delay))
    except Exception as error:
        logger.exception("mail %s could not be sent", row.pk)
        row.mark_delayed(timezone.now(), repr(error))
    return True


def send(mail: Mail, *, now: datetime, bounced: bool = True, then: Marks | None = None) -> None:
    """Send the row and mark it sent, or raise Refused (the row is marked) or Delayed (it isn't).

    `bounced`: whether the address may have refused mails before. `then` is called in the
    transaction that marks. Without a mail server, /mailbox/ is where mails arrive.
    """
    if mail.failed:
        raise Refused(mail.error)
    if not mail.sent:
        _hand_over(mail, now)
    with transaction.atomic():
        if not mail.sent:
            mail.mark_sent(now)
        if bounced:
            _holder(mail.recipient).filter(bounces__gt=0).update(bounces=0)
        if then:
            then(now)


def _hand_over(mail: Mail, now: datetime) -> None:
    if settings.EMAIL_URL:
        try:
            _deliver(mail)
        except Refused as refusal:
            with transaction.atomic():
                mail.mark_refused(now, str(refusal))
                holder = _holder(mail.recipient).filter(bounces__lt=MOST_BOUNCES)
                holder.update(bounces=F("bounces") + 1)
            raise
    elif not settings.MAILBOX:
        raise Unreachable("no mail server is set: EMAIL_URL")


def _holder(recipient: str) -> QuerySet[User]:
    """Whose confirmed address it is, as on_the_wire() gives it."""
    name, _at, domain = recipient.lower().rpartition("@")
    spelt = {domain}
    with suppress(UnicodeError):
        spelt.add(domain.encode().decode("idna"))
    holders: QuerySet[User] = User.objects.filter(
        emailaddress__email__in=[f"{name}@{domain}" for domain in spelt],
        emailaddress__verified=True,
    )
    return holders


def _deliver(mail: Mail) -> None:
    postman = _postman.get()
    if postman:
        postman.deliver(mail)
        return
    with connection():
        _deliver(mail)


@contextmanager
def connection() -> Iterator[None]:
    """Mails sent inside go over one connection, which the first of them opens."""
    postman = Postman()
    token = _postman.set(postman)
    try:
        yield
    finally:
        _postman.reset(token)
        postman.leave()


class Postman:
    """One connection to the mail server, opened when first needed and again after trouble."""

    def __init__(self) -> None:
        self._smtp: smtplib.SMTP | None = None

    def deliver(self, mail: Mail) -> None:
        smtp = self._begun()
        try:
            self._judge(*smtp.rcpt(mail.recipient))
            self._judge(*smtp.data(bytes(mail.message)))
        except smtplib.SMTPDataError as refusal:
            self._judge(refusal.smtp_code, refusal.smtp_error)
        except (OSError, ValueError) as error:
            # All other trouble of smtplib is an OSError; a text that fits no wire a ValueError.
            self._drop()
            raise Delayed(_said(error)) from error

    def leave(self) -> None:
        if self._smtp and self._smtp.sock:
            try:
                self._smtp.quit()
            except OSError as error:
                logger.info("the mail server did not say goodbye: %s", error)
        self._drop()

    def _begun(self) -> smtplib.SMTP:
        """A connection on which the server waits for the recipient of a mail.

        Servers end a connection after so many mails or seconds, and say so when they are given
        the next mail, or not at all: then it begins anew on another.
        """
        if self._smtp is not None:
            with suppress(OSError, ValueError):
                _begin(self._smtp)
                return self._smtp
        self._drop()
        try:
            self._smtp = _connect()
            _begin(self._smtp)
        except (OSError, ValueError) as error:
            self._drop()
            raise Unreachable(_said(error)) from error
        return self._smtp

    def _judge(self, code: int, text: bytes | str) -> None:
        """Only an answer to this very mail is final: 5xx to its recipient or to its text."""
        if code in (250, 251):
            return
        answer = f"{code} {_text(text)}"
        if not 500 <= code <= 599:
            self._drop()
            raise Delayed(answer)
        if self._smtp is not None:
            # The mail that was begun ends here; a server that is gone by now is found out next.
            with suppress(OSError):
                self._smtp.rset()
        raise Refused(answer)

    def _drop(self) -> None:
        if self._smtp:
            self._smtp.close()
        self._smtp = None


def _begin(smtp: smtplib.SMTP) -> None:
    sender = parseaddr(settings.DEFAULT_FROM_EMAIL)[1]
    code, text = smtp.mail(sender)
    if code != 250:
        raise smtplib.SMTPSenderRefused(code, text, sender)


_postman: ContextVar[Postman | None] = ContextVar("postman", default=None)


def _connect() -> smtplib.SMTP:
    host, port = settings.EMAIL_HOST, settings.EMAIL_PORT
    name, timeout = _greeting(), settings.EMAIL_TIMEOUT
    # Reading the certificates takes as long as all else.
    ciphered = settings.EMAIL_USE_SSL or settings.EMAIL_USE_TLS
    context = ssl.create_default_context() if ciphered else None
    smtp = (
        smtplib.SMTP_SSL(host, port, name, timeout=timeout, context=context)
        if settings.EMAIL_USE_SSL
        else smtplib.SMTP(host, port, name, timeout=timeout)
    )
    try:
        if settings.EMAIL_USE_TLS:
            smtp.starttls(context=context)
        if settings.EMAIL_HOST_USER:
            smtp.login(settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD)
        smtp.ehlo_or_helo_if_needed()
    except BaseException:
        smtp.close()
        raise
    return smtp


def _host() -> str:
    return urlsplit(settings.SITE_URL).hostname or "localhost"


def _greeting() -> str:
    """How we name ourselves to the server; asking the DNS for it could take many seconds."""
    try:
        ip = ipaddress.ip_address(_host())
    except ValueError:
        return _host()
    return f"[{ip}]" if ip.version == 4 else f"[IPv6:{ip}]"


def _said(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {_text(error.smtp_error)}"
    return f"{type(error).__name__}: {error}"


def _text(answer: bytes | str) -> str:
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


# --- what the clean-up removes --------------------------------------------------------------


def remove_old(now: datetime) -> None:
    """Wipe what nobody will send any more; after REMOVED_AFTER the rows go too."""
    Mail.objects.filter(created__lte=now - REMOVED_AFTER).delete()
    if not settings.MAILBOX:
        given_up = Mail.objects.filter(created__lte=now - GIVE_UP_AFTER - timedelta(days=1))
        given_up.exclude(message=b"").update(message=b"", next_try=None)
