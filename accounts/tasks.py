"""Celery's doors into accounts. Only workers import this: requests nudge by name."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.utils import timezone

from accounts import mail


# The limit is the lease: while a mail is somebody's, nobody else has it, dead or alive.
@shared_task(name=mail.SEND_MAILS, time_limit=int(settings.MAIL_LEASE))
def send_mails() -> None:
    mail.send_due(seconds=settings.MAIL_LEASE / 2)


@shared_task(name="accounts.clean_up", time_limit=240)
def clean_up() -> None:
    mail.remove_old(timezone.now())
    SessionStore.clear_expired()
