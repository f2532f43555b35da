"""The least that mails can cost: each rendered, its row committed, over one connection."""

from __future__ import annotations

import smtplib
from collections.abc import Iterable

from django.utils import timezone

from accounts import mail
from games.letters import letter
from games.models import Notice

TOKEN = "benchmarkbenchmarkbenchmarkbenchmarkbenchma"  # noqa: S105 - opens nothing


def send(notices: Iterable[Notice], host: str, port: int, round_: int) -> None:
    with smtplib.SMTP(host, port) as smtp:
        for notice in notices:
            message = letter(notice, notice.player.email, TOKEN)
            row = mail.draft(message, key=f"bare:{round_}:{notice.pk}", now=timezone.now())
            row.save()
            smtp.sendmail("onitama@bench.example", [row.recipient], bytes(row.message))
