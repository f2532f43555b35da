"""Where others see that a player is away: beside the game, in lists, before a challenge is sent."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.formats import date_format
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains

from accounts.models import User
from games import away, play
from games.models import Challenge, Game, Outage
from tests import world
from tests.test_absence import asked, here, lose

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def hers(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def announce(player: User, days: int) -> str:
    """Away until then; how a line beside a name says it."""
    today = timezone.now().date()
    User.objects.filter(pk=player.pk).update(away_until=(last := today + timedelta(days=days)))
    return f"away until {date_format(last, 'j M' if last.year == today.year else 'j M Y')}"


def whole(player: User) -> str:
    until = User.objects.get(pk=player.pk).away_until
    assert until
    return date_format(until, "l j F")


def out_of_time(mover: User, other: User, ago: timedelta = HOUR / 2) -> Game:
    """A game of which the mover's clock ran out that long ago, not settled yet."""
    now = timezone.now()
    game = world.running(mover, other, world.BLUE_BY_STONE[:2], now=now - ago - timedelta(days=4))
    assert game.deadline is not None and game.deadline <= now
    return game


def on_away_time(mover: User, other: User) -> Game:
    game = out_of_time(mover, other)
    play.settle(game.pk, timezone.now())
    return world.fresh(game)


def page(client: Client, game: Game) -> str:
    return client.get(f"/games/{game.pk}/").content.decode()


def words(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", markup).split())


# --- announced ------------------------------------------------------------------------------


def test_beside_the_name_on_the_game_page(hers: Client, alice: User, bob: User) -> None:
    game = world.running(alice, bob)
    said = announce(bob, 9)
    assert f'<span class="tag away">{said}</span>' in page(hers, game)
    assert f'<span class="tag away">{said}</span>' in page(Client(), game)
    play.resign(game.pk, alice, now=timezone.now())
    assert "away until" not in page(hers, game)


def test_in_the_rows_of_your_turn(hers: Client, alice: User, bob: User) -> None:
    world.running(alice, bob)
    world.running(bob, alice)
    world.running(alice, world.person("carol"))
    said = announce(bob, 9)
    assertContains(hers.get("/games/"), said, count=2)


def test_on_the_player_s_page(client: Client, bob: User) -> None:
    announce(bob, 9)
    assertContains(client.get("/players/bob/"), f"Away until {whole(bob)}.")


def test_a_day_that_is_over_is_shown_nowhere(hers: Client, alice: User, bob: User) -> None:
    game = world.running(alice, bob)
    row = asked(bob, alice, timezone.now())
    announce(bob, -2)
    places = (f"/games/{game.pk}/", "/games/", "/players/bob/", f"/challenges/{row.pk}/")
    for place in (*places, "/games/new/?opponent=bob"):
        assertNotContains(hers.get(place), "way until")


def test_on_the_page_of_a_challenge(hers: Client, alice: User, bob: User) -> None:
    announce(bob, 9)
    for row in (asked(alice, bob, timezone.now()), asked(bob, alice, timezone.now())):
        assertContains(hers.get(f"/challenges/{row.pk}/"), f"bob is away until {whole(bob)}.")


# --- before a challenge is sent -------------------------------------------------------------


def send(client: Client, **fields: str) -> int:
    return client.post("/games/new/", {"opponent": "bob", **fields}).status_code


def test_the_form_for_a_named_player_says_it_and_one_press_sends(hers: Client, bob: User) -> None:
    announce(bob, 9)
    form = hers.get("/games/new/?opponent=BOB")
    assertContains(form, f"bob is away until {whole(bob)}, and may answer only then.")
    warned = re.search(r'name="warned" value="(\w+)"', form.content.decode())
    assert warned
    assert send(hers, warned=warned[1]) == 303
    assert Challenge.objects.count() == 1


def test_a_name_typed_by_hand_is_sent_at_the_second_press(hers: Client, bob: User) -> None:
    announce(bob, 9)
    answer = hers.post("/games/new/", {"opponent": "bob", "control": "7", "deck": "all34"})
    assertContains(answer, "bob is away until")
    assertContains(answer, 'name="warned" value="bob"')
    assertContains(answer, 'value="7" id="challenge_control_3" checked')
    assert not Challenge.objects.exists()
    assert send(hers, control="7", warned="bob") == 303


def test_having_been_warned_of_another_is_not_enough(hers: Client, bob: User) -> None:
    announce(bob, 9)
    assert send(hers, warned="carol") == 200
    assert not Challenge.objects.exists()


def test_of_who_is_here_nothing_is_said(hers: Client, bob: User) -> None:
    assertNotContains(hers.get("/games/new/?opponent=bob"), "Send it all the same?")
    assert send(hers) == 303


def test_before_a_challenge_to_who_is_absent(hers: Client, alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(away_on=False)
    for _ in range(2):
        lose(bob, alice, timezone.now() - HOUR)
    assertContains(hers.get("/games/new/?opponent=bob"), "bob has lost two games on time")
    assert send(hers) == 200
    assert send(hers, warned="bob") == 303


# --- challenges that wait -------------------------------------------------------------------


def test_both_lists_and_both_pages_say_why_a_challenge_waits(
    hers: Client, alice: User, bob: User
) -> None:
    now = timezone.now()
    User.objects.filter(pk=bob.pk).update(away_on=False)
    sent, received = asked(alice, bob, now), asked(bob, alice, now)
    for _ in range(2):
        lose(bob, alice, now - HOUR)
    lists = hers.get("/games/")
    assertContains(lists, "It waits: bob has lost two games on time", count=2)
    assertNotContains(lists, f'action="/challenges/{received.pk}/accept/"')
    for row in (sent, received):
        answer = hers.get(f"/challenges/{row.pk}/")
        assertContains(answer, "The challenge stays open, and can be accepted once bob is back.")
        assertNotContains(answer, "/accept/")
    assertContains(hers.get(f"/challenges/{received.pk}/"), "/decline/")
    here(bob, now)
    assertNotContains(hers.get("/games/"), "It waits")
    assertContains(hers.get(f"/challenges/{received.pk}/"), "/accept/")


# --- away time ------------------------------------------------------------------------------


def test_the_game_page_says_whose_away_time_runs(alice: User, bob: User) -> None:
    game = on_away_time(alice, bob)
    hers, his = Client(), Client()
    hers.force_login(alice)
    his.force_login(bob)
    mine, theirs, anybody = (page(client, game) for client in (hers, his, Client()))
    for html in (mine, theirs, anybody):
        assert '<span class="tag away">away time</span>' in html
    left = away.left(game.seat("b"), timezone.now())
    assert left == 167
    assert "Away time is used: 6 days 23 hours more for this game." in mine
    assert "Time ran out for alice, whose away time is used hour by hour." in theirs


def test_the_rows_of_your_turn_say_it_too(alice: User, bob: User) -> None:
    on_away_time(alice, bob)
    for player, said in ((alice, "left · on away time"), (bob, "for them · on away time")):
        client = Client()
        client.force_login(player)
        assert said in words(client.get("/games/").content.decode())


def test_after_the_move_nothing_of_it_is_left(hers: Client, alice: User, bob: User) -> None:
    game = on_away_time(alice, bob)
    action = game.current.legal_moves()[0]
    play.play_move(game.pk, alice, 3, action, now=timezone.now())
    assert "away time" not in page(hers, game)
    assertNotContains(hers.get("/games/"), "away time")


def test_a_deadline_moved_by_an_outage_is_no_away_time(
    hers: Client, alice: User, bob: User
) -> None:
    now = timezone.now()
    game = world.running(alice, bob, world.BLUE_BY_STONE[:2], now=now)
    game.seats.update(away_hours=3)
    outage = Outage.objects.create(began=now, ended=now)
    Game.objects.filter(pk=game.pk).update(deadline=now + timedelta(days=9), outage=outage)
    assert "away time" not in page(hers, game)


def test_until_the_sweep_comes_the_mover_can_move(hers: Client, alice: User, bob: User) -> None:
    """The clock stands at nought, but the hours are there: nothing is being ended."""
    game = out_of_time(alice, bob)
    html = page(hers, game)
    assert "is being ended" not in html
    assert "out of time" not in html
    assert "Choose a card or a piece." in html
    fields = {"ply": "3", "card": "tiger", "from": "b2", "to": "b4"}
    assert hers.post(f"/games/{game.pk}/move/", fields).status_code == 303
    assert world.fresh(game).plies == 3


def test_a_game_aborted_for_time_says_who_ran_out(hers: Client, alice: User, bob: User) -> None:
    User.objects.filter(pk=alice.pk).update(away_on=False)
    User.objects.filter(pk=bob.pk).update(out_of_time="abort")
    game = out_of_time(alice, bob)
    play.settle(game.pk, timezone.now())
    assert "You ran out of time. The game counts for nobody." in page(hers, game)
    assert "alice ran out of time. The game counts for nobody." in page(Client(), game)
    assertContains(hers.get("/players/bob/"), "out of time")


def test_it_stays_within_what_a_game_page_may_ask(
    hers: Client, alice: User, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    announce(bob, 9)
    game = on_away_time(alice, bob)
    page(hers, game)
    with django_assert_max_num_queries(12):
        page(hers, game)
