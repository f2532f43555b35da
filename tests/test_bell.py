"""The bell: what a player has not seen, in words, on its page; and how it is seen."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client, override_settings
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import MOST_BOUNCES, User
from games import challenges, deliveries, notices, play
from games.models import Challenge, Game, Kind, Notice
from tests import world

pytestmark = pytest.mark.django_db

PAGE, SEEN, COUNT = "/notices/", "/notices/seen/", "/notices/count/"


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def as_alice(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def lines(response: Any, *, seen: bool = False) -> list[str]:
    """What is listed, as `/address/ words | more words`; unread, or seen lately."""
    unread, _heading, lately = response.content.decode().partition("Seen lately")
    rows = re.findall(
        r'<li><a class="rows-what[ \w]*" href="(.*?)">(.*?)</a><span[^>]*>(.*?)</li>',
        lately if seen else unread,
        re.S,
    )
    return [f"{url} {text} | {_plain(aside)}" for url, text, aside in rows]


def all_listed(client: Client) -> dict[str, str]:
    """What the page's form sends."""
    page = client.get(PAGE, headers={"HX-Request": "true"}).content.decode()
    return dict(re.findall(r'name="(newest)" value="(.*?)"', page))


def _plain(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


def challenge(by: User, to: User, now: datetime) -> Challenge:
    control = world.CONTROL
    return challenges.challenge(
        by, to, control=control, colour="b", deck="base", private=False, now=now
    )


# --- what is listed -------------------------------------------------------------------------


def test_it_asks_a_stranger_to_log_in(client: Client) -> None:
    for page, ask in ((PAGE, client.get), (SEEN, client.post)):
        login = f"/accounts/login/?next={PAGE}"
        assertRedirects(ask(page), login, fetch_redirect_response=False)


def test_it_says_what_it_is_for_while_it_is_empty(as_alice: Client) -> None:
    response = as_alice.get(PAGE)
    assertContains(response, "You have seen everything.")
    assertContains(response, "When an opponent moves")
    assertNotContains(response, SEEN)


def test_a_turn_is_told_with_the_time_left(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    game = world.running(bob, alice, ["crab:a1a2"], now=now - timedelta(hours=5, seconds=9))
    response = as_alice.get(PAGE)
    assertContains(response, "One that you have not seen.")
    assert lines(response) == [
        f"/games/{game.pk}/ Your turn against bob | 2 d 18 h left · 5 hours ago"
    ]
    assertNotContains(response, "urgent")


def test_little_time_is_red(as_alice: Client, alice: User, bob: User, now: datetime) -> None:
    world.running(alice, bob, now=now - timedelta(hours=70))
    response = as_alice.get(PAGE)
    assertContains(response, '<span class="urgent">1 h 59 min left</span>')


def test_against_the_computer_there_is_no_time(as_alice: Client, alice: User) -> None:
    game = world.against_level(alice)
    [line] = lines(as_alice.get(PAGE))
    assert line == f"/games/{game.pk}/ Your turn against random | just now"


def test_each_kind_is_told_in_words(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    game = world.running(alice, bob, now=now)
    at = f"/games/{game.pk}/"
    for kind, key in (
        (Kind.REMINDER, f"reminder:g{game.pk}:p1:4h"),
        (Kind.REMINDER, f"reminder:g{game.pk}:p1:away24"),
        (Kind.AWAY, f"away:g{game.pk}:p1"),
    ):
        notices.tell(alice, kind, key, now=now, game=game, ply=1)
    play.offer_draw(game.pk, bob, 1, now=now)
    for kind, key in ((Kind.OUTAGE, "outage:o1"), (Kind.DIGEST, "digest:2026-12-01")):
        notices.tell(alice, kind, key, now=now)
    asked, mine = challenge(bob, alice, now), challenge(alice, bob, now)
    challenges.decline(mine.pk, bob, "busy", now=now)
    accepted = challenge(alice, bob, now)
    begun = challenges.accept(accepted.pk, bob, now=now)
    # The cards say who begins; where it is alice, that is told too.
    Notice.objects.filter(game=begun, kind=Kind.TURN).delete()
    left = "2 d 23 h left · just now"
    assert lines(as_alice.get(PAGE)) == [
        f"/games/{begun.pk}/ bob has accepted your challenge | just now",
        f"/challenges/{mine.pk}/ bob has declined your challenge | just now",
        f"/challenges/{asked.pk}/ bob challenges you | just now",
        "/games/ Your daily digest | just now",
        "/games/ The site was away, and deadlines have moved | just now",
        f"{at} bob offers you a draw | just now",
        f"{at} Away time is used in the game against bob | just now",
        f"{at} Little away time is left in the game against bob | {left}",
        f"{at} Your time runs out against bob | {left}",
        f"{at} Your turn against bob | {left}",
    ]


def test_each_end_is_told_in_words(as_alice: Client, alice: User, bob: User, now: datetime) -> None:
    games = [
        play.resign(world.running(alice, bob, world.BLUE_BY_STONE[:2], now=now).pk, bob, now=now),
        world.finished(bob, alice, world.BLUE_BY_STONE, now=now),
        world.finished(bob, alice, world.BLUE_BY_STREAM, now=now),
        play.abort(world.running(alice, bob, now=now).pk, bob, now=now),
        world.finished(alice, bob, world.REPETITION, now=now),
    ]
    won, stone, stream, aborted, draw = (f"/games/{game.pk}/" for game in games)
    assert lines(as_alice.get(PAGE)) == [
        f"{draw} A draw against bob | third repetition · just now",
        f"{aborted} The game against bob was aborted | before both had moved · just now",
        f"{stream} You lost against bob | Way of the Stream · just now",
        f"{stone} You lost against bob | Way of the Stone · just now",
        f"{won} You won against bob | the opponent resigned · just now",
    ]


def test_every_kind_has_its_words(as_alice: Client, alice: User, bob: User, now: datetime) -> None:
    """A kind that is added without words fails this one."""
    over = world.finished(bob, alice, now=now)
    row = challenge(bob, alice, now)
    Notice.objects.all().delete()
    for kind in Kind.values:
        about = {"challenge": row} if kind == Kind.CHALLENGE else {"game": over}
        about = {} if kind in {Kind.OUTAGE, Kind.DIGEST} else about
        Notice.objects.create(
            player=alice, kind=kind, key=f"{kind}:received", created=now, not_before=now, **about
        )
    # Of a game that is over nobody is told that it waits.
    untrue = {Kind.TURN, Kind.REMINDER, Kind.AWAY, Kind.DRAW}
    assert len(lines(as_alice.get(PAGE))) == len(Kind.values) - len(untrue)


def test_what_is_not_wanted_there_is_not_listed(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    world.running(alice, bob, now=now)
    notices.set_channels(alice, {"turn": (False, True, True)})
    assert lines(as_alice.get(PAGE)) == []
    notices.see_all(alice, Notice.objects.latest("pk").pk, now=now)
    Notice.objects.update(seen=now)
    assert lines(as_alice.get(PAGE), seen=True) == []


def test_a_test_message_is_none(as_alice: Client, alice: User, now: datetime) -> None:
    notices.send_test(alice, "mail", now=now)
    response = as_alice.get(PAGE)
    assert lines(response) == lines(response, seen=True) == []


def test_nobody_sees_what_is_another_s(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    carol = world.person("carol")
    world.running(bob, carol, now=now)
    challenge(bob, carol, now)
    world.running(bob, alice, now=now)
    response = as_alice.get(PAGE)
    assert lines(response) == [] and "carol" not in response.content.decode()


def test_guests_have_one_too(client: Client) -> None:
    guest = world.guest()
    world.against_level(guest)
    client.force_login(guest)
    assert len(lines(client.get(PAGE))) == 1


def test_a_hundred_are_listed_and_the_rest_counted(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    for n in range(103):
        notices.tell(alice, Kind.OUTAGE, f"outage:o{n}", now=now)
    response = as_alice.get(PAGE)
    assertContains(response, "103 that you have not seen, the newest first.")
    assert len(lines(response)) == 100
    assertContains(response, "3 older ones are not listed here.")


def test_it_asks_as_much_for_many_as_for_few(
    as_alice: Client,
    alice: User,
    bob: User,
    now: datetime,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    as_alice.get(PAGE)
    for _ in range(20):
        world.running(alice, bob, now=now)
    for n in range(5):
        challenge(world.person(f"player{n}"), alice, now)
    for game in Game.objects.all()[:10]:
        notices.see(alice, game, now=now)
    with django_assert_max_num_queries(12):
        response = as_alice.get(PAGE)
    assert len(lines(response)) == 15 and len(lines(response, seen=True)) == 10


# --- what is no longer so -------------------------------------------------------------------


def test_a_turn_goes_with_the_move(as_alice: Client, alice: User, bob: User, now: datetime) -> None:
    game = world.running(alice, bob, now=now)
    notices.tell(alice, Kind.REMINDER, f"reminder:g{game.pk}:p1:4h", now=now, game=game, ply=1)
    assert len(lines(as_alice.get(PAGE))) == 2
    world.played(game, ["crab:a1a2"], now=now)
    response = as_alice.get(PAGE)
    assert lines(response) == lines(response, seen=True) == []


def test_what_was_seen_goes_too_when_it_is_no_longer_so(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    game = world.running(alice, bob, now=now)
    as_alice.get(f"/games/{game.pk}/")
    assert len(lines(as_alice.get(PAGE), seen=True)) == 1
    world.played(game, ["crab:a1a2"], now=now)
    assert lines(as_alice.get(PAGE), seen=True) == []


def test_an_end_takes_the_turn_and_the_offer_with_it(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    game = world.running(alice, bob, now=now)
    play.offer_draw(game.pk, bob, 1, now=now)
    play.resign(game.pk, bob, now=now)
    assert [line.split(" | ")[0] for line in lines(as_alice.get(PAGE))] == [
        f"/games/{game.pk}/ You won against bob"
    ]


def test_an_answered_challenge_goes(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    row = challenge(bob, alice, now)
    challenges.withdraw(row.pk, bob, now=now)
    assert lines(as_alice.get(PAGE)) == []


def test_an_expired_challenge_goes_and_is_not_counted(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    challenge(bob, alice, now - challenges.OPEN_FOR)
    assert lines(as_alice.get(PAGE)) == []
    challenges.expire(now)
    assert notices.unread(alice).count() == 0


# --- seeing ---------------------------------------------------------------------------------


def test_opening_the_game_is_seeing_it_in_every_tab(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    game = world.running(alice, bob, now=now)
    tab, other_tab = as_alice, Client()
    other_tab.force_login(alice)
    [line] = lines(tab.get(PAGE))
    assert lines(other_tab.get(PAGE)) == [line]
    tab.get(line.split()[0])
    for each in (tab, other_tab):
        response = each.get(PAGE)
        assert lines(response) == [] and lines(response, seen=True) == [line]
    assert Notice.objects.get(player=alice, game=game).seen is not None


def test_what_has_no_page_of_its_own_is_seen_here(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    world.running(alice, bob, now=now)
    notices.tell(alice, Kind.OUTAGE, "outage:o1", now=now)
    assert len(lines(as_alice.get(PAGE))) == 2
    response = as_alice.get(PAGE)
    assert [line.split(" | ")[0].split(" ", 1)[1] for line in lines(response)] == [
        "Your turn against bob"
    ]
    assert len(lines(response, seen=True)) == 1


@pytest.mark.parametrize(
    "headers", [{"Sec-Purpose": "prefetch"}, {"HX-Request": "true"}, {"Sec-Fetch-Mode": "cors"}]
)
def test_nobody_saw_what_was_only_fetched(
    as_alice: Client, alice: User, now: datetime, headers: dict[str, str]
) -> None:
    notices.tell(alice, Kind.OUTAGE, "outage:o1", now=now)
    assert len(lines(as_alice.get(PAGE, headers=headers))) == 1
    as_alice.head(PAGE)
    assert Notice.objects.get().seen is None


def test_one_press_marks_all(as_alice: Client, alice: User, bob: User, now: datetime) -> None:
    world.running(alice, bob, now=now)
    world.running(bob, alice, now=now)
    challenge(bob, alice, now)
    response = as_alice.post(SEEN, all_listed(as_alice), follow=True)
    assertRedirects(response, PAGE, status_code=303)
    assert lines(response) == [] and len(lines(response, seen=True)) == 2
    assert not Notice.objects.filter(player=alice, seen=None).exists()
    assert Notice.objects.filter(player=bob, seen=None).count() == 1
    assertRedirects(as_alice.post(SEEN), PAGE, status_code=303)


def test_a_page_left_open_marks_nothing_that_came_since(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    world.running(alice, bob, now=now)
    listed = all_listed(as_alice)
    later = world.running(alice, bob, now=now)
    response = as_alice.post(SEEN, listed, follow=True)
    [line] = lines(response)
    assert f"/games/{later.pk}/" in line
    assert later.notices.get().seen is None


@pytest.mark.parametrize("newest", ["", "x", "0", "-1", "9" * 30, "1.5", "٣x"])
def test_nonsense_marks_nothing(as_alice: Client, alice: User, now: datetime, newest: str) -> None:
    notices.tell(alice, Kind.OUTAGE, "outage:o1", now=now)
    assertRedirects(
        as_alice.post(SEEN, {"newest": newest}),
        PAGE,
        status_code=303,
        fetch_redirect_response=False,
    )
    assert Notice.objects.get().seen is None


@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "options"])
def test_nothing_but_a_post_marks_all(
    as_alice: Client, alice: User, now: datetime, method: str
) -> None:
    notices.tell(alice, Kind.OUTAGE, "outage:o1", now=now)
    assert getattr(as_alice, method)(SEEN).status_code == 405
    assert Notice.objects.get().seen is None


def test_it_needs_the_token_of_its_form(alice: User, now: datetime) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    notices.tell(alice, Kind.OUTAGE, "outage:o1", now=now)
    assert client.post(SEEN).status_code == 403
    assert Notice.objects.get().seen is None


def test_what_was_seen_long_ago_is_not_listed(as_alice: Client, alice: User, now: datetime) -> None:
    notices.tell(alice, Kind.OUTAGE, "outage:o1", now=now)
    Notice.objects.update(seen=now - timedelta(days=8))
    assert lines(as_alice.get(PAGE), seen=True) == []


# --- on every page --------------------------------------------------------------------------


def heard(client: Client, page: str = "/rules/") -> tuple[str, str, str]:
    """What the bell, the title and the icon of a page say."""
    text = client.get(page).content.decode()
    [count] = re.findall(r'id="bell-count" class="badge">(\d*)', text)
    [title] = re.findall(r"<title>(.*?)</title>", text, re.S)
    [icon] = re.findall(r'<link rel="icon" href="/static/(.*?)"', text)
    return count, title, icon


def test_it_counts_what_was_not_seen(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    assert heard(as_alice) == ("", "Rules · Onitama", "favicon.svg")
    game = world.running(alice, bob, now=now)
    notices.tell(alice, Kind.OUTAGE, "outage:o1", now=now)
    assert heard(as_alice) == ("2", "(2) Rules · Onitama", "favicon-2.svg")
    assert heard(as_alice, "/games/") == ("2", "(2) Your turn · Onitama", "favicon-2.svg")
    # The page that is the look does not count it any more; the turn's own count stays.
    assert heard(as_alice, f"/games/{game.pk}/")[0] == "1"
    assert heard(as_alice, PAGE) == ("", "Notices · Onitama", "favicon.svg")
    assertContains(as_alice.get("/rules/"), '<span id="turn-count" class="badge">1</span>')


def test_many_are_many_on_the_icon(as_alice: Client, alice: User, now: datetime) -> None:
    for n in range(12):
        notices.tell(alice, Kind.OUTAGE, f"outage:o{n}", now=now)
        number = f"{n + 1}" if n < 9 else "many"
        assert heard(as_alice)[2] == f"favicon-{number}.svg"
    assert heard(as_alice)[:2] == ("12", "(12) Rules · Onitama")


def test_there_is_an_icon_for_each_number() -> None:
    for number in (*range(1, 10), "many"):
        assert finders.find(f"favicon-{number}.svg")


def test_nobody_has_no_bell(client: Client, bob: User, now: datetime) -> None:
    response = client.get("/rules/")
    assertNotContains(response, "bell-count")
    assertContains(response, "<title>Rules · Onitama</title>")
    assertContains(response, 'href="/static/favicon.svg"')


def test_an_expired_or_silenced_one_is_not_counted(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    world.running(alice, bob, now=now)
    row = challenge(bob, alice, now)
    assert heard(as_alice)[0] == "2"
    notices.set_channels(alice, {"turn": (False, True, True)})
    assert heard(as_alice)[0] == "1"
    # Its time is over; the hourly clean-up would say so.
    Challenge.objects.filter(pk=row.pk).update(expires=now)
    assert heard(as_alice, PAGE)[0] == ""


def test_each_count_is_one_query(
    as_alice: Client,
    alice: User,
    bob: User,
    now: datetime,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    world.running(alice, bob, now=now)
    as_alice.get("/rules/")
    # The session, the player, the games, the notices.
    with django_assert_num_queries(4):
        as_alice.get("/rules/")


# --- an open page asks ----------------------------------------------------------------------


def ask(client: Client, shown: str) -> Any:
    return client.get(f"{COUNT}?shown={shown}", headers={"HX-Request": "true"})


def test_the_page_says_what_it_shows(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    world.running(alice, bob, now=now)
    challenge(bob, alice, now)
    for page in ("/rules/", "/games/", "/games/new/"):
        assertContains(as_alice.get(page), f'hx-get="{COUNT}?shown=1-2"')
    assert ask(as_alice, "1-2").status_code == 204


def test_it_is_told_what_has_changed(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    game = world.running(bob, alice, now=now)
    assert ask(as_alice, "0-0").status_code == 204
    game = world.played(game, ["crab:a1a2"], now=now)
    response = ask(as_alice, "0-0")
    assertContains(response, f'hx-get="{COUNT}?shown=1-1"')
    assertContains(response, 'data-count="1" data-icon="/static/favicon-1.svg"')
    assertContains(response, '<div hx-swap-oob="innerHTML:#turn-count">1</div>')
    assertContains(response, '<div hx-swap-oob="innerHTML:#bell-count">1<span')
    assertNotContains(response, "<html")
    world.played(game, ["mantis:a5b4"], now=now)
    response = ask(as_alice, "1-1")
    assertContains(response, 'data-count="0" data-icon="/static/favicon.svg"')
    assertContains(response, '<div hx-swap-oob="innerHTML:#bell-count"></div>')
    assertContains(response, '<div hx-swap-oob="innerHTML:#turn-count"></div>')


def test_it_needs_three_queries(
    as_alice: Client,
    alice: User,
    bob: User,
    now: datetime,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    world.running(alice, bob, now=now)
    as_alice.get("/rules/")
    for shown in ("1-1", "0-0"):
        with django_assert_max_num_queries(3):
            ask(as_alice, shown)


def test_asking_is_neither_seeing_nor_coming_back(
    as_alice: Client, alice: User, bob: User, now: datetime
) -> None:
    world.running(alice, bob, now=now)
    ask(as_alice, "0-0")
    alice.refresh_from_db()
    assert alice.last_navigation is None
    assert notices.unread(alice).count() == 1


def test_who_has_logged_out_is_asked_no_more(client: Client) -> None:
    assert ask(client, "1-1").status_code == 286


@pytest.mark.parametrize("shown", ["", "1", "x-y", "1-1-1", "%00", "9" * 2000])
def test_nonsense_gets_the_numbers(as_alice: Client, alice: User, bob: User, shown: str) -> None:
    world.running(alice, bob)
    assert ask(as_alice, shown).status_code == (400 if shown == "%00" else 200)


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_is_only_asked(as_alice: Client, method: str) -> None:
    assert getattr(as_alice, method)(COUNT).status_code == 405


def test_it_is_kept_by_no_cache(as_alice: Client) -> None:
    for page in (PAGE, COUNT):
        control = as_alice.get(page)["Cache-Control"]
        assert "private" in control and "no-cache" in control


# --- mail that is refused -------------------------------------------------------------------


def test_every_page_says_that_mail_is_refused(as_alice: Client, alice: User) -> None:
    pages = ("/rules/", "/games/", "/preferences/", "/accounts/email/", "/nothing/")
    said = "has refused our last mails"
    User.objects.filter(pk=alice.pk).update(bounces=MOST_BOUNCES - 1)
    for page in pages:
        assert said not in as_alice.get(page).content.decode()
    User.objects.filter(pk=alice.pk).update(bounces=MOST_BOUNCES)
    for page in pages:
        text = as_alice.get(page).content.decode()
        assert said in text
        assert 'href="/accounts/email/"' in text and 'action="/preferences/test/"' in text
    # The address is confirmed: that is not what is wrong.
    assertNotContains(as_alice.get("/games/"), "not confirmed")
    assertNotContains(Client().get("/rules/"), said)


def test_a_test_mail_that_arrives_mends_it(as_alice: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(bounces=MOST_BOUNCES)
    response = as_alice.post("/preferences/test/", follow=True)
    assertContains(response, "A test mail is on its way to alice@example.org.")
    with override_settings(MAILBOX=True):
        deliveries.deliver_due(seconds=5)
    response = as_alice.get("/preferences/")
    assertContains(response, "They go to alice@example.org.")
    assertNotContains(response, "has refused our last mails")
