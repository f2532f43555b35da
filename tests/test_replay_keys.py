"""Replaying a game by keyboard in a real browser: arrows, focus, and the way back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests import world
from tests.browser import windows
from tests.servers import Site

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def last_ply(make_site: Callable[..., Site], chromium: str) -> Iterator[Page]:
    """The last ply of a game of five, as a stranger sees it; no error may show in the console."""
    game = world.finished(world.person("alice"), world.person("bob"))
    site = make_site()
    site.start_web()
    with windows(chromium, site) as opened:
        page = opened.open()
        page.goto(f"/games/{game.pk}/ply/5/")
        yield page


def stands_at(page: Page, number: int) -> None:
    expect(page).to_have_url(re.compile(rf"/ply/{number}/$"))
    expect(page).to_have_title(f"alice against bob, ply {number} · Onitama")


def test_the_arrow_keys_turn_the_plies(last_ply: Page) -> None:
    page = last_ply
    for key, number in {"ArrowLeft": 4, "Home": 0, "ArrowRight": 1, "End": 5}.items():
        page.keyboard.press(key)
        stands_at(page, number)
    expect(page.locator("#status")).to_contain_text("Blue won")
    # Nothing lies beyond.
    page.keyboard.press("ArrowRight")
    stands_at(page, 5)


def test_focus_stays_on_the_button_pressed(last_ply: Page) -> None:
    page = last_ply
    page.locator("#prev").focus()
    for number in (4, 3, 2, 1, 0):
        page.keyboard.press("Enter")
        stands_at(page, number)
        expect(page.locator("#prev")).to_be_focused()


def test_the_way_back_is_the_browsers(last_ply: Page) -> None:
    page = last_ply
    page.click("#ply-2")
    stands_at(page, 2)
    page.click("#next")
    stands_at(page, 3)
    page.go_back()
    stands_at(page, 2)
    expect(page.locator("#turn-title")).to_have_text("Ply 2 of 5")
    page.reload()
    expect(page.locator("#turn-title")).to_have_text("Ply 2 of 5")
