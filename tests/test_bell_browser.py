"""At a real browser: the bell of an open page counts on, and the device's time zone is offered."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from games import challenges
from games.models import Game
from tests import world
from tests.browser import windows
from tests.servers import Site, Visitor

pytestmark = [
    pytest.mark.browser,
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    site = make_site()
    site.start_web()
    return site


def move(visitor: Visitor, game: str, ply: int, text: str) -> None:
    card, _colon, squares = text.partition(":")
    said = {"ply": ply, "card": card, "from": squares[:2], "to": squares[2:]}
    assert visitor.post(f"{game}move/", said).status == 303


def heard(page: Page, unread: int, to_move: int, title: str) -> None:
    """The badge, the count beside it, the title and the icon all say so."""
    number = re.compile(rf"^{unread or ''}\D*$")
    expect(page.locator("#bell-count")).to_have_text(number)
    expect(page.locator("#turn-count")).to_have_text(f"{to_move or ''}")
    expect(page).to_have_title(f"({unread}) {title}" if unread else title)
    icon = re.compile(rf"/favicon{f'-{unread}' if unread else ''}\.[^-]*svg$")
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", icon)


def test_an_open_page_counts_on_without_being_loaded_again(site: Site, chromium: str) -> None:
    alice, bob = world.person("alice"), world.person("bob")
    game: Game = world.running(bob, alice)
    address = f"/games/{game.pk}/"
    reader, opponent = site.visitor(alice), site.visitor(bob)
    with windows(chromium, site) as opened:
        page = opened.open(reader)
        page.clock.install()
        page.goto("/games/new/")
        who = page.get_by_label("Who", exact=True)
        who.fill("half a na")
        heard(page, 0, 0, "New game · Onitama")

        move(opponent, address, 1, "crab:a1a2")
        page.clock.fast_forward("00:31")
        heard(page, 1, 1, "New game · Onitama")
        # Whoever was writing goes on writing.
        expect(who).to_be_focused()
        expect(who).to_have_value("half a na")

        page.get_by_role("link", name="Notices 1 unread").click()
        page.get_by_role("link", name="Your turn against bob").click()
        expect(page).to_have_url(re.compile(f"{address}$"))
        heard(page, 0, 1, "bob against alice · Onitama")

        by_hand(page, "a5", "b4")
        heard(page, 0, 0, "bob against alice · Onitama")
        move(opponent, address, 3, "ox:a2a1")
        page.clock.fast_forward("00:31")
        heard(page, 1, 1, "bob against alice · Onitama")
        # A move is a look at the game: the bell need not wait for its next turn to know.
        by_hand(page, "b4", "a5")
        heard(page, 0, 0, "bob against alice · Onitama")


def test_an_open_list_shows_what_the_bell_counts(site: Site, chromium: str) -> None:
    alice, bob = world.person("alice"), world.person("bob")
    game: Game = world.running(bob, alice)
    challenge = challenges.challenge(
        alice,
        bob,
        control=world.CONTROL,
        colour="",
        deck="base",
        private=False,
        now=timezone.now(),
    )
    reader, opponent = site.visitor(alice), site.visitor(bob)
    with windows(chromium, site) as opened:
        turns, asked = opened.open(reader), opened.open(reader)
        for page, path in ((turns, "/games/"), (asked, f"/challenges/{challenge.pk}/")):
            page.clock.install()
            page.goto(path)
        expect(turns.get_by_role("main")).to_contain_text("No game waits for you.")
        expect(asked.get_by_role("main")).to_contain_text("No answer yet.")

        move(opponent, f"/games/{game.pk}/", 1, "crab:a1a2")
        assert (
            opponent.post(f"/challenges/{challenge.pk}/decline/", {"reason": "busy"}).status == 303
        )
        for page in (turns, asked):
            page.clock.fast_forward("00:31")
        expect(turns.get_by_role("main")).to_contain_text("One game waits for you.")
        expect(asked.get_by_role("main")).to_contain_text("It was declined.")
        heard(turns, 2, 1, "Your turn · Onitama")


def test_the_way_back_does_not_bring_back_what_was_seen(site: Site, chromium: str) -> None:
    alice, bob = world.person("alice"), world.person("bob")
    world.running(alice, bob)
    reader = site.visitor(alice)
    with windows(chromium, site) as opened:
        page = opened.open(reader)
        page.goto("/notices/")
        heard(page, 1, 1, "Notices · Onitama")
        page.get_by_role("link", name="Your turn against bob").click()
        heard(page, 0, 1, "alice against bob · Onitama")
        page.go_back()
        heard(page, 0, 1, "Notices · Onitama")


def by_hand(page: Page, origin: str, target: str) -> None:
    for place in (f"#square-{origin}", f"#square-{target}", "#confirm"):
        page.locator(place).click()


def test_a_bell_that_cannot_ask_says_nothing(site: Site, chromium: str) -> None:
    reader = site.visitor(world.person("alice"))
    with windows(chromium, site) as opened:
        page = opened.open(reader)
        page.clock.install()
        page.goto("/rules/")
        page.route("**/notices/count/*", lambda route: route.abort())
        with page.expect_event("requestfailed"):
            page.clock.fast_forward("00:31")
        expect(page.locator("#alert")).to_be_empty()
        opened.forgive("net::ERR_FAILED", "htmx:sendError", "htmx:afterRequest")


def test_the_device_s_time_zone_is_offered_and_never_chosen_by_itself(
    site: Site, chromium: str
) -> None:
    alice = site.visitor(world.person("alice"))
    with windows(chromium, site) as opened:
        page = opened.open(alice, timezone_id="Europe/Zagreb")
        page.goto("/preferences/")
        zone = page.get_by_label("Time zone")
        offer = page.locator("#zone-offer")
        expect(offer).to_contain_text("This device goes by Zagreb.")
        expect(zone).to_have_value("UTC")
        offer.get_by_role("button").click()
        expect(offer).to_be_hidden()
        expect(zone).to_have_value("Europe/Zagreb")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.")).to_be_visible()
        expect(zone).to_have_value("Europe/Zagreb")
        expect(offer).to_be_hidden()


def test_who_signs_up_has_the_device_s_time_zone(site: Site, chromium: str) -> None:
    with windows(chromium, site) as opened:
        page = opened.open(timezone_id="America/Sao_Paulo")
        page.goto("/accounts/signup/")
        page.get_by_label("Name").fill("Aiko")
        page.get_by_label("Email address").fill("aiko@example.org")
        page.get_by_label("Password").fill(world.PASSWORD)
        page.get_by_role("button", name="Sign up and play").click()
        page.goto("/preferences/")
        expect(page.get_by_label("Time zone")).to_have_value("America/Sao_Paulo")
        expect(page.locator("#zone-offer")).to_be_hidden()
