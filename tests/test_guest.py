"""Guests: players before they have an account, and how they come by one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client, RequestFactory, override_settings
from django.utils import timezone

from accounts import guests
from accounts.guests import TooManyGuests, create_guest, guest_became
from accounts.models import User
from tests import mails, world

pytestmark = pytest.mark.django_db

SIGNUP = {"username": "Ada", "email": "ada@example.org", "password1": world.PASSWORD}


def request(**meta: str) -> Any:
    made: Any = RequestFactory().post("/")
    made.META.update(meta)
    made.user, made.session = AnonymousUser(), SessionStore()
    return made


@pytest.fixture
def guest(client: Client) -> User:
    """A guest, whose browser `client` is."""
    row = world.guest()
    client.force_login(row)
    return row


def sign_up(client: Client, **changes: str) -> Any:
    return client.post("/accounts/signup/", SIGNUP | changes)


def log_in(client: Client, login: str = "bob") -> Any:
    return client.post("/accounts/login/", {"login": login, "password": world.PASSWORD})


@pytest.fixture
def heard() -> Iterator[list[tuple[User, User]]]:
    """(guest, person) as told by the signal."""
    told: list[tuple[User, User]] = []

    def hear(guest: User, person: User, **_: Any) -> None:
        told.append((guest, person))

    guest_became.connect(hear)
    yield told
    guest_became.disconnect(hear)


# --- a new guest ----------------------------------------------------------------------------


def test_a_guest_is_a_row_and_a_session() -> None:
    here, now = request(), timezone.now()
    guest = create_guest(here, now=now)
    assert guest.is_guest
    assert guest.username.startswith("guest-")
    assert len(guest.username) == 14
    assert not guest.has_usable_password()
    assert guest.last_navigation == now
    assert here.user == guest
    assert here.session["_auth_user_id"] == str(guest.pk)
    assert here.session.get_expiry_age() == 180 * 24 * 3600


def test_two_guests_of_one_name_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["0a1b2c3d", "0a1b2c3d", "11111111"])
    monkeypatch.setattr("accounts.guests.secrets.token_hex", lambda length: next(names))
    world.guest("guest-0A1B2C3D")
    assert create_guest(request(), now=timezone.now()).username == "guest-11111111"


def test_ten_an_hour_come_from_one_address() -> None:
    for _ in range(10):
        create_guest(request(), now=timezone.now())
    with pytest.raises(TooManyGuests, match="Too many new guests"):
        create_guest(request(HTTP_X_FORWARDED_FOR="10.0.0.9"), now=timezone.now())
    create_guest(request(REMOTE_ADDR="10.0.0.1"), now=timezone.now())
    assert User.objects.filter(kind=User.Kind.GUEST).count() == 11


@override_settings(TRUSTED_PROXY_COUNT=2)
def test_they_are_counted_by_the_address_our_proxies_saw() -> None:
    def via(client: str, seen: str) -> Any:
        return request(HTTP_X_FORWARDED_FOR=f"{client}, {seen}, 172.16.0.1")

    for number in range(10):
        create_guest(via(f"10.0.0.{number}", "192.0.2.1"), now=timezone.now())
    with pytest.raises(TooManyGuests):
        create_guest(via("10.0.0.99", "192.0.2.1"), now=timezone.now())
    create_guest(via("10.0.0.99", "192.0.2.2"), now=timezone.now())


def test_a_network_counts_as_one_address() -> None:
    for number in range(10):
        create_guest(request(REMOTE_ADDR=f"2001:db8::{number}"), now=timezone.now())
    with pytest.raises(TooManyGuests):
        create_guest(request(REMOTE_ADDR="2001:db8::ffff"), now=timezone.now())


# --- becoming a person ----------------------------------------------------------------------


def test_signing_up_keeps_the_row(client: Client, guest: User) -> None:
    assert "You keep the games" in client.get("/accounts/signup/").content.decode()
    assert sign_up(client)["Location"] == "/games/"
    person = User.objects.get(pk=guest.pk)
    assert (person.username, person.email, person.kind) == ("Ada", "ada@example.org", "person")
    assert person.check_password(world.PASSWORD)
    assert client.session["_auth_user_id"] == str(guest.pk)
    assert not User.objects.filter(kind=User.Kind.GUEST).exists()
    client.post(mails.path(mails.letter("ada@example.org"), "confirm-email"))
    assert EmailAddress.objects.get(user=guest).verified


def test_signing_up_begins_the_thirty_days(client: Client, guest: User) -> None:
    User.objects.update(date_joined=timezone.now() - timedelta(days=40))
    sign_up(client)
    assert not User.objects.never_confirmed(timezone.now()).filter(pk=guest.pk).exists()


def test_signing_up_tells_of_no_log_in(
    client: Client, guest: User, heard: list[tuple[User, User]]
) -> None:
    sign_up(client)
    assert heard == []


@pytest.mark.parametrize("name", ["ab", "admin", "guest-0a1b2c3d", "GUEST-0A1B2C3D", "bob"])
def test_the_rules_for_names_are_the_same(client: Client, guest: User, name: str) -> None:
    world.person("Bob")
    response = sign_up(client, username=name)
    assert list(response.context["form"].errors) == ["username"]
    guest.refresh_from_db()
    assert (guest.username, guest.kind) == ("guest-0a1b2c3d", "guest")


def test_a_name_taken_in_that_very_moment_leaves_the_guest(
    client: Client, guest: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.person("ada")
    monkeypatch.setattr(
        "accounts.adapter.AccountAdapter.clean_username", lambda self, name, shallow=False: name
    )
    response = sign_up(client)
    assert list(response.context["form"].errors) == ["username"]
    assert "guest-0a1b2c3d" in response.content.decode()
    guest.refresh_from_db()
    assert guest.is_guest
    assert client.session["_auth_user_id"] == str(guest.pk)


def test_signing_up_twice_at_once_is_once(
    client: Client, guest: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second request has read the guest before the first was done."""
    stale = User.objects.get(pk=guest.pk)
    sign_up(client)
    stale.username = "Eve"
    assert not guests.become_person(stale, timezone.now())
    monkeypatch.setattr("accounts.adapter.become_person", lambda guest, now: False)
    other = Client()
    other.force_login(world.guest("guest-00000000"))
    assert sign_up(other, username="Eve", email="eve@example.org")["Location"] == "/games/"
    assert not User.objects.filter(username="Eve").exists()
    assert not mails.letters("eve@example.org")


def test_a_taken_address_looks_the_same(client: Client, guest: User) -> None:
    world.person("bob")
    assert sign_up(client, email="bob@example.org")["Location"] == "/games/"
    assert User.objects.get(pk=guest.pk).is_person
    assert "It is already the address" in mails.text(mails.letter("bob@example.org"))


# --- logging in to an account ---------------------------------------------------------------


def test_logging_in_tells_who_the_guest_was(
    client: Client, guest: User, heard: list[tuple[User, User]]
) -> None:
    bob = world.person("bob", password=world.PASSWORD)
    assert "as a guest move to your account" in client.get("/accounts/login/").content.decode()
    assert log_in(client)["Location"] == "/games/"
    assert [(told.pk, person) for told, person in heard] == [(guest.pk, bob)]
    assert client.session["_auth_user_id"] == str(bob.pk)


def test_a_failed_log_in_tells_nothing(
    client: Client, guest: User, heard: list[tuple[User, User]]
) -> None:
    log_in(client, "nobody")
    assert heard == []
    assert client.session["_auth_user_id"] == str(guest.pk)


def test_a_listener_that_fails_leaves_the_guest_logged_in(client: Client, guest: User) -> None:
    world.person("bob", password=world.PASSWORD)
    client.raise_request_exception = False

    def fail(**_: Any) -> None:
        User.objects.filter(pk=guest.pk).update(confirm_moves=False)
        raise RuntimeError

    guest_became.connect(fail)
    try:
        assert log_in(client).status_code == 500
    finally:
        guest_became.disconnect(fail)
    assert client.session["_auth_user_id"] == str(guest.pk)
    guest.refresh_from_db()
    assert guest.confirm_moves


def test_logging_out_warns_a_guest(client: Client, guest: User) -> None:
    assert "you cannot come back" in client.get("/accounts/logout/").content.decode()


# --- guests who left ------------------------------------------------------------------------


def test_guests_untouched_for_thirty_days_are_found() -> None:
    now = timezone.now()
    for name, days in (("guest-00000001", 30), ("guest-00000002", 29)):
        row = world.guest(name)
        User.objects.filter(pk=row.pk).update(last_navigation=now - timedelta(days=days))
    never_seen = world.guest("guest-00000003")
    User.objects.filter(pk=never_seen.pk).update(date_joined=now - timedelta(days=31))
    person = world.person("bob")
    User.objects.filter(pk=person.pk).update(last_navigation=now - timedelta(days=90))
    found = User.objects.idle_guests(now).order_by("username")
    assert [row.username for row in found] == ["guest-00000001", "guest-00000003"]
