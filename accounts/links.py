"""Addresses of ours as others are given them, in mails, feeds and records."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse


def link(name: str, *args: object) -> str:
    """An absolute address of ours, from SITE_URL and never from a request's Host."""
    return settings.SITE_URL + reverse(name, args=args)
