"""What tests read in mails: the rows, whole messages, the links in them."""

from __future__ import annotations

import re
from email import message_from_bytes, policy
from email.message import EmailMessage, Message
from urllib.parse import urlsplit

from accounts.models import Mail


def letters(address: str) -> list[EmailMessage]:
    """The mails written to that address so far, oldest first."""
    return [parsed(row) for row in Mail.objects.filter(recipient=address).order_by("pk")]


def letter(address: str) -> EmailMessage:
    """The one mail written to that address so far."""
    [only] = letters(address)
    return only


def parsed(row: Mail) -> EmailMessage:
    return message_from_bytes(bytes(row.message), policy=policy.default)


def text(message: EmailMessage, subtype: str = "plain") -> str:
    part = message.get_body((subtype,))
    assert part is not None
    return str(part.get_content())


def links(message: EmailMessage, containing: str = "") -> list[str]:
    return [link for link in re.findall(r"https?://\S+", text(message)) if containing in link]


def path(message: EmailMessage, containing: str) -> str:
    """The path of the one link that leads there."""
    [link] = links(message, containing)
    return urlsplit(link).path


def reparsed(message: Message) -> EmailMessage:
    """A mail as the tests' server took it, read as parsed() reads the rows."""
    return message_from_bytes(message.as_bytes(), policy=policy.default)
