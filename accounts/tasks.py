"""Celery's door into accounts. Only workers import this: requests nudge by name."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings

from accounts import mail


# The limit is the lease: while a mail is somebody's, nobody else has it, dead or alive.
@shared_task(name=mail.SEND_MAILS, time_limit=int(settings.MAIL_LEASE))
def send_mails() -> None:
    mail.send_due(seconds=settings.MAIL_LEASE / 2)
