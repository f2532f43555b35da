"""What every request says about its reader: when they were here, and in which zone they read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.middleware import ReaderMiddleware, is_navigation
from accounts.models import User
from tests import world

pytestmark = pytest.mark.django_db

PAGE = "/accounts/logout/"


@pytest.fixture
def ada(client: Client) -> User:
    user = world.person("Ada")
    client.force_login(user)
    return user


def here(user: User) -> datetime | None:
    user.refresh_from_db()
    return user.last_navigation


# --- navigations ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Sec-Purpose": ""},
    ],
)
def test_opening_a_page_is_one(client: Client, ada: User, headers: dict[str, str]) -> None:
    before = timezone.now()
    client.get(PAGE, headers=headers)
    last = here(ada)
    assert last is not None
    assert last >= before


@pytest.mark.parametrize(
    "headers",
    [
        {"HX-Request": "true"},
        {"Sec-Purpose": "prefetch"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"Purpose": "prefetch"},
        {"X-Moz": "prefetch"},
        {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ],
)
def test_these_are_none(client: Client, ada: User, headers: dict[str, str]) -> None:
    client.get(PAGE, headers=headers)
    assert here(ada) is None


def test_head_and_post_are_none(client: Client, ada: User) -> None:
    client.head(PAGE)
    client.post("/accounts/email/", {})
    assert here(ada) is None


def test_it_is_noted_once_a_minute(
    client: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.get(PAGE)
    first = here(ada)
    assert first is not None
    client.get(PAGE)
    assert here(ada) == first
    later = first + timedelta(minutes=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    client.get(PAGE)
    assert here(ada) == later


def test_it_undoes_nothing_that_is_written_meanwhile(client: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(time_zone="Europe/Zagreb", confirm_moves=False)
    client.get(PAGE)
    ada.refresh_from_db()
    assert (ada.time_zone, ada.confirm_moves) == ("Europe/Zagreb", False)


def test_it_is_noted_for_guests_too(client: Client) -> None:
    guest = world.guest()
    client.force_login(guest)
    client.get(PAGE)
    assert here(guest) is not None


# --- queries --------------------------------------------------------------------------------


def answer(request: Any) -> HttpResponse:
    return HttpResponse(str(timezone.get_current_timezone_name()))


def test_a_poll_costs_the_session_and_the_player(
    client: Client, ada: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.get(PAGE)
    with django_assert_num_queries(2):
        # An address that takes posts only: the answer itself asks for nothing.
        assert client.get("/games/computer/", headers={"HX-Request": "true"}).status_code == 405


def test_a_stranger_costs_nothing(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        client.get("/accounts/inactive/")


# --- zones ----------------------------------------------------------------------------------


def through(user: User) -> str:
    request: Any = RequestFactory().get("/", headers={"HX-Request": "true"})
    request.user = user
    return ReaderMiddleware(answer)(request).content.decode()


@pytest.mark.parametrize("zone", ["Europe/Zagreb", "America/Sao_Paulo", "UTC"])
def test_times_are_the_reader_s(zone: str) -> None:
    assert through(User(time_zone=zone)) == zone
    assert timezone.get_current_timezone_name() == "UTC"


@pytest.mark.parametrize(
    "zone",
    [
        "",
        "Mars/Olympus",
        "../../etc/passwd",
        "/etc/passwd",
        "America",
        "a\0b",
        "x" * 64,
        "UTC ",
        "ü",
    ],
)
def test_a_zone_this_machine_does_not_know_is_utc(zone: str) -> None:
    assert User(time_zone=zone).zone == ZoneInfo("UTC")
    assert through(User(time_zone=zone)) == "UTC"


def test_one_reader_s_zone_is_not_the_next_one_s(client: Client, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(time_zone="Europe/Zagreb")
    client.get(PAGE)
    assert timezone.get_current_timezone_name() == "UTC"


def test_a_request_says_whether_it_is_one() -> None:
    make: Callable[..., Any] = RequestFactory().get
    assert is_navigation(make("/"))
    assert not is_navigation(RequestFactory().post("/"))
    assert not is_navigation(RequestFactory().head("/"))


# --- caches ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        *("/", "/rules/", "/games/", "/accounts/email/", "/accounts/password/change/", "/nope/"),
        *("/accounts/password/reset/", "/accounts/password/reset/key/1-xx/", "/accounts/logout/"),
        *("/accounts/confirm-email/xx/", "/archive/?before=xx", "/challenges/1/", "/?a=%00"),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_no_cache_keeps_a_page_for_others(
    client: Client, ada: User, page: str, known: bool
) -> None:
    if not known:
        client.logout()
    control = client.get(page).headers["Cache-Control"].split(", ")
    assert "private" in control
    assert {"no-cache", "no-store"} & set(control)
