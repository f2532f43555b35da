"""One address for each player and kind of mail ends those mails, by a post from anybody."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from accounts.models import User
from games.models import Kind, Subscription
from tests import world

pytestmark = pytest.mark.django_db

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def row(alice: User) -> Subscription:
    return world.subscription(alice, Kind.TURN)


@pytest.fixture
def mail_program() -> Client:
    """Without a cookie or a token, and as strict as the site is."""
    return Client(enforce_csrf_checks=True)


def address(row: Subscription) -> str:
    return f"/unsubscribe/{row.token}/"


def test_one_post_ends_these_mails(mail_program: Client, row: Subscription, alice: User) -> None:
    response = mail_program.post(address(row), ONE_CLICK)
    assertContains(response, "No more of these mails")
    assert world.wanted(alice) == [kind for kind in Kind.values if kind != Kind.TURN]
    assert not response.cookies


def test_the_body_does_not_matter(mail_program: Client, row: Subscription, alice: User) -> None:
    body, form = "List-Unsubscribe=One-Click", "application/x-www-form-urlencoded"
    assert mail_program.post(address(row), body, content_type=form).status_code == 200
    assert mail_program.post(address(row)).status_code == 200
    assert Kind.TURN not in world.wanted(alice)


def test_twice_is_fine(mail_program: Client, row: Subscription, alice: User) -> None:
    for _ in range(2):
        assertContains(mail_program.post(address(row), ONE_CLICK), "No more of these mails")
    assert len(world.wanted(alice)) == len(Kind.values) - 1


@pytest.mark.parametrize("method", ["get", "head", "options", "put", "delete", "patch"])
def test_nothing_but_a_post_changes_anything(
    mail_program: Client, row: Subscription, alice: User, method: str
) -> None:
    status = getattr(mail_program, method)(address(row)).status_code
    assert status == (200 if method in ("get", "head") else 405)
    assert world.wanted(alice) == Kind.values


def test_looking_shows_one_button_and_the_way_to_the_preferences(
    mail_program: Client, row: Subscription
) -> None:
    response = mail_program.get(address(row))
    assertContains(response, "It is my turn")
    assertContains(response, "<button", count=1)
    assertContains(response, 'method="post"', count=1)
    assertContains(response, 'href="/preferences/"')
    assertNotContains(response, "csrfmiddlewaretoken")
    assert not response.cookies


def test_it_shows_nothing_of_whose_it_is(mail_program: Client, row: Subscription) -> None:
    for response in (mail_program.get(address(row)), mail_program.post(address(row))):
        assertNotContains(response, "alice")
        assertNotContains(response, "example.org")


@pytest.mark.parametrize("mode", ["every", "back", "digest"])
def test_it_warns_where_the_digest_is_all_that_tells_of_turns(
    mail_program: Client, alice: User, row: Subscription, mode: str
) -> None:
    User.objects.filter(pk=alice.pk).update(mail_mode=mode)
    digest, warning = world.subscription(alice, Kind.DIGEST), "no mail says that it is your turn"
    for ask in (mail_program.get, mail_program.post):
        assertContains(ask(address(digest)), warning, count=int(mode == "digest"))
        assertNotContains(ask(address(row)), warning)


def test_it_ends_one_kind_for_one_player(mail_program: Client, row: Subscription) -> None:
    bob = world.person("bob")
    world.subscription(bob, Kind.TURN)
    mail_program.post(address(row))
    assert world.wanted(bob) == Kind.values


def test_being_logged_in_as_somebody_else_changes_nothing(row: Subscription, alice: User) -> None:
    client, bob = Client(), world.person("bob")
    client.force_login(bob)
    assert client.post(address(row)).status_code == 200
    assert world.wanted(bob) == Kind.values
    assert Kind.TURN not in world.wanted(alice)


@pytest.mark.parametrize("token", ["x", "x" * 43, "x" * 5000, "%00", "%F0%9F%80%84", "a b", "-"])
def test_an_unknown_token_is_nothing(mail_program: Client, row: Subscription, token: str) -> None:
    for ask in (mail_program.get, mail_program.post):
        assert ask(f"/unsubscribe/{token}/").status_code in (
            (400, 404) if "%00" in token else (404,)
        )


def test_the_address_is_kept_from_caches_engines_and_other_sites(
    mail_program: Client, row: Subscription
) -> None:
    for response in (mail_program.get(address(row)), mail_program.post(address(row))):
        assert response["Cache-Control"] == "no-store"
        assert response["X-Robots-Tag"] == "noindex"
        assert response["Referrer-Policy"] == "no-referrer"


def test_it_can_be_taken_back_under_preferences(row: Subscription, alice: User) -> None:
    client = Client()
    client.post(address(row))
    client.force_login(alice)
    asked = {"mail": Kind.values, "mail_mode": "every", "time_zone": "UTC", "out_of_time": "win"}
    client.post("/preferences/", asked)
    assert world.wanted(alice) == Kind.values
