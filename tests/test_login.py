"""Logging in by name or address, staying logged in, logging out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.test import Client, override_settings
from django.utils import timezone

from accounts.models import User
from tests import mails, world

pytestmark = pytest.mark.django_db

LOGIN = "/accounts/login/"
LOGOUT = "/accounts/logout/"


@pytest.fixture
def ada() -> User:
    return world.person("Ada", password=world.PASSWORD)


def log_in(client: Client, login: str = "Ada", password: str = world.PASSWORD, **more: Any) -> Any:
    return client.post(LOGIN, {"login": login, "password": password}, **more)


def reader(client: Client) -> str | None:
    return client.session.get("_auth_user_id")


# --- who gets in ----------------------------------------------------------------------------


@pytest.mark.parametrize("login", ["Ada", "ADA", "ada@example.org", "Ada@Example.org", " Ada "])
def test_it_takes_a_name_or_an_address(client: Client, ada: User, login: str) -> None:
    assert log_in(client, login)["Location"] == "/games/"
    assert reader(client) == str(ada.pk)


def test_it_takes_an_address_before_it_is_confirmed(client: Client) -> None:
    bob = world.person("bob", password=world.PASSWORD, confirmed=False)
    log_in(client, "bob@example.org")
    assert reader(client) == str(bob.pk)


def test_it_prefers_who_confirmed_the_address(client: Client, ada: User) -> None:
    eve = world.person("eve", password=world.PASSWORD, confirmed=False)
    EmailAddress.objects.filter(user=eve).update(email="ada@example.org")
    log_in(client, "ada@example.org")
    assert reader(client) == str(ada.pk)


def test_it_lets_the_other_holder_of_an_address_in_too(client: Client, ada: User) -> None:
    eve = world.person("eve", password="another horse battery", confirmed=False)
    EmailAddress.objects.filter(user=eve).update(email="ada@example.org")
    log_in(client, "ada@example.org", "another horse battery")
    assert reader(client) == str(eve.pk)


def test_it_knows_no_address_that_was_given_up(client: Client, ada: User) -> None:
    EmailAddress.objects.filter(user=ada).update(email="new@example.org")
    log_in(client, "ada@example.org")
    assert reader(client) is None


@pytest.mark.parametrize(
    ("login", "password"),
    [
        *(("Ada", "wrong horse battery"), ("ada@example.org", "wrong horse battery")),
        *(("nobody", world.PASSWORD), ("nobody@example.org", world.PASSWORD)),
        *(("A_a", world.PASSWORD), ("%", world.PASSWORD), ("Ada", world.PASSWORD + " ")),
        *(("x" * 254, "x"), ("@", "x"), ("💥", "💥"), ("ada@@example.org", world.PASSWORD)),
    ],
)
def test_it_tells_everybody_else_the_same(
    client: Client, ada: User, login: str, password: str
) -> None:
    response = log_in(client, login, password)
    assert response.status_code == 200
    assert response.context["form"].non_field_errors() == [
        "This name or address and this password do not belong together."
    ]
    assert reader(client) is None


@pytest.mark.parametrize("fields", [{"login": "x" * 255}, {"password": "x" * 201}, {"login": ""}])
def test_it_refuses_what_cannot_be_one(client: Client, ada: User, fields: dict[str, str]) -> None:
    response: Any = client.post(LOGIN, {"login": "Ada", "password": world.PASSWORD} | fields)
    assert list(response.context["form"].errors) == list(fields)


def test_it_answers_400_to_a_nul(client: Client) -> None:
    assert log_in(client, "a\0da").status_code == 400
    assert log_in(client, "Ada", "a\0").status_code == 400


def test_it_lets_no_computer_in(client: Client) -> None:
    level = world.level()
    assert not level.has_usable_password()
    level.set_password(world.PASSWORD)
    level.save(update_fields=["password"])
    log_in(client, level.username)
    assert reader(client) is None


def test_it_lets_no_guest_in_again(client: Client) -> None:
    guest = world.guest()
    guest.set_password(world.PASSWORD)
    guest.save(update_fields=["password"])
    log_in(client, guest.username)
    assert reader(client) is None


def test_it_tells_the_owner_alone_that_an_account_is_closed(client: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert log_in(client)["Location"] == "/accounts/inactive/"
    assert "This account is closed" in client.get("/accounts/inactive/").content.decode()
    assert "do not belong together" in log_in(client, "Ada", "wrong").content.decode()
    assert reader(client) is None


def test_it_goes_on_to_where_the_reader_was(client: Client, ada: User) -> None:
    assert log_in(client, next="/x/")["Location"] == "/games/"
    client.logout()
    response = client.post(
        LOGIN, {"login": "Ada", "password": world.PASSWORD, "next": "/players/bob/"}
    )
    assert response["Location"] == "/players/bob/"


def test_it_leads_nowhere_else(client: Client, ada: User) -> None:
    fields = {"login": "Ada", "password": world.PASSWORD, "next": "https://evil.example/"}
    assert client.post(LOGIN, fields)["Location"] == "/games/"


def test_it_sends_a_player_away(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert client.get(LOGIN)["Location"] == "/games/"
    assert log_in(client, "nobody")["Location"] == "/games/"


def test_it_needs_the_token(ada: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert log_in(client).status_code == 403
    assert reader(client) is None


# --- who tries too often --------------------------------------------------------------------


def test_it_stops_listening_after_five_wrong_passwords(client: Client, ada: User) -> None:
    for _ in range(5):
        log_in(client, "Ada", "wrong")
    assert "Wait five minutes" in log_in(client).content.decode()
    assert reader(client) is None


def test_it_counts_by_the_address_that_really_asks(client: Client, ada: User) -> None:
    """The header is anybody's to write, as long as no proxy of ours stands before us."""
    for number in range(10):
        log_in(client, f"nobody{number}", headers={"X-Forwarded-For": f"10.0.0.{number}"})
    last = log_in(client, headers={"X-Forwarded-For": "10.0.0.99"})
    assert "Wait five minutes" in last.content.decode()


@override_settings(TRUSTED_PROXY_COUNT=1)
def test_it_counts_by_the_address_our_proxy_saw(client: Client, ada: User) -> None:
    for number in range(10):
        log_in(client, f"nobody{number}", headers={"X-Forwarded-For": f"10.9.9.{number}, 10.0.0.1"})
    assert (
        "five minutes"
        in log_in(client, headers={"X-Forwarded-For": "10.9.9.99, 10.0.0.1"}).content.decode()
    )
    log_in(client, headers={"X-Forwarded-For": "10.0.0.1, 10.0.0.2"})
    assert reader(client) == str(ada.pk)


@pytest.mark.parametrize(
    "forwarded",
    ["", ",", "x", "1.2.3.4", "a" * 5000, "::1, [::1]:80", "fe80::1%eth0, 1", "::ffff:1.2.3.4,"],
)
@override_settings(TRUSTED_PROXY_COUNT=2)
def test_it_survives_any_forwarded_header(client: Client, ada: User, forwarded: str) -> None:
    assert log_in(client, headers={"X-Forwarded-For": forwarded}).status_code == 302


def test_it_works_behind_a_socket_without_addresses(client: Client, ada: User) -> None:
    assert log_in(client, REMOTE_ADDR="").status_code == 302


# --- sessions -------------------------------------------------------------------------------


def test_it_lasts_180_days(client: Client, ada: User) -> None:
    cookie = log_in(client).cookies["sessionid"]
    assert cookie["max-age"] == 180 * 24 * 3600
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_it_is_renewed_once_a_day_by_use(
    client: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(client)
    assert "sessionid" not in client.get("/accounts/email/").cookies
    later = timezone.now() + timedelta(days=1, minutes=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    assert client.get("/accounts/email/").cookies["sessionid"]["max-age"] == 180 * 24 * 3600
    assert "sessionid" not in client.get("/accounts/email/").cookies


def test_it_makes_a_new_session_key(client: Client, ada: User) -> None:
    client.get(LOGIN)
    session = client.session
    session["before"] = True
    session.save()
    client.cookies["sessionid"] = str(session.session_key)
    log_in(client)
    assert client.session.session_key != session.session_key


@pytest.mark.parametrize("cookie", ['"abcdefgh\\000"', '"\\000"', "x" * 3000, "ü" * 40, '"'])
def test_it_survives_a_cookie_that_is_no_session(client: Client, cookie: str) -> None:
    client.cookies.load(f"csrftoken={'a' * 32}")
    assert client.get(LOGIN, headers={"Cookie": f"sessionid={cookie}"}).status_code == 200
    assert client.get("/accounts/email/", headers={"Cookie": f"sessionid={cookie}"})[
        "Location"
    ].startswith(LOGIN)


# --- logging out ----------------------------------------------------------------------------


def test_logging_out_takes_a_post(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert "Log out of this browser?" in client.get(LOGOUT).content.decode()
    assert reader(client) == str(ada.pk)
    assert client.post(LOGOUT)["Location"] == "/"
    assert reader(client) is None


def test_logging_out_twice_is_no_trouble(client: Client, ada: User) -> None:
    client.force_login(ada)
    client.post(LOGOUT)
    assert client.post(LOGOUT)["Location"] == "/"
    assert client.get(LOGOUT)["Location"] == "/"


# --- the staff ------------------------------------------------------------------------------


def test_the_staff_log_in_where_attempts_are_counted(client: Client, ada: User) -> None:
    assert client.get("/admin/login/")["Location"].startswith(LOGIN)
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    response = client.post(
        LOGIN, {"login": "Ada", "password": world.PASSWORD, "next": "/admin/"}, follow=True
    )
    assert response.redirect_chain == [("/admin/", 302)]


def test_others_get_no_further_into_the_admin(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert client.get("/admin/", follow=True).status_code == 403


# --- changing the password ------------------------------------------------------------------

CHANGE = "/accounts/password/change/"
NEW = "a longer horse battery"


def change(client: Client, old: str, new: str, again: str) -> Any:
    return client.post(CHANGE, {"oldpassword": old, "password1": new, "password2": again})


def test_a_new_password_takes_the_place_of_the_old(client: Client, ada: User) -> None:
    other = Client()
    log_in(other)
    log_in(client)
    assert change(client, world.PASSWORD, NEW, NEW).status_code == 302
    assert reader(client) == str(ada.pk)
    assert other.get("/accounts/email/")["Location"].startswith(LOGIN)
    log_in(other, "Ada", NEW)
    assert reader(other) == str(ada.pk)
    assert "was changed on" in mails.text(mails.letter("ada@example.org"))


@pytest.mark.parametrize(
    ("old", "new", "again", "field"),
    [
        ("wrong", NEW, NEW, "oldpassword"),
        (world.PASSWORD, "short", "short", "password1"),
        (world.PASSWORD, NEW, NEW + "!", "password2"),
    ],
)
def test_a_password_is_not_changed_by_mistake(
    client: Client, ada: User, old: str, new: str, again: str, field: str
) -> None:
    client.force_login(ada)
    assert list(change(client, old, new, again).context["form"].errors) == [field]
    ada.refresh_from_db()
    assert ada.check_password(world.PASSWORD)


@pytest.mark.parametrize(
    "path", [CHANGE, "/accounts/password/set/", "/accounts/email/", "/accounts/reauthenticate/"]
)
def test_pages_about_an_account_need_one(client: Client, path: str) -> None:
    assert client.get(path)["Location"] == f"{LOGIN}?next={path}"
    assert client.post(path)["Location"] == f"{LOGIN}?next={path}"
    client.force_login(world.guest())
    assert client.get(path)["Location"] == "/accounts/signup/"
    assert client.post(path)["Location"] == "/accounts/signup/"
