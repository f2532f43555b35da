"""Preferences: what a player is told, how and when; the player's clock; moves and opponents."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects
from pytest_django.fixtures import Settings

from accounts.models import User
from games import notices
from games.models import Delivery, Kind, Notice, PushDevice, Subscription
from games.preference_forms import zones
from tests import world

pytestmark = pytest.mark.django_db

PAGE, TEST = "/preferences/", "/preferences/test/"
ALL = Kind.values


@pytest.fixture
def as_alice(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def fields(**changes: object) -> dict[str, object]:
    """The form as it is at first."""
    ways = {"site": ALL, "mail": ALL}
    own = {
        "mail_mode": "every",
        "reminder_hours": "24, 4",
        "time_zone": "UTC",
        "digest_hour": "",
        "quiet_from": "",
        "quiet_until": "",
        "confirm_moves": "on",
        "out_of_time": "win",
    }
    return {**ways, **own, **changes}


def ticked(response: Any, channel: str) -> list[str]:
    boxes = re.findall(
        rf'<input type="checkbox" name="{channel}" value="(\w+)"( checked)?>',
        response.content.decode(),
    )
    assert [kind for kind, _checked in boxes] == ALL
    return [kind for kind, checked in boxes if checked]


def refused(response: Any, field: str) -> str:
    """What the page says is wrong, tied to the field; nothing else is."""
    page = response.content.decode()
    assert response.status_code == 422
    [said] = re.findall(r'<ul class="errorlist" id="(\w+)"><li>(.*?)</li></ul>', page)
    assert said[0] == f"id_{field}_error"
    assert re.search(rf'aria-describedby="[^"]*\b{said[0]}\b', page)
    return unescape(said[1])


def test_it_asks_a_stranger_to_log_in(client: Client) -> None:
    for page, ask in ((PAGE, client.get), (PAGE, client.post), (TEST, client.post)):
        login = f"/accounts/login/?next={PAGE}"
        assertRedirects(ask(page), login, fetch_redirect_response=False)


def test_it_shows_how_it_is(as_alice: Client, alice: User) -> None:
    on, off = (True, True, True), (False, False, True)
    notices.set_channels(alice, {k: on if k in ("turn", "over") else off for k in ALL})
    User.objects.filter(pk=alice.pk).update(
        mail_mode="back",
        reminder_hours=[48, 2],
        digest_hour=7,
        quiet_from="22:30",
        quiet_until="06:00",
        confirm_moves=False,
        out_of_time="abort",
    )
    response = as_alice.get(PAGE)
    for channel in ("site", "mail"):
        assert ticked(response, channel) == ["turn", "over"]
    for chosen in (
        '<input type="radio" name="mail_mode" value="back" id="id_mail_mode_1" required checked>',
        '<option value="7" selected>07:00</option>',
        '<input type="checkbox" name="confirm_moves" id="id_confirm_moves"'
        ' aria-describedby="id_confirm_moves_helptext">',
        '<input type="radio" name="out_of_time" value="abort" id="id_out_of_time_1" required'
        " checked>",
        '<option value="UTC" selected>UTC</option>',
        '<input type="time" name="quiet_from" value="22:30" id="id_quiet_from">',
        '<input type="time" name="quiet_until" value="06:00" id="id_quiet_until">',
    ):
        assertContains(response, chosen, html=True)
    assertContains(response, 'value="48, 2"')
    for text in ("It is my turn", "My time is running out", "I am offered a draw"):
        assertContains(response, text)
    for link in ("/accounts/email/", "/accounts/password/change/"):
        assertContains(response, f'href="{link}"')


def test_each_box_of_the_table_has_its_name(as_alice: Client) -> None:
    page = as_alice.get(PAGE).content.decode()
    names = re.findall(r'<input type="checkbox" name="(?:site|mail)"[^>]*><span[^>]*>(.*?)<', page)
    assert len(set(names)) == len(names) == 2 * len(ALL)
    assert {"Bell: It is my turn", "Mail: I am offered a draw"} <= set(names)


def test_everything_is_told_at_first(as_alice: Client) -> None:
    response = as_alice.get(PAGE)
    assert ticked(response, "site") == ticked(response, "mail") == ALL


def test_it_saves(as_alice: Client, alice: User) -> None:
    response = as_alice.post(
        PAGE,
        {
            **{"site": ["over"], "mail": ["turn", "digest"], "mail_mode": "back"},
            **{"reminder_hours": "4, 48", "time_zone": "Europe/Zagreb", "digest_hour": "0"},
            **{"quiet_from": "22:30", "quiet_until": "06:00", "out_of_time": "abort"},
        },
        follow=True,
    )
    assertRedirects(response, PAGE, status_code=303)
    assertContains(response, "Saved.")
    alice.refresh_from_db()
    assert (alice.time_zone, alice.confirm_moves) == ("Europe/Zagreb", False)
    assert (alice.mail_mode, alice.out_of_time) == ("back", "abort")
    assert (alice.reminder_hours, alice.digest_hour) == ([48, 4], 0)
    assert (alice.quiet_from, alice.quiet_until) == (time(22, 30), time(6))
    assert ticked(response, "site") == ["over"]
    assert ticked(response, "mail") == ["turn", "digest"]
    assertContains(response, '<option value="Europe/Zagreb" selected>Zagreb</option>', html=True)


def test_what_is_saved_is_taken_back(as_alice: Client, alice: User) -> None:
    as_alice.post(PAGE, fields(quiet_from="22:00", quiet_until="07:00", digest_hour="9"))
    as_alice.post(PAGE, fields(reminder_hours="", site=[]))
    alice.refresh_from_db()
    assert (alice.quiet_from, alice.quiet_until, alice.digest_hour) == (None, None, None)
    assert alice.reminder_hours == []
    assert notices.channels(alice)["turn"] == (False, True, True)


def test_it_saves_twice_and_back(as_alice: Client, alice: User) -> None:
    for wanted in ([], [], ["draw"], ALL):
        as_alice.post(PAGE, fields(mail=wanted))
        assert world.wanted(alice) == wanted
    assert Subscription.objects.filter(player=alice).count() == len(ALL)


def test_the_link_in_a_mail_outlives_it(as_alice: Client, alice: User) -> None:
    token = world.subscription(alice, "turn").token
    as_alice.post(PAGE, fields(mail=[]))
    assert world.subscription(alice, "turn").token == token


def test_it_changes_nobody_else(as_alice: Client) -> None:
    bob = world.person("bob")
    as_alice.post(PAGE, fields(mail=[], time_zone="Asia/Tokyo", digest_hour="9"))
    bob.refresh_from_db()
    assert world.wanted(bob) == ALL and bob.time_zone == "UTC" and bob.next_digest is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"mail": ["turn", "nonsense"]}, "mail"),
        ({"site": ["nonsense"]}, "site"),
        ({"mail_mode": "nonsense"}, "mail_mode"),
        ({"mail_mode": ""}, "mail_mode"),
        ({"digest_hour": "24"}, "digest_hour"),
        ({"digest_hour": "-1"}, "digest_hour"),
        ({"digest_hour": "noon"}, "digest_hour"),
        ({"quiet_from": "22:00"}, "quiet_until"),
        ({"quiet_until": "22:00"}, "quiet_from"),
        ({"quiet_from": "25:00", "quiet_until": "07:00"}, "quiet_from"),
        ({"quiet_from": "7", "quiet_until": "7:00"}, "quiet_from"),
        ({"quiet_from": "07:00", "quiet_until": "07:00"}, "quiet_until"),
        ({"quiet_from": "00:00", "quiet_until": "00:00"}, "quiet_until"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"time_zone": ""}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"time_zone": "x" * 5000}, "time_zone"),
        ({"out_of_time": "draw"}, "out_of_time"),
    ],
)
def test_it_says_at_the_field_what_is_wrong(
    as_alice: Client, alice: User, changes: dict[str, object], field: str
) -> None:
    refused(as_alice.post(PAGE, fields(**{"confirm_moves": "", **changes})), field)
    alice.refresh_from_db()
    assert alice.time_zone == "UTC" and world.wanted(alice) == ALL
    assert alice.confirm_moves and alice.quiet_from is None


def test_what_was_typed_stays_to_be_mended(as_alice: Client) -> None:
    response = as_alice.post(PAGE, fields(reminder_hours="24, soon", mail=["turn"]))
    assertContains(response, 'value="24, soon"', status_code=422)
    assertContains(response, "Not saved.", status_code=422)
    assert ticked(response, "mail") == ["turn"]


def test_a_nul_is_refused(as_alice: Client) -> None:
    assert as_alice.post(PAGE, fields(time_zone="UTC\0")).status_code == 400


# --- reminders ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "hours"),
    [
        ("24, 4", [24, 4]),
        ("4 24", [24, 4]),
        (" 24h;4 h, 4,", [24, 4]),
        ("2 d, 1d; 24", [48, 24]),
        ("1", [1]),
        ("336, 14 D", [336]),
        ("5,4,3,2,1,1", [5, 4, 3, 2, 1]),
        ("", []),
        (" , ", []),
        ("007", [7]),
        ("٤", [4]),
    ],
)
def test_hours_are_read_as_people_write_them(
    as_alice: Client, alice: User, typed: str, hours: list[int]
) -> None:
    assert as_alice.post(PAGE, fields(reminder_hours=typed)).status_code == 303
    alice.refresh_from_db()
    assert alice.reminder_hours == hours


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("0", "Each from 1 to 336 hours before the deadline."),
        ("337", "Each from 1 to 336 hours before the deadline."),
        ("15 d", "Each from 1 to 336 hours before the deadline."),
        ("9" * 200, "Each from 1 to 336 hours before the deadline."),
        ("6 5 4 3 2 1", "Up to 5 reminders."),
        ("-4", "Give numbers of hours, such as 24, 4."),
        ("4.5", "Give numbers of hours, such as 24, 4."),
        ("½", "Give numbers of hours, such as 24, 4."),
        ("²", "Give numbers of hours, such as 24, 4."),
        ("h", "Give numbers of hours, such as 24, 4."),
        ("4 hh", "Give numbers of hours, such as 24, 4."),
        ("a day", "Give numbers of hours, such as 24, 4."),
    ],
)
def test_hours_that_are_none_are_refused(
    as_alice: Client, alice: User, typed: str, said: str
) -> None:
    assert refused(as_alice.post(PAGE, fields(reminder_hours=typed)), "reminder_hours") == said
    alice.refresh_from_db()
    assert alice.reminder_hours == [24, 4]


# --- the digest -----------------------------------------------------------------------------


def test_who_wants_only_the_digest_gets_it_at_eight(as_alice: Client, alice: User) -> None:
    as_alice.post(PAGE, fields(mail_mode="digest"))
    alice.refresh_from_db()
    assert (alice.mail_mode, alice.digest_hour) == ("digest", 8)
    assert alice.next_digest is not None


def test_the_next_digest_is_at_the_hour_by_the_players_clock(as_alice: Client, alice: User) -> None:
    as_alice.post(PAGE, fields(digest_hour="7", time_zone="Asia/Tokyo"))
    alice.refresh_from_db()
    due = alice.next_digest
    assert due is not None
    assert timezone.now() < due <= timezone.now() + timedelta(days=1)
    assert f"{due.astimezone(ZoneInfo('Asia/Tokyo')):%H:%M}" == "07:00"
    as_alice.post(PAGE, fields(time_zone="Asia/Tokyo"))
    alice.refresh_from_db()
    assert alice.next_digest is None


def test_only_the_digest_without_its_mail_is_no_choice(as_alice: Client, alice: User) -> None:
    mails = [kind for kind in ALL if kind != Kind.DIGEST]
    response = as_alice.post(PAGE, fields(mail_mode="digest", mail=mails))
    assert "tick “My daily digest”" in refused(response, "mail_mode")
    # Who wants no mail about turns at all is asked for nothing.
    assert as_alice.post(PAGE, fields(mail_mode="digest", mail=["over"])).status_code == 303


# --- push and languages ---------------------------------------------------------------------


def test_push_is_a_column_where_the_site_has_it(
    as_alice: Client, alice: User, settings: Settings
) -> None:
    assertNotContains(as_alice.get(PAGE), 'name="push"')
    as_alice.post(PAGE, fields(push=["turn"]))
    assert notices.channels(alice)["over"] == (True, True, True)
    settings.VAPID_PRIVATE_KEY = "set"
    response = as_alice.get(PAGE)
    assert ticked(response, "push") == ALL
    assertContains(response, "Push: It is my turn")
    as_alice.post(PAGE, fields(push=["turn"]))
    assert notices.channels(alice)["over"] == (True, True, False)
    assert notices.channels(alice)["turn"] == (True, True, True)


def test_a_language_is_chosen_where_there_are_two(
    as_alice: Client, alice: User, settings: Settings
) -> None:
    assertNotContains(as_alice.get(PAGE), 'name="language"')
    settings.LANGUAGES = [("en", "English"), ("fr", "French")]
    assertContains(as_alice.get(PAGE), '<option value="en" selected>English</option>', html=True)
    assert as_alice.post(PAGE, fields(language="fr")).status_code == 303
    alice.refresh_from_db()
    assert alice.language == "fr"
    refused(as_alice.post(PAGE, fields(language="xx")), "language")


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
    assertContains(response, "None of the mails goes out yet")
    assertContains(response, 'href="/accounts/email/"')
    assertNotContains(response, "carol@example.org")
    assertNotContains(response, TEST)


def test_it_says_what_became_of_the_last_mail(as_alice: Client, alice: User) -> None:
    now = timezone.now()
    game = world.running(alice, world.person("bob"), now=now)
    assertNotContains(as_alice.get(PAGE), "The last one:")
    delivery = Delivery.objects.get(notice__player=alice, notice__game=game)
    delivery.mark_sent(now)
    response = as_alice.get(PAGE)
    told = f'The last one: <a href="/games/{game.pk}/">Your turn against bob</a>, <time'
    assertContains(response, told)
    assertContains(response, '<span class="won">sent</span>', html=True)
    notices.tell(alice, Kind.OUTAGE, "outage:o2", now=now)
    Delivery.objects.get(notice__key="outage:o2").mark_refused(now, "550 5.1.1 <b>no</b> such")
    response = as_alice.get(PAGE)
    told = 'The last one: <a href="/games/">The site was away, and deadlines have moved</a>, <time'
    assertContains(response, told)
    assertContains(response, "refused: 550 5.1.1 &lt;b&gt;no&lt;/b&gt; such")


def test_mail_of_others_is_not_mine(as_alice: Client) -> None:
    now = timezone.now()
    notices.tell(world.person("bob"), Kind.OUTAGE, "outage:o1", now=now)
    Delivery.objects.update(sent=now, next_try=None)
    assertNotContains(as_alice.get(PAGE), "The last one:")


# --- the test of it -------------------------------------------------------------------------


def written(player: User) -> list[tuple[str, int | None]]:
    rows = Delivery.objects.filter(notice__player=player, notice__kind=Notice.TEST)
    return list(rows.order_by("pk").values_list("channel", "device"))


def test_a_test_mail_is_sent_and_said_where_to(as_alice: Client, alice: User) -> None:
    response = as_alice.post(TEST, follow=True)
    assertRedirects(response, PAGE, status_code=303)
    assertContains(response, "A test mail is on its way to alice@example.org.")
    assert written(alice) == [("mail", None)]
    Delivery.objects.get().mark_sent(timezone.now())
    assertContains(as_alice.get(PAGE), "The last one: A test, <time")


def test_a_second_one_has_to_wait(as_alice: Client, alice: User) -> None:
    as_alice.post(TEST)
    assertContains(as_alice.post(TEST, follow=True), "Wait a minute for the next one.")
    assert len(written(alice)) == 1


def test_it_goes_to_the_devices_too(as_alice: Client, alice: User, settings: Settings) -> None:
    device = PushDevice.objects.create(
        player=alice, endpoint="https://push.example.org/1", name="x", created=timezone.now()
    )
    as_alice.post(TEST)
    assert written(alice) == [("mail", None)]
    Notice.objects.all().delete()
    settings.VAPID_PRIVATE_KEY = "set"
    response = as_alice.post(TEST, follow=True)
    assertContains(response, "A test message is on its way to 1 device.")
    assert written(alice) == [("mail", None), ("push", device.pk)]


@pytest.mark.parametrize("who", ["guest", "unconfirmed"])
def test_who_cannot_be_reached_sends_none(client: Client, who: str) -> None:
    player = world.guest() if who == "guest" else world.person("carol", confirmed=False)
    client.force_login(player)
    response = client.post(TEST, follow=True)
    assertContains(response, "There is no way yet to send you one.")
    assert not Notice.objects.exists()


@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "options"])
def test_nothing_but_a_post_sends_one(as_alice: Client, alice: User, method: str) -> None:
    assert getattr(as_alice, method)(TEST).status_code == 405
    assert not written(alice)


def test_it_needs_the_token_of_its_form(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.post(TEST).status_code == client.post(PAGE, fields()).status_code == 403
    assert not written(alice)


# --- guests ---------------------------------------------------------------------------------


def test_a_guest_chooses_what_concerns_a_guest(client: Client) -> None:
    guest = world.guest()
    client.force_login(guest)
    response = client.get(PAGE)
    boxes = re.findall(r'name="site" value="(\w+)" checked', response.content.decode())
    assert boxes == ["turn", "over"]
    for name in ("mail", "mail_mode", "reminder_hours", "digest_hour", "quiet_from"):
        assertNotContains(response, f'name="{name}"')
    assertNotContains(response, "/accounts/password/change/")
    assertNotContains(response, TEST)
    assertContains(response, "A guest is told nothing by mail.")
    asked = {"site": ["over"], "time_zone": "Asia/Tokyo", "mail_mode": "digest", "mail": []}
    assert client.post(PAGE, asked).status_code == 303
    guest.refresh_from_db()
    assert (guest.time_zone, guest.confirm_moves) == ("Asia/Tokyo", False)
    assert (guest.mail_mode, guest.next_digest) == ("every", None)
    assert notices.channels(guest)["turn"] == (False, True, True)
    assert notices.channels(guest)["draw"] == notices.channels(guest)["over"] == (True, True, True)
