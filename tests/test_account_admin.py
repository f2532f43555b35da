"""The admin's pages for players and mails; what a mail says is on none of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.mail import EmailMessage
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.asserts import assertContains

from accounts import mail
from accounts.models import Mail, User
from games.models import Level
from tests import world

pytestmark = pytest.mark.django_db

USERS = "/admin/accounts/user/"
MAILS = "/admin/accounts/mail/"
SECRET = "a link that opens an account"


@pytest.fixture
def staff(client: Client) -> User:
    user = world.person("boss")
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    client.force_login(user)
    return user


def write(number: int = 1) -> Mail:
    message = EmailMessage(f"Hello {number}", SECRET, to=[f"ada{number}@example.org"])
    return mail.write(message, key=f"test:{number}", next_try=timezone.now())


def names(response: Any) -> list[str]:
    return [str(row) for row in response.context["cl"].result_list]


# --- players --------------------------------------------------------------------------------


def test_players_are_found_by_name_or_address(client: Client, staff: User) -> None:
    world.person("Ada")
    world.guest()
    assert names(client.get(USERS, {"q": "ada"})) == ["Ada"]
    assert names(client.get(USERS, {"q": "ada@example.org"})) == ["Ada"]
    assert names(client.get(USERS, {"kind__exact": "guest"})) == ["guest-0a1b2c3d"]
    engines = names(client.get(USERS, {"kind__exact": "engine"}))
    assert sorted(engines) == sorted([*Level.values, *world.OLD_LEVELS])


def test_the_list_of_players_asks_no_more_for_more(client: Client, staff: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(USERS)
        return len(captured)

    client.get(USERS)
    few = queries()
    for number in range(30):
        world.person(f"player{number}")
    assert queries() <= few


def test_a_player_is_shown_and_changed(client: Client, staff: User) -> None:
    ada = world.person("Ada")
    path = f"{USERS}{ada.pk}/change/"
    response = client.get(path)
    assert response.status_code == 200
    form = response.context["adminform"].form
    fields = {name: form[name].value() for name in ("username", "time_zone")}
    client.post(path, fields | {"email": "new@example.org", "kind": "engine"})
    ada.refresh_from_db()
    assert (ada.is_active, ada.confirm_moves) == (False, False)
    assert (ada.email, ada.kind) == ("ada@example.org", "person")


def test_a_player_is_added(client: Client, staff: User) -> None:
    fields = {"username": "Ada", "usable_password": "true"}
    passwords = {"password1": world.PASSWORD, "password2": world.PASSWORD}
    assert client.get(f"{USERS}add/").status_code == 200
    assert client.post(f"{USERS}add/", fields | passwords).status_code == 302
    assert User.objects.get(username="Ada").is_person


def test_a_name_in_another_case_is_taken_here_too(client: Client, staff: User) -> None:
    fields = {"username": "BOSS", "usable_password": "true"}
    passwords = {"password1": world.PASSWORD, "password2": world.PASSWORD}
    response = client.post(f"{USERS}add/", fields | passwords)
    assert "This name is taken" in response.content.decode()


def test_addresses_have_a_list(client: Client, staff: User) -> None:
    world.person("Ada")
    response = client.get("/admin/account/emailaddress/", {"q": "ada"})
    assert names(response) == ["ada@example.org"]


def test_the_staff_change_their_password_where_everybody_does(client: Client, staff: User) -> None:
    assert client.get("/admin/password_change/")["Location"] == "/accounts/password/change/"


@pytest.mark.parametrize("path", ["/admin/", USERS, f"{USERS}add/"])
def test_its_pages_name_our_icon(client: Client, staff: User, path: str) -> None:
    assertContains(client.get(path), '<link rel="icon" href="/static/favicon.svg"')


def test_rights_are_given_through_groups(client: Client, staff: User) -> None:
    ada = world.person("Ada")
    right = Permission.objects.get(codename="view_mail")
    fields = {"name": "helpers", "permissions": [right.pk]}
    assert client.post("/admin/auth/group/add/", fields).status_code == 302
    [group] = Group.objects.all()
    rights = {"is_active": "on", "is_staff": "on", "groups": [group.pk]}
    fields = {"username": "Ada", "time_zone": "UTC", "confirm_moves": "on", **rights}
    assert client.post(f"{USERS}{ada.pk}/change/", fields).status_code == 302
    client.force_login(ada)
    assert client.get(MAILS).status_code == 200
    assert client.get(USERS).status_code == 403


def test_a_browser_is_told_whose_password_is_set(client: Client, staff: User) -> None:
    ada = world.person("Ada")
    page = client.get(f"{USERS}{ada.pk}/password/")
    assertContains(page, 'name="username"', count=1)
    assertContains(page, 'value="Ada" autocomplete="username" class="hidden"')


# --- mails ----------------------------------------------------------------------------------


def test_mails_are_found_by_recipient_or_subject(client: Client, staff: User) -> None:
    write(1)
    write(2)
    assert names(client.get(MAILS, {"q": "ada1"})) == ["test:1"]
    assert names(client.get(MAILS, {"q": "hello 2"})) == ["test:2"]
    assert len(names(client.get(MAILS, {"sent__isempty": "1"}))) == 2
    assert names(client.get(MAILS, {"failed__isempty": "0"})) == []


def test_no_page_shows_what_a_mail_says(client: Client, staff: User) -> None:
    row = write()
    for path in (MAILS, f"{MAILS}{row.pk}/change/", f"{MAILS}{row.pk}/history/"):
        response = client.get(path)
        assert response.status_code == 200
        assert SECRET not in response.content.decode()
        assert "opens an account" not in response.content.decode()


def test_the_list_of_mails_reads_no_bodies(client: Client, staff: User) -> None:
    write()
    with CaptureQueriesContext(connection) as captured:
        client.get(MAILS)
    assert not [query for query in captured if '"accounts_mail"."message"' in query["sql"]]


def test_mails_are_only_read(client: Client, staff: User) -> None:
    row = write()
    assert client.get(f"{MAILS}add/").status_code == 403
    assert client.get(f"{MAILS}{row.pk}/delete/").status_code == 403
    assert client.post(f"{MAILS}{row.pk}/change/", {"subject": "x"}).status_code == 403
    actions = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    client.post(MAILS, actions)
    assert Mail.objects.get(pk=row.pk).subject == "Hello 1"


# --- who may ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [USERS, MAILS, f"{USERS}add/", "/admin/"])
def test_it_is_the_staff_s_alone(client: Client, path: str) -> None:
    assert client.get(path)["Location"].startswith("/admin/login/")
    client.force_login(world.person("Ada"))
    assert client.get(path, follow=True).status_code == 403
    client.force_login(world.guest())
    assert client.get(path, follow=True).status_code == 403
