"""People at real browsers: whole games by links alone and by keys alone, a guest, several tabs."""

from __future__ import annotations

import email
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email import policy
from email.message import EmailMessage

import pytest
from playwright.sync_api import Locator, Page, expect

from games.onitama.cards import Colour
from games.onitama.position import Action, Move, Position
from games.onitama.record import Record
from tests import mails, world
from tests.browser import (
    Windows,
    as_shown,
    button_text,
    enter,
    offered,
    position,
    reached,
    record,
    shown,
    square,
    tab_to,
    windows,
)
from tests.servers import PostOffice, Site, Visitor, wait_for
from tests.short_games import calm, helpful

pytestmark = [
    pytest.mark.browser,
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
]
NAMES = ("Aiko", "Bram")
MINUTE = 60
# Milliseconds within which the computer answers; the machine may be busy with other tests.
ANSWER = 12_000
Players = dict[Colour, Page]


@pytest.fixture
def site(make_site: Callable[..., Site], post_office: PostOffice) -> Site:
    site = make_site(EMAIL_URL=post_office.url)
    site.start_all()
    return site


# --- two people, two whole games -----------------------------------------------------------------


@pytest.mark.long
def test_two_people_sign_up_play_to_both_ways_of_winning_and_find_the_games(
    site: Site, post_office: PostOffice, chromium: str
) -> None:
    with windows(chromium, site) as opened:
        aiko, bram = (opened.open(java_script_enabled=False) for _ in NAMES)
        for page, name in ((aiko, NAMES[0]), (bram, NAMES[1])):
            sign_up(page, name, post_office)
        stone = by_links_alone(aiko, bram, post_office)
        aiko, bram = (opened.open() for _ in NAMES)
        stream = by_keys_alone(aiko, bram)
        for page in (aiko, bram):
            find_in_the_archive(page, stone, stream)


def sign_up(page: Page, name: str, post_office: PostOffice) -> None:
    address = f"{name.lower()}@example.org"
    page.goto("/")
    page.get_by_role("main").get_by_role("link", name="Sign up").click()
    fill_in(page, name, address)
    page.goto(mails.path(mail_to(post_office, address, "confirm your address"), "/confirm-email/"))
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text(f"{address} is confirmed.")).to_be_visible()


def fill_in(page: Page, name: str, address: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Email address").fill(address)
    page.get_by_label("Password").fill(world.PASSWORD)
    page.get_by_role("button", name="Sign up and play").click()
    expect(page).to_have_url(re.compile("/games/$"))
    expect(page.get_by_text(f"We have sent a mail to {address}")).to_be_visible()


def mail_to(post_office: PostOffice, address: str, subject: str) -> EmailMessage:
    """Waits for the mail that came over SMTP."""

    def arrived() -> EmailMessage | None:
        for message in post_office.to(address):
            if subject in str(message["Subject"]):
                return email.message_from_bytes(message.as_bytes(), policy=policy.default)
        return None

    return wait_for(arrived, MINUTE)


def by_links_alone(aiko: Page, bram: Page, post_office: PostOffice) -> str:
    """Challenge, accept, and a game to the Way of the Stone; its address."""
    aiko.get_by_role("navigation").get_by_role("link", name="Play").click()
    aiko.get_by_label("Who", exact=True).fill("bram")
    aiko.get_by_label("Red", exact=True).last.check()
    aiko.get_by_role("button", name="Send the challenge").click()
    letter = mail_to(post_office, "bram@example.org", "Aiko challenges Bram")
    bram.goto(mails.path(letter, "/challenges/"))
    bram.get_by_role("button", name="Accept and deal the cards").click()
    game = game_of(bram)
    letter = mail_to(post_office, "aiko@example.org", "your game with Bram")
    assert mails.path(letter, "/games/") == game

    start = position(aiko, game)
    players = {Colour.RED: aiko, Colour.BLUE: bram}
    line = helpful(start, "stone")
    played(line, start, players, game, by_links)
    told_how_it_ended(players, start, line, game, "By the Way of the Stone")
    return game


def game_of(page: Page) -> str:
    """The path of the game that the page shows."""
    expect(page).to_have_url(re.compile(r"/games/[0-9]+/$"))
    # A link is a plain link until the scripts are there.
    page.wait_for_load_state()
    return "/".join(["", *page.url.split("/")[3:]])


def played(
    line: list[Action],
    start: Position,
    players: Players,
    game: str,
    by: Callable[[Page, str, int, Position, Move], None],
) -> None:
    here = start
    for number, action in enumerate(line, start=1):
        assert isinstance(action, Move), "two who help each other need not pass"
        page = players[here.turn]
        by(page, game, number, here, action)
        here = here.play(action)
        expect(page.locator(f"#ply-{number}")).to_be_visible()
        assert shown(page) == as_shown(here)


def by_links(page: Page, game: str, number: int, here: Position, action: Move) -> None:
    """One move, the card first or the piece first, with links and forms."""
    page.goto(game)
    expect(page.get_by_role("heading", name="Your move")).to_be_visible()
    if number == 1:
        taken_back_by_links(page, action)
    if number % 2:
        pick(page.locator(f"#card-{action.card}"))
    pick(square(page, action.origin))
    assert offered(page) == reached(here, action, action.card if number % 2 else "")
    pick(square(page, action.target))
    if page.get_by_role("heading", name="Which card?").is_visible():
        page.locator(f"#ask-{action.card}").click()
    expect(page.locator("#confirm")).to_have_text(button_text(action))
    page.locator("#confirm").click()
    assert game_of(page) == game


def pick(link: Locator) -> None:
    """Press it, until it is marked as chosen."""
    link.click()
    expect(link).to_have_attribute("aria-current", "true")
    link.page.wait_for_load_state()


def taken_back_by_links(page: Page, action: Move) -> None:
    """By Undo, and by the browser's own way back."""
    for back in (page.locator("#undo").click, page.go_back):
        pick(square(page, action.origin))
        back()
        expect(page.locator(".square.chosen")).to_have_count(0)
    expect(page.locator("#confirm")).to_have_count(0)
    expect(page.get_by_text("No move yet.")).to_be_visible()


def told_how_it_ended(
    players: Players, start: Position, line: list[Action], game: str, how: str
) -> None:
    end = start
    for action in line:
        end = end.play(action)
    outcome = end.outcome()
    assert outcome is not None
    for colour, page in players.items():
        page.goto(game)
        said = "You won" if colour is outcome.winner else "You lost"
        expect(page.get_by_role("heading", name=said)).to_be_visible()
        expect(page.locator(".turn-text")).to_contain_text(how)
        assert record(page, game).actions == tuple(line)


# --- by keys -------------------------------------------------------------------------------------


def by_keys_alone(aiko: Page, bram: Page) -> str:
    """Log in, challenge, accept, and a game to the Way of the Stream; its address."""
    for page, name in ((aiko, NAMES[0]), (bram, NAMES[1])):
        log_in_by_keys(page, name)
    enter(bram.get_by_role("navigation").get_by_role("link", name="Play"))
    expect(bram.get_by_role("heading", name="New game")).to_be_visible()
    tab_to(bram.get_by_label("Who", exact=True))
    bram.keyboard.type("aiko")
    enter(bram.get_by_role("button", name="Send the challenge"))
    expect(bram.get_by_role("heading", name="You challenge Aiko")).to_be_visible()
    your_turn_by_keys(aiko)
    enter(aiko.get_by_role("button", name="Accept the challenge of Bram"))
    game = game_of(aiko)

    start = position(aiko, game)
    blue = record(aiko, game).blue
    players = {Colour.BLUE: aiko, Colour.RED: bram}
    if blue == NAMES[1]:
        players = {Colour.BLUE: bram, Colour.RED: aiko}
    line = helpful(start, "stream")
    played(line, start, players, game, by_keys)
    told_how_it_ended(players, start, line, game, "By the Way of the Stream")
    return game


def log_in_by_keys(page: Page, name: str) -> None:
    page.goto("/")
    enter(page.get_by_role("banner").get_by_role("link", name="Log in"))
    tab_to(page.get_by_label("Name or email address"))
    page.keyboard.type(name)
    tab_to(page.get_by_label("Password"))
    page.keyboard.type(world.PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your turn", exact=True)).to_be_visible()


def your_turn_by_keys(page: Page) -> None:
    enter(page.get_by_role("navigation").get_by_role("link", name="Your turn"))
    expect(page.get_by_role("heading", name="Your turn", exact=True)).to_be_visible()


def by_keys(page: Page, game: str, number: int, here: Position, action: Move) -> None:
    """One move, the card first or the piece first; every press leaves the focus in the page."""
    your_turn_by_keys(page)
    enter(page.get_by_role("list", name="Games that wait for you").get_by_role("link"))
    assert game_of(page) == game
    origin, target = square(page, action.origin), square(page, action.target)
    if number <= 2:
        taken_back_by_keys(page, action)
    if number % 2:
        card = page.locator(f"#card-{action.card}")
        enter(card)
        expect(card).to_have_attribute("aria-current", "true")
        expect(card).to_be_focused()
    enter(origin)
    expect(origin).to_have_attribute("aria-current", "true")
    expect(origin).to_be_focused()
    assert offered(page) == reached(here, action, action.card if number % 2 else "")
    enter(target)
    expect(target).to_have_attribute("aria-current", "true")
    if page.get_by_role("heading", name="Which card?").is_visible():
        expect(page.locator("[id^=ask-]").first).to_be_focused()
        enter(page.locator(f"#ask-{action.card}"))
    confirm = page.locator("#confirm")
    expect(confirm).to_have_text(button_text(action))
    expect(confirm).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#turn-title")).to_be_focused()


def taken_back_by_keys(page: Page, action: Move) -> None:
    """Escape undoes a whole choice and half a one; nothing is sent."""
    enter(square(page, action.origin))
    expect(page.locator(".square.chosen")).to_have_count(1)
    page.keyboard.press("Escape")
    undone(page)
    enter(square(page, action.origin))
    expect(page.locator(".square.chosen")).to_have_count(1)
    enter(square(page, action.target))
    expect(page.locator(".square.target")).to_have_count(1)
    page.keyboard.press("Escape")
    undone(page)


def undone(page: Page) -> None:
    expect(page.locator(".square.chosen, .card-button.chosen")).to_have_count(0)
    expect(page.locator("#confirm")).to_have_count(0)
    expect(page.locator("#turn-title")).to_be_focused()


# --- afterwards ----------------------------------------------------------------------------------


def find_in_the_archive(page: Page, stone: str, stream: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name="Archive").click()
    expect(page.get_by_text("2 games.")).to_be_visible()
    rows = page.locator("tbody tr")
    # The newest first.
    expect(rows.nth(0)).to_contain_text("Stream")
    expect(rows.nth(1)).to_contain_text("Stone")
    for row, game in ((rows.nth(0), stream), (rows.nth(1), stone)):
        page.goto("/archive/")
        row.locator(".row-link a").click()
        step_through(page, game, record(page, game))
        keep(page, record(page, game))


def step_through(page: Page, game: str, kept: Record) -> None:
    plies = len(kept.actions)
    expect(page).to_have_url(re.compile(f"{game}ply/{plies}/$"))
    page.wait_for_load_state()
    keys = {"ArrowLeft": plies - 1, "Home": 0, "ArrowRight": 1, "End": plies}
    for key, number in keys.items():
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(f"{game}ply/{number}/$"))
        expect(page).to_have_title(re.compile(f", ply {number} "))
        assert shown(page) == as_shown(kept.positions()[number])


def keep(page: Page, kept: Record) -> None:
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the record").click()
    assert Record.read(download.value.path().read_text()) == kept


# --- a guest --------------------------------------------------------------------------------------


def test_a_guest_plays_the_computer_signs_up_and_keeps_the_game(
    site: Site, post_office: PostOffice, chromium: str
) -> None:
    with windows(chromium, site) as opened:
        page = opened.open()
        page.goto("/")
        page.get_by_role("button", name="Play the computer now").click()
        game = game_of(page)
        me = Colour.BLUE if str(record(page, game).blue).startswith("guest-") else Colour.RED
        for _ in range(2):
            by_mouse(page, game, me)
        made = record(page, game).actions
        page.locator(".menu summary").click()
        page.get_by_role("link", name="Sign up and keep my games").click()
        fill_in(page, "Chiyo", "chiyo@example.org")
        assert mail_to(post_office, "chiyo@example.org", "confirm your address")
        page.locator(f"main a[href='{game}']").click()
        assert game_of(page) == game
        kept = record(page, game)
        assert kept.actions == made
        assert (kept.blue if me is Colour.BLUE else kept.red) == "Chiyo"
        by_mouse(page, game, me)


def by_mouse(page: Page, game: str, me: Colour) -> None:
    """A move, and the computer's answer, which comes by itself."""
    if record(page, game).result != "*":
        return  # hardly ever has the computer won by now
    expect(page.get_by_role("heading", name="Your move")).to_be_visible(timeout=ANSWER)
    before = record(page, game)
    here, plies = before.positions()[-1], len(before.actions)
    assert here.turn is me
    action = calm(here)
    pick(square(page, action.origin))
    assert offered(page) == reached(here, action)
    pick(square(page, action.target))
    if page.get_by_role("heading", name="Which card?").is_visible():
        page.locator(f"#ask-{action.card}").click()
    page.get_by_role("button", name=button_text(action)).click()
    expect(page.locator(f"#ply-{plies + 2}")).to_be_visible(timeout=ANSWER)
    now = record(page, game)
    assert now.actions[plies] == action
    assert len(now.actions) == plies + 2
    assert shown(page) == as_shown(now.positions()[-1])


# --- pages left open ------------------------------------------------------------------------------


@dataclass
class Table:
    """A game in which alice, Blue, is to move: a crab b1-b2, say."""

    game: str
    opened: Windows
    alice: Visitor
    bob: Visitor

    def sit(self, visitor: Visitor) -> Page:
        page = self.opened.open(visitor)
        page.goto(self.game)
        return page

    def plies(self, page: Page) -> int:
        return len(record(page, self.game).actions)


@pytest.fixture
def table(make_site: Callable[..., Site], chromium: str) -> Iterator[Table]:
    alice, bob = world.person("alice"), world.person("bob")
    game = world.running(alice, bob)
    site = make_site()
    site.start_web()
    visitors = [site.visitor(player) for player in (alice, bob)]
    with windows(chromium, site) as opened:
        yield Table(f"/games/{game.pk}/", opened, *visitors)


def choose(page: Page, origin: str, target: str) -> None:
    page.click(f"#square-{origin}")
    page.click(f"#square-{target}.legal")
    expect(page.locator("#confirm")).to_be_focused()


def test_a_stale_tab_moves_nothing_is_told_and_shows_the_new_board(table: Table) -> None:
    stale = table.sit(table.alice)
    # Its last poll was a moment ago.
    stale.route(re.compile("/board/.*version="), lambda route: route.fulfill(status=204))
    choose(stale, "b1", "b2")
    other = stale.context.new_page()
    other.goto(table.game)
    choose(other, "d1", "d2")
    other.click("#confirm")
    expect(other.locator("#ply-1")).to_be_visible()
    fields = {"ply": 2, "card": "mantis", "from": "a5", "to": "b4"}
    assert table.bob.post(f"{table.game}move/", fields).status == 303

    stale.click("#confirm")
    expect(stale.locator(".turn-panel .error")).to_contain_text("The game has moved on")
    expect(stale.locator("#turn-title")).to_be_focused()
    assert table.plies(stale) == 2
    assert shown(stale) == as_shown(position(stale, table.game))
    # And on it goes.
    choose(stale, "b1", "b2")
    stale.click("#confirm")
    expect(stale.locator("#ply-3")).to_be_visible()
    table.opened.forgive("status of 409")


def test_a_choice_under_way_survives_what_a_poll_brings(table: Table) -> None:
    page = table.sit(table.alice)
    page.click("#square-b1")
    origin = page.locator("#square-b1")
    expect(origin).to_have_attribute("aria-current", "true")
    assert table.bob.post(f"{table.game}draw/offer/", {"ply": 1}).status == 303
    expect(page.locator(".offer")).to_contain_text("bob offers a draw")
    expect(origin).to_have_attribute("aria-current", "true")
    expect(origin).to_be_focused()
    page.click("#square-b2.legal")
    page.click("#confirm")
    expect(page.locator("#ply-1")).to_be_visible()


def test_a_double_click_sends_one_move_and_it_appears_by_itself(table: Table) -> None:
    alice, bob = table.sit(table.alice), table.sit(table.bob)
    expect(bob.get_by_role("heading", name="Waiting for alice")).to_be_visible()
    posts: list[str] = []
    alice.on("request", lambda sent: posts.append(sent.url) if sent.method == "POST" else None)
    choose(alice, "b1", "b2")
    alice.dblclick("#confirm")
    expect(alice.get_by_role("heading", name="Waiting for bob")).to_be_visible()
    expect(bob.get_by_role("heading", name="Your move")).to_be_visible()
    assert len(posts) == 1
    assert table.plies(alice) == 1
    expect(alice.locator(".error")).to_have_count(0)
    expect(bob.locator("#turn-count")).to_have_text("1")
    assert shown(bob) == shown(alice) == as_shown(position(bob, table.game))


def test_a_move_that_does_not_arrive_is_told_and_can_be_sent_again(table: Table) -> None:
    page = table.sit(table.alice)
    choose(page, "b1", "b2")
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(page.locator("#confirm")).to_be_focused()
    page.context.set_offline(False)
    page.keyboard.press("Enter")
    expect(page.locator("#ply-1")).to_be_visible()
    expect(page.locator("#alert")).to_be_empty()
    expect(page.locator("#turn-title")).to_be_focused()
    assert table.plies(page) == 1
    table.opened.forgive("ERR_INTERNET_DISCONNECTED", "htmx:afterRequest", "htmx:sendError")
