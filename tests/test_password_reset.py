"""A forgotten password: asked for by address, replaced through the link in a mail."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client, override_settings

from accounts.models import Mail, User
from tests import mails, world

pytestmark = pytest.mark.django_db

RESET = "/accounts/password/reset/"
NEW = "a longer horse battery"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.views.RESET_SECONDS", 0)


@pytest.fixture
def ada() -> User:
    return world.person("Ada", password=world.PASSWORD)


def ask(client: Client, email: str = "ada@example.org", **more: Any) -> Any:
    return client.post(RESET, {"email": email}, **more)


def follow(client: Client, address: str = "ada@example.org") -> Any:
    """The page behind the link of the last mail to that address."""
    return client.get(mails.path(mails.letters(address)[-1], "/reset/key/"), follow=True)


def choose(client: Client, page: Any, password: str = NEW, again: str = NEW) -> Any:
    path = page.redirect_chain[-1][0]
    return client.post(path, {"password1": password, "password2": again})


def test_it_replaces_the_password(client: Client, ada: User) -> None:
    assert ask(client)["Location"] == "/accounts/password/reset/done/"
    assert "A mail is on its way" in client.get("/accounts/password/reset/done/").content.decode()
    response = choose(client, follow(client))
    assert response["Location"] == "/accounts/password/reset/key/done/"
    assert "Your new password is saved" in client.get(response["Location"]).content.decode()
    ada.refresh_from_db()
    assert ada.check_password(NEW)
    assert "was changed on" in mails.text(mails.letters("ada@example.org")[-1])


def test_its_mail_says_whose_account_it_is(client: Client, ada: User) -> None:
    ask(client, "ADA@example.org")
    message = mails.letter("ada@example.org")
    assert "your account, Ada," in mails.text(message)
    assert message["Auto-Submitted"] == "auto-generated"
    assert not [name for name in message if name.lower().startswith("list-")]


def test_it_logs_all_browsers_out(client: Client, ada: User) -> None:
    other = Client()
    other.force_login(ada)
    ask(client)
    choose(client, follow(client))
    assert other.get("/accounts/email/")["Location"].startswith("/accounts/login/")


def test_the_link_alone_changes_nothing(client: Client, ada: User) -> None:
    ask(client)
    assert 'name="password1"' in follow(client).content.decode()
    ada.refresh_from_db()
    assert ada.check_password(world.PASSWORD)


def test_the_link_keeps_its_secret_out_of_the_page(client: Client, ada: User) -> None:
    ask(client)
    page = follow(client)
    assert page.redirect_chain[-1][0].endswith("-set-password/")


def test_the_link_works_once(client: Client, ada: User) -> None:
    ask(client)
    choose(client, follow(client))
    first = mails.letters("ada@example.org")[0]
    again = Client().get(mails.path(first, "/reset/key/"), follow=True)
    assert "no longer valid" in again.content.decode()


def test_the_link_is_good_for_three_days(
    client: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(client)
    later = datetime.now() + timedelta(days=3, minutes=1)  # noqa: DTZ005  # as Django's tokens do
    monkeypatch.setattr(
        "django.contrib.auth.tokens.PasswordResetTokenGenerator._now", lambda self: later
    )
    assert "no longer valid" in follow(client).content.decode()


def test_the_link_dies_with_the_address(client: Client, ada: User) -> None:
    ask(client)
    EmailAddress.objects.filter(user=ada).update(email="new@example.org")
    assert "no longer valid" in follow(client).content.decode()


@pytest.mark.parametrize(
    "key",
    ["1-x", "0-set-password", "zzzzzzzzzzzzz-x-y", "zzzzzzzzzzzzzz-x", "1-ü%00", "a-" + "b" * 900],
)
def test_a_link_that_nobody_made_opens_nothing(client: Client, key: str) -> None:
    for answer in (client.get, client.post):
        response = answer(f"{RESET}key/{key}/")
        assert response.status_code in {200, 400}
        assert 'name="password1"' not in response.content.decode()


@pytest.mark.parametrize(
    ("password", "again", "field"),
    [("short", "short", "password1"), (NEW, NEW + "!", "password2"), ("x" * 201, "x", "password1")],
)
def test_it_refuses_a_weak_or_mistyped_password(
    client: Client, ada: User, password: str, again: str, field: str
) -> None:
    ask(client)
    response = choose(client, follow(client), password, again)
    assert field in response.context["form"].errors
    ada.refresh_from_db()
    assert ada.check_password(world.PASSWORD)


@override_settings(SITE_URL="https://onitama.example", ALLOWED_HOSTS=["*"])
def test_its_link_leads_to_the_site_whatever_the_host(client: Client, ada: User) -> None:
    ask(client, headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example"})
    message = mails.letter("ada@example.org")
    assert "evil.example" not in str(message)
    assert mails.links(message, "key/")[0].startswith("https://onitama.example/accounts/")


# --- whose password -------------------------------------------------------------------------


def test_it_goes_to_who_confirmed_the_address(client: Client, ada: User) -> None:
    eve = world.person("eve", confirmed=False)
    EmailAddress.objects.filter(user=eve).update(email="ada@example.org")
    ask(client)
    assert "your account, Ada," in mails.text(mails.letter("ada@example.org"))


def test_it_goes_to_an_address_not_confirmed_yet(client: Client) -> None:
    world.person("bob", confirmed=False)
    ask(client, "bob@example.org")
    assert "your account, bob," in mails.text(mails.letter("bob@example.org"))


def test_an_address_without_account_is_told_so(client: Client) -> None:
    assert ask(client, "nobody@example.org")["Location"] == "/accounts/password/reset/done/"
    message = mails.letter("nobody@example.org")
    assert "No account has it" in mails.text(message)
    assert not mails.links(message, "/reset/key/")


def test_a_closed_account_stays_closed(client: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_active=False)
    ask(client)
    assert "No account has it" in mails.text(mails.letter("ada@example.org"))


def test_the_computer_has_none(client: Client) -> None:
    level = world.level()
    EmailAddress.objects.create(user=level, email="level@example.org", verified=True)
    ask(client, "level@example.org")
    assert "No account has it" in mails.text(mails.letter("level@example.org"))


@pytest.mark.parametrize("email", ["", "ada", "x" * 300 + "@example.org", '"a b"@example.org'])
def test_it_refuses_what_is_no_address(client: Client, email: str) -> None:
    assert list(ask(client, email).context["form"].errors) == ["email"]
    assert not Mail.objects.exists()


def test_it_is_refused_after_five_times_for_one_address(client: Client, ada: User) -> None:
    assert [ask(client).status_code for _ in range(6)] == [302] * 5 + [429]
    assert len(mails.letters("ada@example.org")) == 5


def test_a_guest_stays_a_guest_meanwhile(client: Client, ada: User) -> None:
    """The guest's games wait in that session for the log-in."""
    guest = world.guest()
    client.force_login(guest)
    ask(client)
    assert choose(client, follow(client)).status_code == 302
    assert client.session["_auth_user_id"] == str(guest.pk)
