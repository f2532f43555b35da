"""What mails about games say: complete in text, the same in HTML, in the reader's language and
zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import Any
from zoneinfo import available_timezones

import pytest
import time_machine
from axe_playwright_python.sync_playwright import Axe
from django.core.mail import EmailMultiAlternatives
from django.test import override_settings
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import sync_playwright
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from games import characters, letters, play, shown
from games.models import Game, Kind, Notice
from games.onitama.cards import BLUE, CARDS, RED, Colour
from games.onitama.position import Move, Position
from tests import every_notice, strategies
from tests.browser import FLAGS
from tests.every_notice import NOTICES, notice
from tests.world import (
    BLUE_BY_STREAM,
    FORCED_PASS,
    PASS_DEAL,
    RED_BY_STONE,
    REPETITION,
    finished,
    fresh,
    person,
    played,
    running,
)

SITE = "http://127.0.0.1:8000"
UNSUBSCRIBE = f"{SITE}/unsubscribe/token/"


@pytest.fixture
def alice(db: None) -> User:
    return person("alice")


@pytest.fixture
def bob(db: None) -> User:
    return person("bob")


def letter(of: Notice) -> EmailMultiAlternatives:
    return letters.letter(of, "bob@example.org", "token")


def html(message: EmailMultiAlternatives) -> str:
    content, kind = message.alternatives[0]
    assert kind == "text/html"
    return str(content)


def words(text: str) -> str:
    """Without line breaks and the like, which wrapping puts anywhere."""
    return " ".join(text.split())


def said(of: Notice) -> str:
    return words(str(letter(of).body))


class Reading(HTMLParser):
    """What a reader sees of a mail: its words, its addresses, the cells of its tables."""

    VOID = frozenset({"meta", "br"})

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        # Each cell as its pieces, and those that are open, the innermost last.
        self.rows: list[list[list[str]]] = []
        self.cells: list[list[str]] = []
        self.title = ""
        self.feed(markup)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"an attribute stands twice in {tag}"
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.cells.append([])
            self.rows[-1].append(self.cells[-1])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in {"td", "th"}:
            self.cells.pop()

    def handle_data(self, data: str) -> None:
        if "title" in self.open:
            self.title += data
            return
        self.pieces.append(data)
        if self.cells:
            self.cells[-1].append(data)

    @property
    def text(self) -> str:
        return words(" ".join(self.pieces))

    @property
    def addresses(self) -> set[str]:
        return {str(attrs["href"]) for tag, attrs in self.tags if tag == "a"}

    @property
    def board(self) -> list[str]:
        """As the text has it; an empty square is empty."""
        rows = [["".join(cell) for cell in row] for row in self.rows if len(row) == 6]
        return [" ".join(row).replace("\xa0", ".") for row in rows]


# --- both parts -----------------------------------------------------------------------------


@pytest.fixture(params=NOTICES)
def any_notice(request: pytest.FixtureRequest, alice: User, bob: User) -> Notice:
    return NOTICES[request.param](alice, bob)


def test_both_parts_say_the_same(any_notice: Notice) -> None:
    """Each paragraph of the text is in the HTML, and each address; boards are compared below."""
    message = letter(any_notice)
    reading = Reading(html(message))
    body = str(message.body)
    for paragraph in body.partition("\n--\n")[0].split("\n\n"):
        drawing = re.match(r"(\d  \S( \S){4}\n)|(\w[\w ]* +\w.*\n(\S ){4})", paragraph)
        if paragraph.strip() and not drawing and "://" not in paragraph:
            assert words(paragraph) in reading.text
    addresses = set(re.findall(r"https?://\S+", body))
    assert addresses
    assert addresses <= reading.addresses
    assert (UNSUBSCRIBE in addresses) == (any_notice.kind != Notice.TEST)


def test_the_html_is_whole_and_asks_for_nothing(any_notice: Notice) -> None:
    message = letter(any_notice)
    markup = html(message)
    reading = Reading(markup)
    assert markup.startswith('<!doctype html>\n<html lang="en">')
    assert reading.title == message.subject
    tags = {tag for tag, _attrs in reading.tags}
    assert not tags & {"img", "link", "script", "style", "iframe", "svg", "form", "input", "base"}
    assert "url(" not in markup
    metas = {
        attrs.get("name"): attrs.get("content") for tag, attrs in reading.tags if tag == "meta"
    }
    assert metas["color-scheme"] == metas["supported-color-schemes"] == "light dark"
    for tag, attrs in reading.tags:
        assert not [name for name in attrs if name.startswith("on")]
        assert not {"src", "background", "class"} & attrs.keys(), tag
    assert all(address.startswith(f"{SITE}/") for address in reading.addresses)
    # A colour of ours never stands on a ground that the reader's program chose.
    for _tag, attrs in reading.tags:
        style = attrs.get("style") or ""
        if re.search(r"(^|;)color:#ffffff", style):
            assert "background-color:" in style


def test_one_that_is_cut_off_by_nobody(alice: User, bob: User) -> None:
    """Some programs show no more than 102 kB of a mail; thirty games are as much as there is."""
    for _ in range(30):
        running(bob, alice)
    message = letter(notice(bob, Kind.DIGEST, "digest:2026-12-01"))
    assert len(html(message).encode()) < 60_000
    assert message.subject == "Onitama: 30 games wait for you"
    assert "10 more games wait, with more time than these." in words(str(message.body))
    assert "10 more games wait, with more time than these." in Reading(html(message)).text


# --- the game -------------------------------------------------------------------------------


def read_board(lines: list[str]) -> dict[str, str]:
    """By the name of its square, what stands there."""
    *ranks, files = lines
    names = files.split()
    found: dict[str, str] = {}
    for line in ranks:
        rank, *row = line.split()
        found |= {f"{file}{rank}": piece for file, piece in zip(names, row, strict=True)}
    return found


@given(st.builds(Position, strategies.placements(), strategies.deals(), strategies.colours))
def test_a_board_is_read_back(position: Position) -> None:
    for colour in (BLUE, RED):
        lines = characters.board(position, colour).splitlines()
        found = read_board(lines)
        signs = {"0": ".", "1": "b", "2": "B", "3": "r", "4": "R"}
        for square, digit in enumerate(position.board):
            name = f"{'abcde'[square % 5]}{square // 5 + 1}"
            temple = digit == "0" and name in {"c1", "c5"}
            assert found[name] == ("^" if temple else signs[digit])
        # The own side is at the bottom: Blue's rank is 1, Red's is 5.
        assert lines[4][0] == ("1" if colour is BLUE else "5")


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", CARDS)
def test_a_card_is_read_back(name: str, turned: bool) -> None:
    lines = [line.split() for line in characters.card(name, turned=turned)]
    assert [len(line) for line in lines] == [5] * 5
    signs = {(file - 2, 2 - row): lines[row][file] for row in range(5) for file in range(5)}
    moves = {step for step, sign in signs.items() if sign == "x"}
    assert signs[0, 0] == "o"
    assert moves == {(-x, -y) if turned else (x, y) for x, y in CARDS[name].moves}


@given(strategies.lines_of_play(max_plies=8))
def test_a_ply_is_told_with_its_piece_and_what_it_took(
    line: tuple[Position, list[Any], list[Position]],
) -> None:
    before, actions, positions = line
    for action, after in zip(actions, positions, strict=True):
        text = characters.ply(before, action)
        if isinstance(action, Move):
            mover = "master" if before.board[action.origin] in "24" else "student"
            assert f": {mover} " in text
            fewer = sum(map(after.board.count, "1234")) < sum(map(before.board.count, "1234"))
            assert (", takes " in text) == fewer
            master_gone = after.board.count("2") + after.board.count("4") < (
                before.board.count("2") + before.board.count("4")
            )
            assert text.endswith("takes the master") == master_gone
        else:
            assert text.startswith("passed with ")
        before = after


def test_a_turn_is_complete(alice: User, bob: User) -> None:
    game = running(alice, bob, RED_BY_STONE[:3])
    row = notice(bob, Kind.TURN, f"turn:g{game.pk}:p4", game=game, ply=4)
    message = letter(row)
    body = str(message.body)
    assert "alice has moved (Tiger: master c1–c3). It is your turn." in body
    assert "Last played: Tiger: master c1–c3 (tiger:c1c3)" in body
    assert "Your hand: Mantis, Crab\nalice’s hand: Crane, Ox\nSide card: Tiger\n" in body
    assert "You play Red, at the bottom." in body
    lines = body.splitlines()
    start = lines.index("1  b b ^ b .")
    assert lines[start : start + 6] == [
        *("1  b b ^ b .", "2  . . . . b", "3  . . B . .", "4  . . . r .", "5  r r R . r"),
        "   e d c b a",
    ]
    assert f"Open the game:\n{SITE}/games/{game.pk}/\n" in body
    start = next(n for n, line in enumerate(lines) if line.startswith("Mantis "))
    assert lines[start].split() == ["Mantis", "Crab", "Tiger", "Crane", "Ox"]
    assert lines[start + 2] == ". x . x .  . . x . .  . . . . .  . x . x .  . . x . ."
    assert Reading(html(message)).board == [
        *("1 b b ^ b .", "2 . . . . b", "3 . . B . .", "4 . . . r .", "5 r r R . r", " e d c b a"),
    ]


def test_a_capture_is_told(alice: User, bob: User) -> None:
    game = finished(alice, bob, RED_BY_STONE)
    body = said(notice(alice, Kind.OVER, f"over:g{game.pk}", game=game))
    assert "Last played: Mantis: student b4–c3, takes the master (mantis:b4c3)" in body


def test_a_pass_is_told(alice: User, bob: User) -> None:
    game = running(alice, bob, FORCED_PASS, deal=PASS_DEAL)
    body = said(notice(bob, Kind.TURN, f"turn:g{game.pk}:p9", game=game, ply=9))
    assert "alice has moved (passed with Dog). It is your turn." in body
    assert "(dog:pass)" in body


def test_nothing_was_played_before_the_first_turn(alice: User, bob: User) -> None:
    body = said(every_notice.first_turn(alice, bob))
    assert "Your game with alice has begun, and you move first." in body
    assert "Last played" not in body


def test_without_a_clock_it_says_so(alice: User, bob: User) -> None:
    body = said(every_notice.turn_against_computer(alice, bob))
    assert "This game has no clock." in body
    assert "deadline" not in body


# --- what happened --------------------------------------------------------------------------


def test_one_until_i_come_back_says_what_waits(alice: User, bob: User) -> None:
    row = every_notice.turn(alice, bob)
    running(bob, alice)
    assert "no other will say" not in said(row)
    User.objects.filter(pk=bob.pk).update(mail_mode=User.MailMode.UNTIL_BACK)
    row.player.refresh_from_db()
    body = said(row)
    assert "2 games wait for you now. You asked for one such mail until you come back" in body
    assert "no other will say that it is your turn before you have opened a page here" in body
    assert "Reminders come all the same." in body


@pytest.mark.parametrize("hours", [1, 4, 24, 336])
def test_a_reminder_says_what_is_left_not_what_was(alice: User, bob: User, hours: int) -> None:
    """It may have waited for quiet hours to end."""
    row = every_notice.reminder(alice, bob)
    assert row.game is not None
    row.key = f"reminder:g{row.game.pk}:p2:{hours}h"
    row.game.deadline = timezone.now() + timedelta(hours=2, minutes=41)
    body = said(row)
    assert "It is still your turn against alice. Time left: 2 h 40 min." in body
    assert "After that, 168 hours of away time can go to this game." in body


def test_a_reminder_of_a_moved_deadline_is_read_too(alice: User, bob: User) -> None:
    row = every_notice.reminder(alice, bob)
    row.key += ":o3"
    assert "It is still your turn against alice." in said(row)


def test_without_away_time_the_deadline_is_the_end(alice: User, bob: User) -> None:
    row = every_notice.reminder(alice, bob)
    assert row.game is not None
    User.objects.filter(pk=bob.pk).update(away_on=False)
    row.game = fresh(row.game)
    assert "If you have not moved by then, the game ends." in said(row)


def test_the_last_hours_of_away_time(alice: User, bob: User) -> None:
    row = every_notice.last_hours(alice, bob)
    assert row.game is not None
    assert row.game.deadline is not None
    body = said(row)
    assert "24 hours of away time are left for your game with alice, and they are being" in body
    end = row.game.deadline + timedelta(hours=24)
    assert f"When they are used up, the game ends: {end:%A} {end.day} {end:%B %Y, %H:%M}" in body


def test_my_away_time_says_how_much_is_left_and_how_to_keep_it(alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(away_hours=200)
    body = said(every_notice.my_away_time(alice, bob))
    assert "Your time in the game with alice ran out, and your away time is used for it" in body
    assert "167 hours can still go to this game; you hold 200 in all." in body
    assert f"switch it off: {SITE}/preferences/away/" in body
    assert "Your deadline: " in body


def test_the_last_hour_of_mine_is_called_so(alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(away_hours=0)
    body = said(every_notice.my_away_time(alice, bob))
    assert "No more of it can go to this game: if you have not moved by the deadline" in body


def test_the_other_side_is_told_what_it_means(alice: User, bob: User) -> None:
    until = (timezone.now() + timedelta(days=3)).date()
    User.objects.filter(pk=alice.pk).update(away_until=until)
    body = said(every_notice.their_away_time(alice, bob))
    assert "alice’s time in your game ran out, and alice’s away time is used for it" in body
    assert f"alice is away until {until:%A} {until.day} {until:%B}. You need do nothing." in body
    assert "alice’s deadline: " in body
    assert "Your deadline: " not in body


def test_a_draw_offer_says_whose_deadline_it_is(alice: User, bob: User) -> None:
    body = said(every_notice.draw(alice, bob))
    assert "alice offers you a draw. The offer stands until you answer it or move." in body
    assert "Your deadline: " in body


ENDS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "stone": (
        RED_BY_STONE,
        "You have lost your game against bob. Your master was taken: Way of the Stone.",
        "You have won your game against alice. You took the other master: Way of the Stone.",
    ),
    "stream": (
        BLUE_BY_STREAM,
        "You have won your game against bob. Your master stepped into the other temple: Way of the"
        " Stream.",
        "You have lost your game against alice. The other master stepped into your temple: Way of"
        " the Stream.",
    ),
    "repetition": (
        REPETITION,
        "Your game against bob is a draw. The same position came for the third time.",
        "Your game against alice is a draw. The same position came for the third time.",
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_an_end_on_the_board_is_told_to_each_side(alice: User, bob: User, end: str) -> None:
    actions, to_alice, to_bob = ENDS[end]
    game = finished(alice, bob, actions)
    for player, expected in ((alice, to_alice), (bob, to_bob)):
        body = said(notice(player, Kind.OVER, f"over:g{game.pk}", game=game))
        assert expected in body
        assert "deadline" not in body


def test_other_ends_are_told_to_each_side(alice: User, bob: User) -> None:
    def told(game: Game, player: User) -> str:
        return said(notice(player, Kind.OVER, f"over:g{game.pk}", game=game))

    now = timezone.now()
    game = play.resign(running(alice, bob).pk, alice, now=now)
    assert "You have won your game against alice. alice resigned." in told(game, bob)
    assert "You have lost your game against bob. You resigned." in told(game, alice)
    game = play.abort(running(alice, bob).pk, alice, now=now)
    aborted = "was aborted; it counts for nobody. Not both had made a move."
    assert f"Your game against alice {aborted}" in told(game, bob)
    game = running(alice, bob, BLUE_BY_STREAM[:2])
    play.offer_draw(game.pk, alice, 3, now=now)
    play.accept_draw(game.pk, bob, 3, now=now)
    assert "Your game against bob is a draw. You agreed on it." in told(game, alice)


def test_a_win_that_the_winner_does_not_want(alice: User, bob: User) -> None:
    User.objects.filter(pk=alice.pk).update(out_of_time=User.OutOfTime.ABORT)
    alice.refresh_from_db()
    row = every_notice.lost_on_time(alice, bob)
    assert row.game is not None
    body = said(row)
    assert "Your game against alice was aborted; it counts for nobody." in body
    assert "You ran out of time, and alice wishes no win by that." in body
    body = said(notice(alice, Kind.OVER, f"over:g{row.game.pk}", game=row.game))
    assert "bob ran out of time, and you wish no win by that." in body


def test_a_loss_on_time_says_when_challenges_wait(alice: User, bob: User) -> None:
    once = every_notice.lost_on_time(alice, bob)
    assert "You have lost your game against alice. You ran out of time." in said(once)
    assert "challenges to and from you" not in said(once)
    twice = every_notice.lost_on_time(alice, bob)
    assert twice.game is not None
    waiting = "nobody can begin another game with you: challenges to and from you stay open"
    assert waiting in said(twice)
    winner = said(notice(alice, Kind.OVER, f"over:g{twice.game.pk}", game=twice.game))
    assert "You have won your game against bob. bob ran out of time." in winner
    assert "challenges to and from you" not in winner
    User.objects.filter(pk=bob.pk).update(last_navigation=timezone.now())
    twice.player.refresh_from_db()
    assert waiting not in said(twice)


def test_a_challenge_is_told_with_its_terms(alice: User, bob: User) -> None:
    row = every_notice.challenged(alice, bob)
    assert row.challenge is not None
    body = said(row)
    assert "alice challenges you to a game. You can accept or decline until " in body
    terms = "3 days + 1 day a move · sides are drawn · 16 base cards · public"
    assert f"The terms: {terms} Open the challenge:" in body
    assert f"Open the challenge: {SITE}/challenges/{row.challenge.pk}/" in body


def test_an_accepted_challenge_shows_the_deal(alice: User, bob: User) -> None:
    row = every_notice.accepted(alice, bob)
    assert row.game is not None
    seat = row.game.seat_of(bob.pk)
    assert seat is not None
    body = said(row)
    first = "You move first." if row.game.first == seat.colour else "alice moves first."
    assert f"alice has accepted your challenge. The cards are dealt. {first}" in body
    mine = ", ".join(row.game.current.hand(Colour(seat.colour))).title().replace("_", " ")
    assert f"Your hand: {mine} alice’s hand: " in body


def test_a_declined_challenge_gives_the_reason(alice: User, bob: User) -> None:
    body = said(every_notice.declined(alice, bob))
    assert "alice has declined your challenge." in body
    assert "The reason given: I have enough games for now." in body


def test_a_challenge_that_waits_says_for_whom(alice: User, bob: User) -> None:
    sent = every_notice.waits(alice, bob)
    assert "Your challenge to alice waits: alice has lost two games on time" in said(sent)
    got = every_notice.ask(alice, bob)
    row = notice(bob, Kind.CHALLENGE, f"challenge:c{got.pk}:waits", challenge=got)
    assert "alice’s challenge to you waits: alice has lost two games on time" in said(row)


def test_an_outage_says_what_my_deadlines_are_now(alice: User, bob: User) -> None:
    row = every_notice.outage(alice, bob)
    running(alice, bob)
    message = letter(row)
    assert message.subject == "Onitama: the site was away, your games have more time"
    body = words(str(message.body))
    assert "Nobody loses a game by that" in body
    assert body.count("Against alice, you play Red (game ") == 1
    assert body.count("Your deadline: ") == 1


def test_a_digest_begins_with_the_least_time(alice: User, bob: User) -> None:
    now = timezone.now()
    running(bob, alice, BLUE_BY_STREAM[:2], now=now - timedelta(hours=3))
    urgent = running(bob, alice, now=now - timedelta(days=2))
    against = every_notice.turn_against_computer(alice, bob).game
    running(alice, bob, now=now)
    challenge = every_notice.ask(alice, bob)
    message = letter(notice(bob, Kind.DIGEST, "digest:2026-12-01"))
    assert message.subject == "Onitama: 3 games wait for you"
    body = str(message.body)
    assert "3 games wait for your move, the one with the least time first." in body
    games = re.findall(r"Against (\S+), you play Blue \(game (\d+)\)", body)
    assert len(games) == 3
    assert against is not None
    assert (games[0][1], games[-1][1]) == (str(urgent.pk), str(against.pk))
    assert body.count("   a b c d e") == 3
    assert all(f"{SITE}/games/{pk}/\n" in body for _name, pk in games)
    assert body.index("Challenges that wait for your answer:") > body.index("(game ")
    assert f"{SITE}/challenges/{challenge.pk}/" in body
    assert "In 1 other game it is your opponent’s turn." in body
    assert body.count("This game has no clock.") == 1


def test_a_digest_of_a_challenge_alone(alice: User, bob: User) -> None:
    every_notice.ask(alice, bob)
    message = letter(notice(bob, Kind.DIGEST, "digest:2026-12-01"))
    assert message.subject == "Onitama: what waits for you"
    body = words(str(message.body))
    assert body.startswith("1 challenge waits for your answer.")
    assert "Against" not in body
    assert "^ is an empty temple" not in body


def test_a_digest_tells_of_a_draw_offer(alice: User, bob: User) -> None:
    every_notice.draw(alice, bob)
    assert "alice offers you a draw." in said(notice(bob, Kind.DIGEST, "digest:2026-12-01"))


def test_a_test_shows_a_board_and_the_time(alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(time_zone="Asia/Kathmandu")
    with time_machine.travel(datetime(2026, 12, 1, 9, 0, tzinfo=UTC), tick=False):
        message = letter(every_notice.a_test(alice, bob))
    body = words(str(message.body))
    assert message.subject == "Onitama: this is how mails from us look"
    assert "Hello bob, this is the test you asked for" in body
    assert "sent on Tuesday 1 December 2026, 14:45 (Asia/Kathmandu, UTC+05:45)" in body
    assert "What follows is an example, and no game of yours." in body
    assert "5 r r R r r e d c b a" in body
    assert f"Your games: {SITE}/games/" in body
    assert "/games/0/" not in body


# --- the reader -----------------------------------------------------------------------------


# Around the changes of Zagreb's clocks: an hour that comes twice, and one that never comes.
MOMENTS = [
    ("UTC", "2026-12-03 16:30", "Thursday 3 December 2026, 16:30 UTC."),
    (
        "Europe/Zagreb",
        "2026-10-25 00:30",
        "Sunday 25 October 2026, 02:30 (Europe/Zagreb, UTC+02:00)",
    ),
    (
        "Europe/Zagreb",
        "2026-10-25 01:30",
        "Sunday 25 October 2026, 02:30 (Europe/Zagreb, UTC+01:00)",
    ),
    ("Europe/Zagreb", "2027-03-28 00:59", "Sunday 28 March 2027, 01:59 (Europe/Zagreb, UTC+01:00)"),
    ("Europe/Zagreb", "2027-03-28 01:00", "Sunday 28 March 2027, 03:00 (Europe/Zagreb, UTC+02:00)"),
    (
        "Australia/Lord_Howe",
        "2027-04-03 14:59",
        "Sunday 4 April 2027, 01:59 (Australia/Lord_Howe, UTC+11:00)",
    ),
    (
        "Australia/Lord_Howe",
        "2027-04-03 15:00",
        "Sunday 4 April 2027, 01:30 (Australia/Lord_Howe, UTC+10:30)",
    ),
    (
        "Pacific/Kiritimati",
        "2026-12-31 10:30",
        "Friday 1 January 2027, 00:30 (Pacific/Kiritimati, UTC+14:00)",
    ),
    (
        "America/St_Johns",
        "2026-12-31 10:30",
        "Thursday 31 December 2026, 07:00 (America/St_Johns, UTC-03:30)",
    ),
    (
        "Europe/London",
        "2026-12-31 10:30",
        "Thursday 31 December 2026, 10:30 (Europe/London, UTC+00:00)",
    ),
    ("No/Such_Zone", "2026-12-31 10:30", "Thursday 31 December 2026, 10:30 UTC."),
]


@pytest.mark.parametrize(("zone", "utc", "expected"), MOMENTS)
def test_the_deadline_is_that_of_the_readers_clock_and_of_utc(
    alice: User, bob: User, zone: str, utc: str, expected: str
) -> None:
    row = every_notice.turn(alice, bob)
    assert row.game is not None
    row.player.time_zone = zone
    row.game.deadline = datetime.fromisoformat(utc).replace(tzinfo=UTC)
    message = letter(row)
    for part in (words(str(message.body)), Reading(html(message)).text):
        assert f"Your deadline: {expected}" in part
        assert expected.endswith(" UTC.") or f"that is {utc} UTC." in part


def test_the_longest_names_and_zones_fit(db: None) -> None:
    longest = max(available_timezones(), key=len)
    alice, bob = person("A" * 20), person("b-" * 9 + "bb")
    User.objects.update(time_zone=longest)
    for make in NOTICES.values():
        body = str(letter(make(alice, bob)).body)
        assert max(len(line) for line in body.splitlines() if "://" not in line) <= 78


@pytest.fixture
def french_too() -> Iterator[None]:
    with override_settings(LANGUAGES=[("en", "English"), ("fr", "Français")]):
        yield


@pytest.mark.usefixtures("french_too")
@pytest.mark.parametrize(
    ("language", "date", "lang"),
    [
        ("fr", "jeudi 3 décembre 2026, 17:30", "fr"),
        ("en", "Thursday 3 December 2026, 17:30", "en"),
        # A language that the site does not speak (any more).
        ("hr", "Thursday 3 December 2026, 17:30", "en"),
        ("../x", "Thursday 3 December 2026, 17:30", "en"),
    ],
)
def test_it_speaks_the_readers_language(
    alice: User, bob: User, language: str, date: str, lang: str
) -> None:
    row = every_notice.turn(alice, bob)
    assert row.game is not None
    row.player.language, row.player.time_zone = language, "Europe/Zagreb"
    row.game.deadline = datetime(2026, 12, 3, 16, 30, tzinfo=UTC)
    message = letter(row)
    assert f"Your deadline: {date}" in words(str(message.body))
    assert f"Your deadline: {date}" in Reading(html(message)).text
    assert f'<html lang="{lang}">' in html(message)
    # Whoever writes it goes on in the language and zone that were set before.
    assert timezone.get_current_timezone_name() == "UTC"


def test_a_crooked_name_bends_no_html(alice: User, bob: User) -> None:
    """Names are checked at sign-up; a row that got past it is still only text."""
    User.objects.filter(pk=alice.pk).update(username="<b>&quot;</b>")
    alice.refresh_from_db()
    for make in NOTICES.values():
        message = letter(make(alice, bob))
        assert "<b>&" not in html(message)
        if "quot" in html(message):
            assert "<b>&quot;</b>" in words(str(message.body))
            assert "<b>&quot;</b>" in Reading(html(message)).text


# --- what it costs --------------------------------------------------------------------------


def loaded(row: Notice) -> Notice:
    """As the delivery loads them for many notices at once."""
    notice = Notice.objects.select_related(
        "player", "challenge__challenger", "challenge__challenged"
    ).get(pk=row.pk)
    if notice.game_id:
        notice.game = Game.objects.with_seats().get(pk=notice.game_id)
        shown.read_records([notice.game])
    return notice


# A challenge's answer is in its row; whether somebody is absent and what else waits is asked.
QUERIES = {"digest": 5, "outage": 3, "lost on time": 1}


@pytest.mark.parametrize("kind", NOTICES)
def test_a_loaded_notice_needs_no_query(
    alice: User, bob: User, kind: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    row = loaded(NOTICES[kind](alice, bob))
    with django_assert_num_queries(QUERIES.get(kind, 0)):
        letter(row)


def test_one_until_i_come_back_needs_one(
    alice: User, bob: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    row = loaded(every_notice.turn(alice, bob))
    row.player.mail_mode = User.MailMode.UNTIL_BACK
    with django_assert_num_queries(1):
        letter(row)


@pytest.mark.parametrize("count", [2, 19])
def test_a_digest_needs_no_more_for_many_games(
    alice: User, bob: User, count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(count):
        running(bob, alice, BLUE_BY_STREAM[:2])
    row = loaded(notice(bob, Kind.DIGEST, "digest:2026-12-01"))
    with django_assert_num_queries(5):
        letter(row)


def test_records_are_read_for_many_games_at_once(
    alice: User, bob: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    games = [running(alice, bob, BLUE_BY_STREAM[:n]) for n in range(4)]
    fresh_games = list(Game.objects.filter(pk__in=[game.pk for game in games]).order_by("pk"))
    # A move that came after the row was read is not told of.
    played(games[2], BLUE_BY_STREAM[2:3])
    with django_assert_num_queries(1):
        shown.read_records(fresh_games)
    with django_assert_num_queries(0):
        assert [game.tokens for game in fresh_games] == [list(BLUE_BY_STREAM[:n]) for n in range(4)]


# --- a real browser -------------------------------------------------------------------------


@pytest.mark.browser
def test_it_is_read_in_light_and_dark_at_any_width(alice: User, bob: User, chromium: str) -> None:
    """The rules of WCAG by axe, contrast among them; none scrolls sideways."""
    markup = {name: html(letter(make(alice, bob))) for name, make in NOTICES.items()}
    axe = Axe().axe_script
    run = "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']})"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": 360, "height": 700})
            for name, content in markup.items():
                page.set_content(content)
                # Axe takes a page without a ground of its own for white, in the dark as well.
                page.add_style_tag(content="html { background-color: Canvas }")
                for width in (360, 700):
                    page.set_viewport_size({"width": width, "height": 700})
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    assert wide <= width, (name, scheme, width)
                page.evaluate(axe)
                found = page.evaluate(f"{run}.then((found) => found.violations)")
                assert [(v["id"], v["nodes"][0]["html"]) for v in found] == [], (name, scheme)
        browser.close()
