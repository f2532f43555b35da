"""Checks a name or an address with its password, in a time that tells nothing about the address."""

from __future__ import annotations

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.hashers import make_password
from django.http import HttpRequest

from accounts.models import User


class Backend(AuthenticationBackend):
    """allauth's, which would hash as often as the address has accounts, and some twice.

    Names are public, so a name costs one hash. An address always costs two: who confirmed it,
    then the latest to give it without; where there is nobody, for nobody. A stranger who signs
    up with an address and then logs in by it thus sees the same, whoever had it before.
    """

    def _authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        password = str(credentials["password"])
        name = str(credentials.get("username") or "")
        if name and "@" not in name:
            person = User.objects.named(name).filter(kind=User.Kind.PERSON).first()
            return self._check(person, password)
        return self._by_address(str(credentials.get("email") or name), password)

    def _by_address(self, address: str, password: str) -> User | None:
        confirmed = User.objects.holding(address, confirmed=True).first()
        latest = User.objects.holding(address, confirmed=False).first()
        return self._check(confirmed, password) or self._check(latest, password)

    def _check(self, person: User | None, password: str) -> User | None:
        if person is None:
            self._did_check_password = True
            make_password(password)
        elif self._check_password(person, password):
            return person
        return None
