"""Preferences: which mails, which time zone, whether a move needs one more press."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import User
from games import notices
from games.models import Delivery, Kind, Subscription
from games.preference_forms import zones
from tests import world

pytestmark = pytest.mark.django_db

PAGE = "/preferences/"
ALL = Kind.values


@pytest.fixture
def alice() -> User:
    return world.person("alice")


@pytest.fixture
def as_alice(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def fields(**changes: object) -> dict[str, object]:
    return {"mails": ALL, "time_zone": "UTC", "confirm_moves": "on", **changes}


def test_it_asks_a_stranger_to_log_in(client: Client) -> None:
    for ask in (client.get, client.post):
        login = f"/accounts/login/?next={PAGE}"
        assertRedirects(ask(PAGE), login, fetch_redirect_response=False)


def test_it_shows_how_it_is(as_alice: Client, alice: User) -> None:
    notices.want(alice, ["turn", "over"])
    response = as_alice.get(PAGE)
    assertContains(response, 'type="checkbox" name="mails"', count=len(ALL))
    assertContains(response, 'name="confirm_moves" id="id_confirm_moves"', count=0)
    for kind in ALL:
        checked = f'value="{kind}" id="id_mails_{ALL.index(kind)}" checked'
        assertContains(response, checked, count=int(kind in ("turn", "over")))
    assertContains(response, '<option value="UTC" selected>UTC</option>', html=True)
    for text in ("It is my turn", "My time is running out", "I am offered a draw"):
        assertContains(response, text)
    for link in ("/accounts/email/", "/accounts/password/change/"):
        assertContains(response, f'href="{link}"')


def test_all_mails_are_on_at_first(as_alice: Client, alice: User) -> None:
    assert notices.wanted(alice) == ALL
    assertContains(as_alice.get(PAGE), "checked", count=len(ALL) + 1)


def test_it_saves(as_alice: Client, alice: User) -> None:
    response = as_alice.post(PAGE, {"mails": ["turn"], "time_zone": "Europe/Zagreb"}, follow=True)
    assertRedirects(response, PAGE, status_code=303)
    assertContains(response, "Saved.")
    alice.refresh_from_db()
    assert (alice.time_zone, alice.confirm_moves) == ("Europe/Zagreb", False)
    assert notices.wanted(alice) == ["turn"]
    assertContains(response, '<option value="Europe/Zagreb" selected>Zagreb</option>', html=True)


def test_it_saves_twice_and_back(as_alice: Client, alice: User) -> None:
    for wanted in ([], [], ["draw"], ALL):
        as_alice.post(PAGE, fields(mails=wanted))
        assert notices.wanted(alice) == wanted
    assert Subscription.objects.filter(player=alice).count() == len(ALL)


def test_the_link_in_a_mail_outlives_it(as_alice: Client, alice: User) -> None:
    token = notices.subscription(alice, "turn").token
    as_alice.post(PAGE, fields(mails=[]))
    assert notices.subscription(alice, "turn").token == token


def test_it_changes_nobody_else(as_alice: Client) -> None:
    bob = world.person("bob")
    as_alice.post(PAGE, fields(mails=[], time_zone="Asia/Tokyo"))
    bob.refresh_from_db()
    assert notices.wanted(bob) == ALL and bob.time_zone == "UTC"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"mails": ["turn", "nonsense"]}, "mails"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"time_zone": ""}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"time_zone": "x" * 5000}, "time_zone"),
    ],
)
def test_it_says_at_the_field_what_is_wrong(
    as_alice: Client, alice: User, changes: dict[str, object], field: str
) -> None:
    response = as_alice.post(PAGE, fields(**changes))
    assertContains(response, f'id="id_{field}_error"', status_code=422)
    alice.refresh_from_db()
    assert alice.time_zone == "UTC" and notices.wanted(alice) == ALL


def test_a_nul_is_refused(as_alice: Client) -> None:
    assert as_alice.post(PAGE, fields(time_zone="UTC\0")).status_code == 400


# --- time zones -----------------------------------------------------------------------------


def test_zones_are_listed_by_place() -> None:
    regions = dict(zones())
    assert ("America/Argentina/Buenos_Aires", "Argentina, Buenos Aires") in regions["America"]
    assert ("Europe/Zagreb", "Zagreb") in regions["Europe"]
    assert not {"Etc", "US"} & regions.keys()


def test_no_place_is_listed_by_a_name_of_long_ago() -> None:
    names = {name for _region, places in zones() for name, _place in places}
    assert {"America/Sao_Paulo", "Pacific/Auckland"} <= names
    assert not {"Brazil/East", "Mexico/General", "US/Eastern", "Etc/UTC"} & names


def test_a_zone_that_is_not_listed_can_be_kept(as_alice: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(time_zone="Etc/GMT+5")
    chosen = '<option value="Etc/GMT+5" selected>Etc/GMT+5</option>'
    assertContains(as_alice.get(PAGE), chosen, html=True)
    assert as_alice.post(PAGE, fields(time_zone="Etc/GMT+5")).status_code == 303


def test_a_zone_that_is_gone_can_be_changed(as_alice: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(time_zone="Nowhere/Gone")
    assert as_alice.get(PAGE).status_code == 200
    assert as_alice.post(PAGE, fields(time_zone="Asia/Tokyo")).status_code == 303


def test_the_pages_speak_of_the_readers_time(as_alice: Client) -> None:
    as_alice.post(PAGE, fields(time_zone="Asia/Tokyo"))
    tokyo = datetime.now(UTC) + timedelta(hours=9)
    response = as_alice.get(PAGE)
    assertContains(response, "(Asia/Tokyo)")
    minutes = {f"{tokyo + timedelta(minutes=n):%H:%M}" for n in (-1, 0)}
    assert any(f"It is now {minute}" in response.content.decode() for minute in minutes)


# --- where mails go -------------------------------------------------------------------------


def test_it_says_where_mails_go(as_alice: Client) -> None:
    assertContains(as_alice.get(PAGE), "They go to alice@example.org.")


def test_it_says_that_an_address_needs_confirming(client: Client) -> None:
    client.force_login(world.person("carol", confirmed=False))
    response = client.get(PAGE)
    assertContains(response, "None of these goes out yet")
    assertContains(response, 'href="/accounts/email/"')
    assertNotContains(response, "carol@example.org")


def test_it_says_when_the_last_mail_went(as_alice: Client, alice: User) -> None:
    now = timezone.now()
    notices.tell(alice, Kind.OUTAGE, "outage:o1", now=now)
    assertNotContains(as_alice.get(PAGE), "The last one was sent")
    Delivery.objects.update(sent=now, next_try=None)
    assertContains(as_alice.get(PAGE), "The last one was sent: <time")
    notices.tell(alice, Kind.OUTAGE, "outage:o2", now=now)
    Delivery.objects.filter(sent=None).update(failed=now, next_try=None, error="550 no such user")
    response = as_alice.get(PAGE)
    assertContains(response, "The last mail to alice@example.org could not be delivered.")
    assertNotContains(response, "550")


def test_mail_of_others_is_not_mine(as_alice: Client) -> None:
    now = timezone.now()
    notices.tell(world.person("bob"), Kind.OUTAGE, "outage:o1", now=now)
    Delivery.objects.update(sent=now, next_try=None)
    assertNotContains(as_alice.get(PAGE), "The last one was sent")


def test_a_guest_chooses_what_concerns_a_guest(client: Client) -> None:
    guest = world.guest()
    client.force_login(guest)
    response = client.get(PAGE)
    assertNotContains(response, 'name="mails"')
    assertNotContains(response, "/accounts/password/change/")
    assertContains(response, "A guest is told nothing by mail.")
    assert client.post(PAGE, {"time_zone": "Asia/Tokyo"}).status_code == 303
    guest.refresh_from_db()
    assert (guest.time_zone, guest.confirm_moves) == ("Asia/Tokyo", False)
    assert not Subscription.objects.exists()
