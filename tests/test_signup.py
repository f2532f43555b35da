"""Signing up: a name, an address and a password, and the first game is a click away."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.test import Client, override_settings
from django.utils import timezone

from accounts.adapter import AccountAdapter
from accounts.models import Mail, User
from tests import hashers, mails, world

pytestmark = pytest.mark.django_db

SIGNUP = "/accounts/signup/"
URLENCODED = "application/x-www-form-urlencoded"
FORM = {"username": "Ada", "email": "ada@example.org", "password1": world.PASSWORD}


def sign_up(client: Client, **changes: str) -> Any:
    return client.post(SIGNUP, FORM | changes)


def errors(response: Any) -> dict[str, list[str]]:
    """The errors of the form on the page, which is not an error page."""
    assert response.status_code == 200
    return {name: list(texts) for name, texts in response.context["form"].errors.items()}


# --- the way in -----------------------------------------------------------------------------


@override_settings(PASSWORD_HASHERS=hashers.REAL)
def test_it_logs_in_and_leads_to_play(client: Client) -> None:
    response = sign_up(client)
    assert (response.status_code, response["Location"]) == (302, "/games/")
    user = User.objects.get(username="Ada")
    assert client.session["_auth_user_id"] == str(user.pk)
    assert user.is_person
    assert user.email == "ada@example.org"
    assert user.password.startswith("argon2$argon2id$v=19$m=102400,t=2,p=8$")


def test_it_keeps_addresses_in_lower_case(client: Client) -> None:
    sign_up(client, email="Ada@Example.ORG")
    assert User.objects.get(username="Ada").email == "ada@example.org"
    assert EmailAddress.objects.get().email == "ada@example.org"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("Europe/Zagreb", "Europe/Zagreb"),
        ("", "UTC"),
        ("Mars/Olympus", "UTC"),
        ("../../etc/passwd", "UTC"),
        ("x" * 5000, "UTC"),
    ],
)
def test_it_keeps_the_time_zone_that_the_browser_names(
    client: Client, sent: str, kept: str
) -> None:
    assert 'name="time_zone" data-zone' in client.get(SIGNUP).content.decode()
    assert sign_up(client, time_zone=sent).status_code == 302
    assert User.objects.get(username="Ada").time_zone == kept


def test_a_guest_s_own_time_zone_stays_where_the_browser_names_none(client: Client) -> None:
    guest = world.guest()
    User.objects.filter(pk=guest.pk).update(time_zone="Asia/Tokyo")
    client.force_login(guest)
    sign_up(client)
    guest.refresh_from_db()
    assert (guest.username, guest.time_zone) == ("Ada", "Asia/Tokyo")


def test_it_goes_on_to_where_the_reader_was(client: Client) -> None:
    assert sign_up(client, next="/players/bob/")["Location"] == "/players/bob/"


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil"]
)
def test_it_leads_nowhere_else(client: Client, elsewhere: str) -> None:
    assert sign_up(client, next=elsewhere)["Location"] == "/games/"


@pytest.mark.parametrize("path", [SIGNUP, "/accounts/login/"])
@pytest.mark.parametrize("odd", ["0", "landing", "no such page", "é"])
def test_a_next_that_is_no_address_is_no_error(client: Client, path: str, odd: str) -> None:
    """For somebody who is logged in already, and is sent on at once."""
    client.force_login(world.person("bob"))
    assert client.get(path, {"next": odd}).status_code == 302


def test_its_page_has_a_form_without_placeholders(client: Client) -> None:
    page = client.get(SIGNUP).content.decode()
    assert '<label for="id_username">' in page
    assert "placeholder" not in page
    assert "style=" not in page


def test_it_sends_a_player_away(client: Client) -> None:
    client.force_login(world.person("bob"))
    assert client.get(SIGNUP)["Location"] == "/games/"
    assert sign_up(client)["Location"] == "/games/"
    assert not User.objects.filter(username="Ada").exists()


def test_it_needs_the_token() -> None:
    client = Client(enforce_csrf_checks=True)
    assert sign_up(client).status_code == 403
    assert not User.objects.filter(username="Ada").exists()


def test_it_is_refused_after_twenty_a_minute(client: Client) -> None:
    answers = [sign_up(client, password1="short").status_code for _ in range(21)]
    assert answers == [200] * 20 + [429]
    assert "Too much at once" in sign_up(client).content.decode()


# --- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["abc", "A23456789012345678-_", "x_-", "Ada2"])
def test_it_takes_names(client: Client, name: str) -> None:
    assert sign_up(client, username=name).status_code == 302
    assert User.objects.get(username=name).is_person


@pytest.mark.parametrize(
    "name",
    ["ab", "a" * 21, "1abc", "_abc", "-abc", "a bc", "abc!", "a.bc", "a@bc.org", "ädam", "абв", ""],
)
def test_it_refuses_other_names(client: Client, name: str) -> None:
    assert list(errors(sign_up(client, username=name))) == ["username"]


@pytest.mark.parametrize(
    "name",
    [
        *("admin", "Root", "STAFF", "support", "moderator", "system", "onitama", "computer"),
        *("closed-account", "closed_account", "C-l-o-s-e-d-account", "white-belt", "WhiteBelt"),
        *(
            "grandmaster",
            "black_belt",
            "White-Belt",
            "random",
            "two-ply",
            "Four_Ply",
            "guest",
            "guest-0a1b2c3d",
        ),
        "Guest_ada",
    ],
)
def test_it_refuses_reserved_names(client: Client, name: str) -> None:
    assert errors(sign_up(client, username=name)) == {"username": ["This name is reserved."]}


@pytest.mark.parametrize("name", ["bob", "Bob", "BOB"])
def test_it_refuses_a_name_in_any_case_that_is_taken(client: Client, name: str) -> None:
    world.person("bob")
    assert errors(sign_up(client, username=name)) == {"username": ["This name is taken."]}


def test_it_refuses_a_name_taken_in_that_very_moment(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AccountAdapter, "clean_username", lambda self, name, shallow=False: name)
    world.person("ADA")
    assert errors(sign_up(client)) == {"username": ["This name is taken."]}
    assert "_auth_user_id" not in client.session
    assert not Mail.objects.exists()


# --- addresses and passwords ----------------------------------------------------------------


@pytest.mark.parametrize(
    "email",
    [
        *("", "ada", "ada@", "@example.org", "ada@example", "a b@example.org", "a@b@example.org"),
        *('"a b"@example.org', '"a"@example.org', '"a\\\rb"@example.org', "a\n@example.org"),
        # They pass for letters from a to z where case does not matter, and have no place in a mail.
        *("\u0130da@example.org", "\u017fam@example.org"),
        *(f"{'a' * 243}@example.org", f"ada@{'ü' * 60}.{'ö' * 60}.{'ä' * 60}.example.org"),
    ],
)
def test_it_refuses_what_is_no_address(client: Client, email: str) -> None:
    assert list(errors(sign_up(client, email=email))) == ["email"]


def test_it_takes_an_address_of_many_letters(client: Client) -> None:
    sign_up(client, email="ada@exämple.org")
    assert EmailAddress.objects.get().email == "ada@exämple.org"
    assert mails.letter("ada@xn--exmple-cua.org")


@pytest.mark.parametrize("password", ["", "short", "password", "12345678", "ada@example.org"])
def test_it_refuses_a_weak_password(client: Client, password: str) -> None:
    assert list(errors(sign_up(client, password1=password))) == ["password1"]


@pytest.mark.parametrize("field", ["username", "email", "password1", "next"])
def test_it_survives_texts_without_an_end(client: Client, field: str) -> None:
    assert sign_up(client, **{field: "x" * 1_000_000}).status_code in {200, 302}


@pytest.mark.parametrize("odd", ["\ud800", "\u202eada", "a\u0301da", "\ufeff", "💥" * 9, "\x1b[0m"])
@pytest.mark.parametrize("field", ["username", "email"])
def test_it_survives_odd_letters(client: Client, field: str, odd: str) -> None:
    body = "&".join(f"{name}={value}" for name, value in (FORM | {field: odd}).items()).encode(
        "utf-8", "surrogatepass"
    )
    response = client.post(SIGNUP, body, content_type=URLENCODED)
    assert list(errors(response)) == [field]


@pytest.mark.parametrize("field", ["username", "email", "password1", "next", "other\0"])
def test_it_answers_400_to_a_nul(client: Client, field: str) -> None:
    assert sign_up(client, **{field: "a\0b"}).status_code == 400


def test_it_answers_400_to_a_nul_in_the_address(client: Client) -> None:
    assert client.get(SIGNUP + "?email=a%00b").status_code == 400
    assert client.get("/accounts/%00/").status_code == 400


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"username=" + b"x" * 3_000_000, "application/x-www-form-urlencoded"),
        (
            b"&".join(b"a%d=1" % number for number in range(1001)),
            "application/x-www-form-urlencoded",
        ),
        (b"username=Ada", "application/x-www-form-urlencoded; charset=utf-7"),
        (b"--x\r\nContent-Disposition: form-data; name=", "multipart/form-data; boundary="),
        (b"{", "multipart/form-data; boundary=\xff"),
    ],
)
def test_it_answers_400_to_a_body_that_is_none(client: Client, body: bytes, kind: str) -> None:
    assert client.post(SIGNUP, body, content_type=kind).status_code == 400


# --- confirming -----------------------------------------------------------------------------


def test_it_mails_a_link_that_confirms(client: Client) -> None:
    sign_up(client)
    path = mails.path(mails.letter("ada@example.org"), "confirm-email")
    assert "ada@example.org" in client.get(path).content.decode()
    assert not EmailAddress.objects.get().verified
    assert client.post(path)["Location"] == "/games/"
    address = EmailAddress.objects.get()
    assert address.verified
    assert address.primary


def test_it_confirms_from_another_browser(client: Client) -> None:
    sign_up(client)
    other = Client()
    path = mails.path(mails.letter("ada@example.org"), "confirm-email")
    assert other.post(path)["Location"] == "/accounts/login/"
    assert EmailAddress.objects.get().verified
    assert "_auth_user_id" not in other.session


def test_its_link_logs_nobody_out(client: Client) -> None:
    sign_up(client)
    bob = world.person("bob")
    client.force_login(bob)
    path = mails.path(mails.letter("ada@example.org"), "confirm-email")
    client.get(path)
    client.post(path)
    assert client.session["_auth_user_id"] == str(bob.pk)


def test_its_link_works_once(client: Client) -> None:
    sign_up(client)
    path = mails.path(mails.letter("ada@example.org"), "confirm-email")
    client.post(path)
    assert "no longer valid" in client.get(path).content.decode()
    assert client.post(path).status_code == 404


def test_its_link_is_good_for_three_days(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(client)
    path = mails.path(mails.letter("ada@example.org"), "confirm-email")
    later = timezone.now() + timedelta(days=3, seconds=1)
    monkeypatch.setattr("django.core.signing.time.time", later.timestamp)
    assert "no longer valid" in client.get(path).content.decode()
    assert client.post(path).status_code == 404


@pytest.mark.parametrize("key", ["x", "MQ:1:2", "-", "ü", "MQ" * 900])
def test_a_link_that_nobody_made_confirms_nothing(client: Client, key: str) -> None:
    assert "no longer valid" in client.get(f"/accounts/confirm-email/{key}/").content.decode()
    assert client.post(f"/accounts/confirm-email/{key}/").status_code == 404


def test_only_one_account_confirms_an_address(client: Client) -> None:
    sign_up(client)
    other = Client()
    sign_up(other, username="Eve", email="eve@example.org")
    first = mails.path(mails.letter("ada@example.org"), "confirm-email")
    second = mails.path(mails.letter("eve@example.org"), "confirm-email")
    EmailAddress.objects.update(email="same@example.org")
    client.post(first)
    assert "another account" in other.get(second).content.decode()
    other.post(second)
    assert EmailAddress.objects.get(verified=True).user.username == "Ada"


def test_two_who_confirm_at_once_are_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    world.person("bob")
    sign_up(client, email="bob@example.org")
    address = EmailAddress.objects.get(user__username="Ada")
    monkeypatch.setattr(EmailAddress, "can_set_verified", lambda self: True)
    assert (
        client.post(
            f"/accounts/confirm-email/{EmailConfirmationHMAC(address).key}/", follow=True
        ).status_code
        < 500
    )
    assert not EmailAddress.objects.get(user__username="Ada").verified


@override_settings(SITE_URL="https://onitama.example", ALLOWED_HOSTS=["*"])
def test_its_mail_links_to_the_site_whatever_the_host(client: Client) -> None:
    client.post(SIGNUP, FORM, headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example"})
    message = mails.letter("ada@example.org")
    assert "evil.example" not in str(message)
    assert mails.links(message, "confirm-email")[0].startswith("https://onitama.example/accounts/")


def test_its_mail_is_an_account_mail(client: Client) -> None:
    sign_up(client)
    message = mails.letter("ada@example.org")
    assert message["Subject"] == "Onitama: confirm your address"
    assert message["Auto-Submitted"] == "auto-generated"
    assert not [name for name in message if name.lower().startswith("list-")]
    assert "Ada" in mails.text(message)
    assert mails.links(message, "confirm-email")[0] in mails.text(message, "html")


# --- those who came to nothing --------------------------------------------------------------


def test_who_never_confirms_is_found_after_thirty_days() -> None:
    now = timezone.now()
    for name, days, confirmed in (("old", 30, False), ("new", 29, False), ("real", 90, True)):
        user = world.person(name, confirmed=confirmed)
        User.objects.filter(pk=user.pk).update(date_joined=now - timedelta(days=days))
    staff = world.person("boss", confirmed=False)
    User.objects.filter(pk=staff.pk).update(date_joined=now - timedelta(days=90), is_staff=True)
    assert [user.username for user in User.objects.never_confirmed(now)] == ["old"]
