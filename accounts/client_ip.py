"""Whose address a request comes from, told by the proxies we trust and by nobody else."""

from __future__ import annotations

import ipaddress

from django.conf import settings
from django.http import HttpRequest

# All who come through a socket without an address share one allowance.
UNKNOWN = "unknown"


def client_ip(request: HttpRequest) -> str:
    """The address, in its canonical form.

    Each proxy of ours appends what it saw to X-Forwarded-For; what stands further left was sent
    by the client, who can write anything there.
    """
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if 0 < settings.TRUSTED_PROXY_COUNT <= len(forwarded):
        address = _parse(forwarded[-settings.TRUSTED_PROXY_COUNT])
        if address:
            return address
    return _parse(request.META.get("REMOTE_ADDR", "")) or UNKNOWN


def _parse(text: str) -> str:
    """`1.2.3.4`, `1.2.3.4:80`, `2001:db8::1` or `[fe80::1%eth0]:80`; empty for anything else."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
