"""Turns and deadlines for programs of the player's own, read back by parsers that are not ours."""

from __future__ import annotations

import io
import logging
import re
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

import feedparser
import pytest
import vobject
from dateutil import tz
from django.conf import settings
from django.core import signing
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.http import http_date
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import User
from games import ical, play
from games.models import AwayEntry, AwayShift, Feed, Game, Outage
from onitama_site.logs import KeylessFormatter
from tests import world
from tests.servers import Site, wait_for

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ATOM, ICAL = "atom", "ical"
PAGE = "/preferences/feeds/"


@pytest.fixture
def browser(client: Client, alice: User) -> Client:
    """Alice's, with her page of feeds open before her."""
    client.force_login(alice)
    return client


@pytest.fixture
def program() -> Client:
    """A feed reader or a calendar: it has no cookie, and the site is as strict as it is."""
    return Client(enforce_csrf_checks=True)


def offers(page: bytes) -> dict[str, str]:
    """What the page's buttons would send, by feed."""
    found = re.findall(r'name="offer" value="([^"]+)"', page.decode())
    return dict(zip((ATOM, ICAL), found, strict=True))


def shown(page: bytes) -> str:
    """The address that the page shows, without the site's own."""
    found = re.findall(r"<textarea [^>]*readonly[^>]*>([^<]+)<", page.decode())
    assert len(found) == 1
    assert found[0].startswith(settings.SITE_URL)
    return str(urlsplit(found[0]).path)


def made(browser: Client, form: str) -> str:
    """Press "Make" or "Renew"; the new address."""
    return shown(browser.post(PAGE, {"offer": offers(browser.get(PAGE).content)[form]}).content)


def token(address: str) -> str:
    return address.split("/")[2]


def entries(program: Client, address: str) -> list[Any]:
    parsed = feedparser.parse(program.get(address).content)
    assert not parsed.bozo, parsed.bozo_exception
    return list(parsed.entries)


def events(program: Client, address: str) -> list[Any]:
    return list(parsed(program.get(address).content).contents.get("vevent", []))


def parsed(content: bytes) -> Any:
    calendar = vobject.readOne(content.decode())
    calendar.validate(raiseException=True)
    return calendar


# --- the page of addresses ------------------------------------------------------------------


def test_nobody_has_an_address_unasked(browser: Client) -> None:
    page = browser.get(PAGE)
    assertContains(page, "Make an address", count=2)
    assertNotContains(page, "Remove it")
    assert not Feed.objects.exists()


def test_the_preferences_lead_to_it(browser: Client) -> None:
    assertContains(browser.get("/preferences/"), f'href="{PAGE}"')


def test_it_asks_a_stranger_to_log_in(program: Client) -> None:
    login = f"/accounts/login/?next={PAGE}"
    assertRedirects(program.get(PAGE), login)
    # The page with its button: nobody can look at a deed.
    assertRedirects(Client().post(f"{PAGE}atom/remove/"), login)


def test_a_guest_is_told_that_it_has_none(client: Client, browser: Client) -> None:
    offered = offers(browser.get(PAGE).content)[ATOM]
    client.force_login(world.guest())
    page = client.get(PAGE)
    assertContains(page, "A guest has no feeds.")
    assert "offer" not in page.content.decode()
    assert client.post(PAGE, {"offer": offered}).status_code == 403
    assert not Feed.objects.exists()


def test_a_new_address_is_shown_this_once(browser: Client, program: Client, alice: User) -> None:
    page = browser.post(PAGE, {"offer": offers(browser.get(PAGE).content)[ATOM]})
    address = shown(page.content)
    assert "no-store" in page["Cache-Control"]
    assert program.get(address).status_code == 200
    later = browser.get(PAGE)
    assert "no-store" in later["Cache-Control"]
    assertNotContains(later, token(address))
    assertContains(later, "Renew the address", count=1)
    assertContains(later, "Make an address", count=1)


def test_the_address_is_long_and_kept_nowhere(browser: Client, alice: User) -> None:
    secret = token(made(browser, ATOM))
    # 32 random bytes in base64.
    assert len(secret) == 43
    assert len({token(made(browser, ATOM)) for _ in range(5)} | {secret}) == 6
    row = Feed.objects.get(player=alice)
    assert re.fullmatch("[0-9a-f]{64}", row.token_hash)
    assert secret not in str(Feed.objects.values_list())


def test_a_double_click_and_a_reload_make_one_address(browser: Client, program: Client) -> None:
    offer = {"offer": offers(browser.get(PAGE).content)[ICAL]}
    addresses = {shown(browser.post(PAGE, offer).content) for _ in range(3)}
    assert len(addresses) == 1
    assert program.get(addresses.pop()).status_code == 200
    assert Feed.objects.count() == 1


def test_renewing_ends_the_old_address(browser: Client, program: Client) -> None:
    old, other = made(browser, ATOM), made(browser, ICAL)
    new = made(browser, ATOM)
    assert program.get(old).status_code == 404
    assert program.get(new).status_code == 200
    assert program.get(other).status_code == 200


def test_the_page_that_shows_an_address_can_renew_it(browser: Client, program: Client) -> None:
    page = browser.post(PAGE, {"offer": offers(browser.get(PAGE).content)[ATOM]})
    renewed = browser.post(PAGE, {"offer": offers(page.content)[ATOM]})
    assert program.get(shown(page.content)).status_code == 404
    assert program.get(shown(renewed.content)).status_code == 200


def test_a_form_from_before_brings_no_old_address_back(browser: Client, program: Client) -> None:
    first = offers(browser.get(PAGE).content)[ATOM]
    old = shown(browser.post(PAGE, {"offer": first}).content)
    second = offers(browser.get(PAGE).content)[ATOM]
    new = made(browser, ATOM)
    for late in (first, second):
        answer = browser.post(PAGE, {"offer": late})
        assertContains(answer, "nothing was changed", status_code=409)
        assertNotContains(answer, "readonly", status_code=409)
    assert program.get(old).status_code == 404
    assert program.get(new).status_code == 200


@pytest.mark.parametrize(
    "offer",
    ["", "x", "a:b:c", "x" * 5000, "🀄", signing.dumps([1, ATOM])],
    # A signature tells the second it was made in, and each process makes its own.
    ids=["empty", "letter", "colons", "long", "picture", "signed for something else"],
)
def test_an_address_that_was_not_offered_is_refused(browser: Client, offer: str) -> None:
    assert browser.post(PAGE, {"offer": offer}).status_code == 409
    assert not Feed.objects.exists()


def test_what_is_offered_to_one_player_is_no_others(
    browser: Client, program: Client, bob: User
) -> None:
    offer = {"offer": offers(browser.get(PAGE).content)[ATOM]}
    browser.force_login(bob)
    assert browser.post(PAGE, offer).status_code == 409
    assert not Feed.objects.exists()


def test_a_page_open_for_more_than_a_day_is_told_so(
    browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("games.feed_addresses.OFFERED_FOR", timedelta(seconds=-1))
    assert browser.post(PAGE, {"offer": offers(browser.get(PAGE).content)[ATOM]}).status_code == 409


def test_it_can_be_removed(browser: Client, program: Client) -> None:
    atom, calendar = made(browser, ATOM), made(browser, ICAL)
    for _ in range(2):
        answer = browser.post(f"{PAGE}{ATOM}/remove/")
        assertRedirects(answer, PAGE, status_code=303)
    assert program.get(atom).status_code == 404
    assert program.get(calendar).status_code == 200


def test_deeds_are_posts_with_a_token_by_somebody_known(
    program: Client, browser: Client, alice: User
) -> None:
    address = made(browser, ATOM)
    offer = offers(browser.get(PAGE).content)[ATOM]
    assert browser.get(f"{PAGE}{ATOM}/remove/").status_code == 405
    assert browser.post(f"{PAGE}rss/remove/").status_code == 404
    assert Client().post(f"{PAGE}{ATOM}/remove/").status_code == 302
    assert Client().post(PAGE, {"offer": offer}).status_code == 302
    program.force_login(alice)
    assert program.post(PAGE, {"offer": offer}).status_code == 403
    assert program.post(f"{PAGE}{ATOM}/remove/").status_code == 403
    assert program.get(address).status_code == 200


# --- who may read ---------------------------------------------------------------------------


@pytest.fixture
def atom(browser: Client) -> str:
    return made(browser, ATOM)


@pytest.fixture
def calendar(browser: Client) -> str:
    return made(browser, ICAL)


@pytest.fixture(params=[ATOM, ICAL])
def address(request: pytest.FixtureRequest, browser: Client) -> str:
    return made(browser, request.param)


def test_the_address_is_the_key(program: Client, address: str, alice: User, bob: User) -> None:
    world.running(alice, bob)
    answer = program.get(address)
    assertContains(answer, "bob")
    assert not answer.cookies
    for other in (bob, world.guest()):
        client = Client()
        client.force_login(other)
        assert client.get(address).content == answer.content


@pytest.mark.parametrize("secret", ["x", "x" * 43, "x" * 5000, "%F0%9F%80%84", "a b", "-"])
@pytest.mark.parametrize("name", ["turns.atom", "deadlines.ics"])
def test_another_address_is_nothing(program: Client, address: str, secret: str, name: str) -> None:
    answer = program.get(f"/feeds/{secret}/{name}")
    assert answer.status_code == 404
    assert not answer.cookies


def test_the_key_of_one_feed_opens_no_other(program: Client, atom: str, calendar: str) -> None:
    assert program.get(atom.replace("turns.atom", "deadlines.ics")).status_code == 404
    assert program.get(calendar.replace("deadlines.ics", "turns.atom")).status_code == 404


def test_the_hash_is_not_the_key(program: Client, atom: str) -> None:
    row = Feed.objects.get()
    assert program.get(f"/feeds/{row.token_hash}/turns.atom").status_code == 404


def test_a_player_who_may_not_log_in_has_no_feed(
    program: Client, address: str, alice: User
) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert program.get(address).status_code == 404


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch", "options"])
def test_it_can_only_be_read(address: str, method: str) -> None:
    assert getattr(Client(), method)(address).status_code == 405


def test_nobody_keeps_or_finds_it(program: Client, address: str) -> None:
    answer = program.get(address)
    assert "private" in answer["Cache-Control"]
    assert answer["X-Robots-Tag"] == "noindex"
    assert answer["Referrer-Policy"] == "no-referrer"


def test_it_does_not_say_its_own_address(program: Client, address: str) -> None:
    assertNotContains(program.get(address), token(address))


def test_asking_is_no_visit(address: str, alice: User, bob: User) -> None:
    """Not even in the browser in which the player is logged in."""
    world.running(alice, bob)
    User.objects.update(last_navigation=None)
    client = Client()
    client.force_login(alice)
    session = dict(client.session)
    assert client.get(address).status_code == 200
    assert client.get("/feeds/x/turns.atom").status_code == 404
    alice.refresh_from_db()
    assert alice.last_navigation is None
    assert not alice.notices.filter(seen__isnull=False).exists()
    assert dict(client.session) == session
    assert client.get("/games/").status_code == 200
    alice.refresh_from_db()
    assert alice.last_navigation is not None


# --- the log --------------------------------------------------------------------------------


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the site's own handler writes."""
    handler = next(
        h
        for h in logging.getLogger().handlers
        if isinstance(h, logging.StreamHandler) and isinstance(h.formatter, KeylessFormatter)
    )
    # Not by setStream: it flushes the one before, which another test may have closed.
    text = io.StringIO()
    monkeypatch.setattr(handler, "stream", text)
    return text


def test_no_line_of_the_log_has_the_key(
    program: Client,
    browser: Client,
    address: str,
    log: io.StringIO,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert program.post(address).status_code == 403
    assert Client().put(address).status_code == 405
    form = Feed.objects.get().form
    browser.post(f"{PAGE}{form}/remove/")
    assert program.get(address).status_code == 404

    def fail(form: str, secret: str) -> None:
        raise RuntimeError(f"/feeds/{secret}/turns.atom")

    monkeypatch.setattr("games.feed_addresses.find", fail)
    broken = Client(raise_request_exception=False)
    assert broken.get(address).status_code == 500
    text = log.getvalue()
    for word in ("Forbidden", "Method Not Allowed", "Not Found", "RuntimeError: /feeds/***/"):
        assert word in text
    assert token(address) not in text


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        ("/unsubscribe/abc-_9/", "/unsubscribe/***/"),
        ("/accounts/confirm-email/MQ:1x:y/", "/accounts/confirm-email/***/"),
        ("/accounts/password/reset/key/1-c9-5f/", "/accounts/password/reset/key/***/"),
        ("/feeds//abc/turns.atom", "/feeds/***/turns.atom"),
        ("/feeds/ abc/turns.atom", "/feeds/***/turns.atom"),
        ("//FEEDS/abc", "//FEEDS/***"),
        ("/Accounts/Password/Reset//Key/1-c9-5f/", "/Accounts/Password/Reset//Key/***/"),
        ("/games/17/", "/games/17/"),
        ("/preferences/feeds/", "/preferences/feeds/"),
    ],
)
def test_the_log_keeps_other_keys_out_too(path: str, logged: str) -> None:
    record = logging.makeLogRecord({"msg": "%s: %s", "args": ("Not Found", path)})
    assert KeylessFormatter("%(message)s").format(record) == f"Not Found: {logged}"


@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_what_the_web_server_itself_says_has_no_key_either(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    site.start_web()
    assert site.visitor().get("/feeds/secret-one/turns.atom").status == 404
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as link:
        link.sendall(b"GET /feeds/secret-two/turns.atom HTTP/one\r\n\r\n")
        assert b"400" in link.recv(1000)
    wait_for(lambda: site.log("web").count("/feeds/***/turns.atom") == 1, 10)
    wait_for(lambda: "Invalid" in site.log("web"), 10)
    assert "secret" not in site.log("web")


# --- conditional requests -------------------------------------------------------------------


def test_what_has_not_changed_is_not_sent_again(
    program: Client, address: str, alice: User, bob: User
) -> None:
    world.running(alice, bob)
    first = program.get(address)
    for headers in (
        {"If-None-Match": first["ETag"]},
        {"If-None-Match": f'"other", W/{first["ETag"]}'},
        {"If-None-Match": "*"},
        {"If-None-Match": first["ETag"], "If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"},
    ):
        answer = program.get(address, headers=headers)
        assert (answer.status_code, answer.content) == (304, b""), headers
        assert answer["ETag"] == first["ETag"]
        assert "private" in answer["Cache-Control"]


def test_what_has_changed_is_sent(program: Client, address: str, alice: User, bob: User) -> None:
    at = timezone.now() + DAY
    game = world.running(alice, bob, now=at)
    seen = [program.get(address)]

    def changed() -> None:
        last = seen[-1]
        for headers in (
            {"If-None-Match": last["ETag"]},
            {
                "If-None-Match": last["ETag"],
                "If-Modified-Since": http_date(timezone.now().timestamp()),
            },
        ):
            assert program.get(address, headers=headers).status_code == 200
        seen.append(program.get(address))
        assert seen[-1].content != last.content

    world.played(game, ["crab:a1a2"], now=at + MINUTE)  # nothing waits any more
    changed()
    world.played(world.fresh(game), ["mantis:a5b4"], now=at + 2 * MINUTE)
    changed()
    play.resign(game.pk, bob, now=at + 3 * MINUTE)
    changed()


def test_a_date_alone_keeps_nothing_back(
    program: Client, address: str, alice: User, bob: User
) -> None:
    """Dates count seconds, and know nothing of the zone in which deadlines are told."""
    first = program.get(address)
    later = {"If-Modified-Since": first.get("Last-Modified", http_date(timezone.now().timestamp()))}
    User.objects.filter(pk=alice.pk).update(time_zone="Asia/Tokyo")
    world.running(alice, bob, now=Feed.objects.get().created)
    second = program.get(address, headers=later)
    assert second.status_code == 200 and second.content != first.content


def test_a_head_is_the_head_of_the_get(program: Client, address: str) -> None:
    head, get = program.head(address), program.get(address)
    assert (head.status_code, head.content) == (200, b"")
    assert {n: head[n] for n in ("ETag", "Content-Type")} == {
        n: get[n] for n in ("ETag", "Content-Type")
    }


# --- the Atom feed --------------------------------------------------------------------------


def test_the_feed_says_what_waits(program: Client, atom: str, alice: User, bob: User) -> None:
    game = world.running(alice, bob, ["crab:a1a2", "mantis:a5b4"], now=NOW)
    User.objects.update(time_zone="Asia/Kolkata")
    answer = program.get(atom)
    assert answer["Content-Type"] == "application/atom+xml; charset=utf-8"
    feed = feedparser.parse(answer.content)
    assert not feed.bozo
    assert feed.version == "atom10"
    assert feed.feed.title == "Onitama: your turn"
    assert feed.feed.language == "en"
    assert feed.feed.author == "Onitama"
    assert feed.feed.link == f"{settings.SITE_URL}/games/"
    (entry,) = feed.entries
    assert entry.title == "Your turn against bob"
    assert entry.link == f"{settings.SITE_URL}/games/{game.pk}/"
    assert entry.id == f"tag:127.0.0.1,2026:g{game.pk}:p3"
    assert entry.updated == "2026-12-01T12:00:00+00:00"
    content = entry.content[0]
    assert content.type == "text/html"
    text = content.value
    assert "bob has moved (Mantis a5–b4). It is your turn." in text
    assert (
        "Saturday 5 December 2026, 17:30 (Asia/Kolkata, UTC+05:30), that is 2026-12-05 12:00 UTC"
        in text
    )
    assert "<pre>5  . r R r r\n4  . r . . .\n3" in text
    assert "Your hand: Tiger, Ox<br" in text and "bob’s hand:" in text and "Side card:" in text


def test_nothing_waits(program: Client, atom: str, alice: User, bob: User) -> None:
    world.running(bob, alice)
    world.finished(alice, bob)
    feed = feedparser.parse(program.get(atom).content)
    assert not feed.bozo and not feed.entries
    assert feed.feed.updated


def test_the_first_move_and_no_clock(program: Client, atom: str, alice: User) -> None:
    world.against_level(alice)
    (entry,) = entries(program, atom)
    assert entry.title == "Your turn against random"
    assert "Your game with random has begun, and you move first." in entry.content[0].value
    assert "This game has no clock." in entry.content[0].value


def test_each_turn_is_an_entry_of_its_own(
    program: Client, atom: str, browser: Client, alice: User, bob: User
) -> None:
    game = world.running(alice, bob, now=NOW)
    (first,) = entries(program, atom)
    assert entries(program, made(browser, ATOM))[0].id == first.id
    game = world.played(game, ["crab:a1a2", "mantis:a5b4"], now=NOW + HOUR)
    (second,) = entries(program, made(browser, ATOM))
    assert second.id != first.id
    assert second.updated_parsed > first.updated_parsed


def test_the_least_time_comes_first(program: Client, atom: str, alice: User, bob: User) -> None:
    late = world.running(alice, bob, now=NOW)
    none = world.against_level(alice, now=NOW - DAY)
    soon = world.running(alice, bob, now=NOW - HOUR)
    links = [entry.link.split("/")[-2] for entry in entries(program, atom)]
    assert links == [str(game.pk) for game in (soon, late, none)]


def test_a_name_like_markup_is_a_name(program: Client, alice: User, bob: User) -> None:
    name = "<b>&\"'x"
    bob.username = name
    bob.save(update_fields=["username"])
    world.running(alice, bob, ["crab:a1a2", "mantis:a5b4"], now=NOW)
    client = Client()
    client.force_login(alice)
    (entry,) = entries(program, made(client, ATOM))
    assert entry.title == f"Your turn against {name}"
    assert entry.title_detail.type == "text/plain"
    assert "&lt;b&gt;&amp;" in entry.content[0].value
    (event,) = events(program, made(client, ICAL))
    assert event.summary.value == f"Your turn against {name}"
    assert event.description.value.startswith(f"{name} has moved")


def test_names_that_would_break_a_line_break_none(
    program: Client, calendar: str, alice: User, bob: User
) -> None:
    bob.username = "a;b,c\\n\nBEGIN:VEVENT"
    bob.save(update_fields=["username"])
    world.running(alice, bob, now=NOW)
    (event,) = events(program, calendar)
    assert event.summary.value == f"Your turn against {bob.username}"


@pytest.mark.parametrize("form", [ATOM, ICAL])
def test_a_month_of_games_costs_no_more_questions(
    browser: Client, program: Client, alice: User, bob: User, form: str
) -> None:
    address = made(browser, form)
    game = world.running(alice, bob, ["crab:a1a2", "mantis:a5b4"], now=NOW)
    few = _questions(program, address)
    games = world.copies(game, 299)
    for other in games[::3]:
        _put_off(other, NOW + HOUR)
    assert _questions(program, address) == few <= 5
    found = entries if form == ATOM else events
    assert len(found(program, address)) == 300


def _questions(program: Client, address: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert program.get(address).status_code == 200
    return len(asked)


def _put_off(game: Game, at: datetime) -> None:
    """By an hour of away time, as rows."""
    mover = game.seat(game.turn).player
    entry = AwayEntry.objects.create(player=mover, at=at, reason="taken", hours=-1, balance=167)
    AwayShift.objects.create(entry=entry, game=game, ply=game.plies + 1)
    assert game.deadline is not None
    game.deadline += HOUR
    game.version += 1
    game.save(update_fields=["deadline", "version"])


# --- the calendar ---------------------------------------------------------------------------


def test_the_calendar_says_when(program: Client, calendar: str, alice: User, bob: User) -> None:
    game = world.running(alice, bob, ["crab:a1a2", "mantis:a5b4"], now=NOW)
    User.objects.update(time_zone="Europe/Amsterdam")
    answer = program.get(calendar)
    assert answer["Content-Type"] == "text/calendar; charset=utf-8"
    root = parsed(answer.content)
    assert root.version.value == "2.0"
    assert root.prodid.value
    assert root.method.value == "PUBLISH"
    assert root.contents["x-wr-calname"][0].value == "Onitama: deadlines"
    assert root.contents["refresh-interval"][0].value == "PT1H"
    assert root.contents["x-published-ttl"][0].value == "PT1H"
    assert root.contents["refresh-interval"][0].params == {"VALUE": ["DURATION"]}
    (event,) = root.contents["vevent"]
    assert event.uid.value == f"g{game.pk}-p3@127.0.0.1"
    assert event.summary.value == "Your turn against bob"
    assert event.url.value == f"{settings.SITE_URL}/games/{game.pk}/"
    assert event.sequence.value == str(game.version)
    assert event.dtstamp.value == event.last_modified.value == NOW
    assert event.dtend.value == game.deadline
    assert event.dtstart.value == game.deadline - timedelta(minutes=30)
    assertContains(answer, "DTEND;TZID=Europe/Amsterdam:20261205T130000\r\n")
    said = event.description.value
    assert "bob has moved (Mantis a5–b4). It is your turn." in said
    assert (
        "5 December 2026, 13:00 (Europe/Amsterdam, UTC+01:00), that is 2026-12-05 12:00 UTC" in said
    )
    assert event.url.value in said


def test_no_line_is_too_long(program: Client, calendar: str, alice: User) -> None:
    world.running(alice, world.person("a-name-of-20-letters"), ["crab:a1a2", "mantis:a5b4"])
    raw = program.get(calendar).content
    lines = raw.split(b"\r\n")
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert max(map(len, lines)) <= 75
    assert lines[0] == b"BEGIN:VCALENDAR" and lines[-2:] == [b"END:VCALENDAR", b""]


def test_only_games_with_a_clock_that_wait_are_in_it(
    program: Client, calendar: str, alice: User, bob: User
) -> None:
    root = parsed(program.get(calendar).content)
    # A calendar without any component is none.
    assert "vevent" not in root.contents and "vtimezone" in root.contents
    world.against_level(alice)
    world.running(bob, alice)
    world.finished(alice, bob)
    assert not events(program, calendar)


def test_an_event_follows_its_deadline(
    program: Client, calendar: str, alice: User, bob: User
) -> None:
    game = world.running(alice, bob, now=NOW)
    (before,) = events(program, calendar)
    _put_off(game, NOW + DAY)
    (away,) = events(program, calendar)
    outage = Outage.objects.create(began=NOW + DAY, ended=NOW + 2 * DAY)
    Game.objects.update(outage=outage, deadline=NOW + 9 * DAY, version=game.version + 1)
    (moved,) = events(program, calendar)
    assert before.uid.value == away.uid.value == moved.uid.value
    sequences = [int(event.sequence.value) for event in (before, away, moved)]
    assert sequences == sorted(set(sequences))
    assert [event.last_modified.value - NOW for event in (before, away, moved)] == [
        timedelta(),
        DAY,
        2 * DAY,
    ]
    assert away.dtend.value - before.dtend.value == HOUR
    assert moved.dtend.value == NOW + 9 * DAY


def test_alarms_ring_with_the_reminders(
    program: Client, calendar: str, alice: User, bob: User
) -> None:
    """Not where one would ring less than two hours after the turn began."""
    alice.reminder_hours = [1, 36, 24, 24, 336]
    alice.save(update_fields=["reminder_hours"])
    game = world.running(alice, bob, now=NOW)
    (event,) = events(program, calendar)
    alarms = event.contents["valarm"]
    assert {alarm.action.value for alarm in alarms} == {"DISPLAY"}
    rings = [event.dtstart.value + alarm.trigger.value for alarm in alarms]
    assert game.deadline is not None
    assert [game.deadline - ring for ring in rings] == [36 * HOUR, 24 * HOUR, HOUR]
    alice.reminder_hours = []
    alice.save(update_fields=["reminder_hours"])
    assert "valarm" not in events(program, calendar)[0].contents


# --- clock changes --------------------------------------------------------------------------

# Minutes around each change, among them the hour that the clocks show twice.
AROUND = [timedelta(minutes=m) for m in (-180, -61, -60, -31, -30, -1, 0, 1, 29, 30, 59, 60, 95)]
CHANGES = {
    "Europe/Amsterdam": (
        datetime(2026, 3, 29, 1, tzinfo=UTC),
        datetime(2026, 10, 25, 1, tzinfo=UTC),
    ),
    # No summer time since 2019.
    "America/Sao_Paulo": (
        datetime(2018, 2, 18, 2, tzinfo=UTC),
        datetime(2018, 11, 4, 3, tzinfo=UTC),
        datetime(2026, 11, 1, 3, tzinfo=UTC),
    ),
    # Never any.
    "Asia/Kolkata": (datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC)),
    # Half an hour, which so is what the clocks show twice.
    "Australia/Lord_Howe": (
        datetime(2026, 4, 4, 15, tzinfo=UTC),
        datetime(2026, 10, 3, 15, 30, tzinfo=UTC),
    ),
}


def test_the_changes_are_where_we_say() -> None:
    for name, moments in CHANGES.items():
        changes = [
            at.astimezone(ZoneInfo(name)).utcoffset()
            != (at - timedelta(seconds=1)).astimezone(ZoneInfo(name)).utcoffset()
            for at in moments
        ]
        assert sum(changes) == (0 if name == "Asia/Kolkata" else 2)


@pytest.mark.parametrize("zone", CHANGES)
def test_local_times_are_the_rows_moments(
    program: Client,
    calendar: str,
    alice: User,
    bob: User,
    zone: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Read by vobject with the zone as the file itself describes it, and by dateutil."""
    User.objects.update(time_zone=zone)
    game = world.running(alice, bob, now=NOW)
    moments = [at + by for at in CHANGES[zone] for by in AROUND]
    rows = [game, *world.copies(game, len(moments) - 1)]
    for row, deadline in zip(rows, moments, strict=True):
        Game.objects.filter(pk=row.pk).update(deadline=deadline, turn_began=deadline - DAY)
    expected = {f"g{row.pk}-p1@127.0.0.1": at for row, at in zip(rows, moments, strict=True)}
    text = program.get(calendar).content.decode()
    monkeypatch.setitem(vars(vobject.icalendar)["__tzidMap"], zone, None)
    found = {event.uid.value: event for event in vobject.readOne(text).contents["vevent"]}
    assert found.keys() == expected.keys()
    for uid, at in expected.items():
        assert found[uid].dtend.value.astimezone(UTC) == at, at
        assert found[uid].dtstart.value.astimezone(UTC) == at - timedelta(minutes=30), at
    for uid, moment in _read_by_dateutil(text, zone).items():
        assert moment == expected[uid]
    # In local time wherever that says it without doubt.
    assert text.count(f"DTEND;TZID={zone}:") >= len(moments) - (0 if zone == "Asia/Kolkata" else 10)


def _read_by_dateutil(text: str, zone: str) -> dict[str, datetime]:
    """The ends of the events, the zone as the file describes it; without vobject."""
    unfolded = text.replace("\r\n ", "")
    described = re.search("BEGIN:VTIMEZONE.*?END:VTIMEZONE", unfolded, re.S)
    assert described
    rules = tz.tzical(io.StringIO(described[0])).get(zone)
    ends = {}
    for event in re.findall("BEGIN:VEVENT.*?END:VEVENT", unfolded, re.S):
        uid = re.search("UID:(.*)\r", event)
        local = re.search(f"DTEND;TZID={re.escape(zone)}:(.*)\r", event)
        utc = re.search("DTEND:(.*)Z\r", event)
        stamp = local or utc
        assert uid and stamp
        naive = datetime.strptime(stamp[1], "%Y%m%dT%H%M%S")  # noqa: DTZ007
        ends[uid[1]] = naive.replace(tzinfo=rules if local else UTC).astimezone(UTC)
    return ends


def test_a_change_of_the_clocks_is_written_as_they_show_it_before() -> None:
    """RFC 5545, 3.6.5, says so; its own example is the change in New York."""
    text = ical.time_zone(ZoneInfo("America/New_York"), 2026, 2026).to_ical().decode()
    assert re.findall("DTSTART:(.*)\r\n.*\r\n.*FROM:(.*)\r\n.*TO:(.*)\r", text) == [
        ("20251231T190000", "-0500", "-0500"),
        ("20260308T020000", "-0500", "-0400"),
        ("20261101T020000", "-0400", "-0500"),
    ]


def test_every_zone_there_is_can_be_a_players() -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        text = ical.calendar("", [_some_deadline(begin + 100 * DAY)], zone, begin).decode()
        found = _read_by_dateutil(text, zone.key)
        assert found == {"x": begin + 100 * DAY}, name


def _some_deadline(at: datetime) -> ical.Deadline:
    return ical.Deadline("x", 1, "", "", "", at - DAY, at - DAY, at, ())
