"""A real chromium for tests: windows on a site, its keys, and all that the browser complains of."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from games.onitama.cards import Colour
from games.onitama.position import SIZE, Action, Move, Position, square_name
from games.onitama.record import Record
from games.templatetags.board import card_name
from tests.servers import Site, Visitor

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_DIGITS = {
    "empty": "0",
    "blue student": "1",
    "blue master": "2",
    "red student": "3",
    "red master": "4",
}
# Milliseconds; the machine may be busy with other tests.
PATIENCE = 30_000
TABS = 150
# A request that swaps something must leave the keyboard's user somewhere in the page.
WATCH_FOCUS = """
document.addEventListener("htmx:beforeRequest", (event) => {
  event.detail.xhr.hadFocus = document.activeElement !== document.body;
});
document.addEventListener("htmx:afterSettle", (event) => {
  setTimeout(() => {
    const lost = event.detail.xhr?.hadFocus && document.activeElement === document.body;
    if (lost) console.error("focus lost by " + event.detail.pathInfo.requestPath);
  });
});
"""


class Windows:
    """The windows that a test has open, each with cookies of its own."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser, self._address = browser, address
        # What every console said, and every error that no script caught; a refused style too.
        self.complaints: list[str] = []

    def open(self, visitor: Visitor | None = None, **options: Any) -> Page:
        """A new window, logged in as the visitor is; options of playwright's new_context."""
        context = self._browser.new_context(base_url=self._address, **options)
        context.set_default_timeout(PATIENCE)
        context.on("console", lambda message: self.complaints.append(message.text))
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.add_init_script(WATCH_FOCUS)
        for name, value in (visitor.cookies if visitor else {}).items():
            context.add_cookies([{"name": name, "value": value, "url": self._address}])
        return context.new_page()

    def forgive(self, *texts: str) -> None:
        """The complaints with each of these texts were to be."""
        for text in texts:
            assert any(text in said for said in self.complaints), (text, self.complaints)
            self.complaints = [said for said in self.complaints if text not in said]


@contextmanager
def windows(chromium: str, site: Site) -> Iterator[Windows]:
    """Rows are made before this: under it Django takes the thread for an asynchronous one."""
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        opened = Windows(browser, f"http://127.0.0.1:{site.port}")
        try:
            yield opened
        finally:
            browser.close()
            sys.stderr.write(site.log("web"))
    assert not opened.complaints, opened.complaints


# --- the game on a page -------------------------------------------------------------------------


def record(page: Page, game: str) -> Record:
    """The record as the site gives it to this window."""
    answer = page.request.get(f"{game}record/")
    assert answer.status == 200
    return Record.read(answer.text())


def position(page: Page, game: str) -> Position:
    return record(page, game).positions()[-1]


def offered(page: Page) -> set[str]:
    """The squares that the page offers to the chosen piece."""
    squares = page.locator(".square.legal, .square.capture, .square.target")
    ids = squares.evaluate_all("squares => squares.map(square => square.id)")
    return {str(id_).removeprefix("square-") for id_ in ids}


def reached(here: Position, action: Move, card: str = "") -> set[str]:
    """What the rules say to that."""
    return {
        square_name(move.target)
        for move in here.moves_of(here.turn)
        if move.origin == action.origin and card in ("", move.card)
    }


def shown(page: Page) -> tuple[str, set[frozenset[str]], str]:
    """The board, the two hands and the side card that can be seen."""
    labels = page.locator(".board .square").evaluate_all(
        "all => all.map(it => it.id.slice(-2) + ' ' + it.ariaLabel.split(', ')[1])"
    )
    pieces = dict(str(label).split(" ", 1) for label in labels)
    board = "".join(_DIGITS[pieces[square_name(index)]] for index in range(SIZE * SIZE))
    hands = {_cards(page, f".hand-{place}") for place in ("above", "below")}
    [side] = _cards(page, ".side-card")
    return board, hands, side


def _cards(page: Page, where: str) -> frozenset[str]:
    return frozenset(page.locator(f"{where} .card-name").all_inner_texts())


def as_shown(here: Position) -> tuple[str, set[frozenset[str]], str]:
    """The same of a position."""
    hands = {frozenset(map(card_name, here.hand(colour))) for colour in Colour}
    return here.board, hands, card_name(here.side_card)


def button_text(action: Action) -> str:
    card = card_name(action.card)
    if isinstance(action, Move):
        return f"Play {card} {square_name(action.origin)}–{square_name(action.target)}"
    return f"Pass with {card}"


def square(page: Page, index: int) -> Locator:
    return page.locator(f"#square-{square_name(index)}")


# --- keys -----------------------------------------------------------------------------------------


def tab_to(target: Locator) -> None:
    """Tab or Shift+Tab, whichever leads there, until the target has the focus."""
    page = target.page
    for _ in range(TABS):
        way = target.evaluate(
            """target => {
              const focus = document.activeElement;
              if (target === focus) return "";
              const before = Node.DOCUMENT_POSITION_PRECEDING;
              const back = focus !== document.body
                && focus.compareDocumentPosition(target) & before;
              return back ? "Shift+Tab" : "Tab";
            }"""
        )
        if not way:
            return
        page.keyboard.press(way)
    raise AssertionError(f"{TABS} tabs do not lead to {target}")


def enter(target: Locator) -> None:
    tab_to(target)
    target.page.keyboard.press("Enter")
