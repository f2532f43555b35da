"""What views of every family need: who asks, and where a browser goes after a post."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpResponseRedirect
from django.shortcuts import resolve_url

from accounts.middleware import Request
from accounts.models import User


class SeeOther(HttpResponseRedirect):
    """After a deed: get that page instead of repeating the post. Takes what redirect() takes."""

    status_code = 303

    def __init__(self, to: str, *args: object) -> None:
        super().__init__(resolve_url(to, *args))


def reader(request: Request) -> User:
    """The player who asks, in a view that login_required or a check of its own guards."""
    user = request.user
    if not user.is_authenticated:
        raise PermissionDenied
    return user
