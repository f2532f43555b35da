"""Changing one's address: confirmed at the new one, announced at the old."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from accounts import mail
from accounts.models import User
from tests import mails, world

pytestmark = pytest.mark.django_db

ADDRESS = "/accounts/email/"


@pytest.fixture
def ada(client: Client) -> User:
    user = world.person("Ada")
    client.force_login(user)
    return user


def change(client: Client, email: str = "new@example.org") -> Any:
    return client.post(ADDRESS, {"email": email, "action_add": "1"})


def confirm(client: Client, address: str = "new@example.org") -> Any:
    return client.post(mails.path(mails.letters(address)[-1], "confirm-email"))


def test_it_waits_for_the_new_address(client: Client, ada: User) -> None:
    assert change(client)["Location"] == ADDRESS
    assert mail.address(ada) == "ada@example.org"
    page = client.get(ADDRESS).content.decode()
    assert "Your address is <strong>ada@example.org</strong>" in page
    assert "You want to change it to <strong>new@example.org</strong>" in page
    assert "style=" not in page


def test_it_is_announced_at_the_old_one(client: Client, ada: User) -> None:
    change(client)
    assert not mails.letters("ada@example.org")
    confirm(client)
    ada.refresh_from_db()
    assert (mail.address(ada), ada.email) == ("new@example.org", "new@example.org")
    said = mails.text(mails.letter("ada@example.org"))
    assert "was changed from ada@example.org to new@example.org" in said


def test_it_can_be_called_off(client: Client, ada: User) -> None:
    change(client)
    client.post(ADDRESS, {"email": "new@example.org", "action_remove": "1"})
    assert [address.email for address in EmailAddress.objects.all()] == ["ada@example.org"]
    path = mails.path(mails.letter("new@example.org"), "confirm-email")
    assert client.post(path).status_code == 404


def test_it_can_be_changed_again_before_it_is_confirmed(client: Client, ada: User) -> None:
    change(client)
    change(client, "newer@example.org")
    confirm(client, "newer@example.org")
    assert mail.address(ada) == "newer@example.org"
    assert EmailAddress.objects.count() == 1


def test_an_address_never_confirmed_is_simply_replaced(client: Client) -> None:
    bob = world.person("bob", confirmed=False)
    client.force_login(bob)
    change(client)
    bob.refresh_from_db()
    assert bob.email == "new@example.org"
    assert mail.address(bob) == ""
    assert not mails.letters("bob@example.org")


def test_the_mail_can_be_sent_again(client: Client) -> None:
    client.force_login(world.person("bob", confirmed=False))
    client.post(ADDRESS, {"email": "bob@example.org", "action_send": "1"})
    assert "A mail is on its way to bob@example.org" in client.get(ADDRESS).content.decode()
    assert mails.letter("bob@example.org")
    client.post(ADDRESS, {"email": "bob@example.org", "action_send": "1"})
    assert mails.letter("bob@example.org"), "one mail in three minutes is enough"


def test_the_only_address_stays(client: Client, ada: User) -> None:
    client.post(ADDRESS, {"email": "ada@example.org", "action_remove": "1"})
    assert mail.address(ada) == "ada@example.org"


def test_nobody_elses_address_is_touched(client: Client, ada: User) -> None:
    bob = world.person("bob")
    for action in ("action_send", "action_remove", "action_primary"):
        assert client.post(ADDRESS, {"email": "bob@example.org", action: "1"}).status_code == 302
    assert mail.address(bob) == "bob@example.org"
    assert not mails.letters("bob@example.org")


@pytest.mark.parametrize("email", ["", "ada", "ada@example.org", "x" * 250 + "@example.org"])
def test_it_refuses_what_is_no_new_address(client: Client, ada: User, email: str) -> None:
    assert list(change(client, email).context["form"].errors) == ["email"]


@pytest.mark.parametrize("fields", [{}, {"email": "x"}, {"action_send": "1"}, {"email": "\ud800"}])
def test_it_survives_other_posts(client: Client, ada: User, fields: dict[str, str]) -> None:
    body = "&".join(f"{name}={value}" for name, value in fields.items())
    response = client.post(
        ADDRESS,
        body.encode("utf-8", "surrogatepass"),
        content_type="application/x-www-form-urlencoded",
    )
    assert response.status_code in {200, 302}
    assert mail.address(ada) == "ada@example.org"
