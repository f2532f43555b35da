"""The archive: my finished games, newest first, by page and by filter."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from django.db import connection, transaction
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import User
from games import archive, play
from games.archive import Filter, Key
from games.models import Game, Seat
from tests import world

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 28, 22, 30, tzinfo=UTC)


@pytest.fixture
def page_of_alice(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def address(**query: object) -> str:
    return f"/archive/?{urlencode(query)}"


def shown(player: User, **where: object) -> list[int]:
    only = Filter()
    return [seat.game_id for seat in archive.page(player, only, **where).seats]  # type: ignore[arg-type]


# --- who and what ---------------------------------------------------------------------------


def test_it_asks_a_stranger_to_log_in(client: Client) -> None:
    assertRedirects(
        client.get("/archive/"), "/accounts/login/?next=/archive/", fetch_redirect_response=False
    )


def test_it_answers_no_post(page_of_alice: Client) -> None:
    assert page_of_alice.post("/archive/").status_code == 405


def test_it_says_what_to_do_while_nothing_is_finished(
    page_of_alice: Client, alice: User, bob: User
) -> None:
    world.running(alice, bob)
    assertContains(page_of_alice.get("/archive/"), "No game of yours is finished yet")


def test_it_shows_no_game_of_others(page_of_alice: Client, bob: User) -> None:
    world.finished(bob, world.person("carol"))
    assertNotContains(page_of_alice.get("/archive/"), "carol")


def test_it_shows_how_each_game_ended(page_of_alice: Client, alice: User, bob: User) -> None:
    world.finished(alice, bob, world.BLUE_BY_STREAM)
    game = world.finished(alice, bob, world.RED_BY_STONE)
    answer = page_of_alice.get("/archive/")
    assertContains(answer, "2 games.")
    assertContains(answer, "Way of the Stream, Tiger c3–c5")
    assertContains(answer, "Way of the Stone, Mantis b4–c3")
    assertContains(answer, '<td class="lost">Lost</td>', html=True)
    assertContains(answer, '<td class="won">Won</td>', html=True)
    assertContains(answer, "Tiger Crab · Mantis Crane · Ox")
    assertContains(answer, f'href="/games/{game.pk}/ply/4/"')


def test_it_names_the_readers_own_hand_first(page_of_alice: Client, alice: User, bob: User) -> None:
    world.finished(bob, alice)
    assertContains(page_of_alice.get("/archive/"), "Mantis Crane · Tiger Crab · Ox")


@pytest.mark.parametrize(
    ("deed", "result", "words"),
    [
        (play.resign, "lost", "resigned"),
        (play.abort, "aborted", "before both had moved"),
    ],
)
def test_it_shows_games_without_a_ply(
    page_of_alice: Client, alice: User, bob: User, deed: object, result: str, words: str
) -> None:
    game = world.running(alice, bob)
    assert callable(deed)
    deed(game.pk, alice, now=NOW)
    answer = page_of_alice.get("/archive/")
    assertContains(answer, f'<td class="{result}">{result.capitalize()}</td>', html=True)
    assertContains(answer, words)
    assertContains(answer, f'href="/games/{game.pk}/ply/0/"')


def test_it_dates_a_game_in_the_readers_zone(page_of_alice: Client, alice: User, bob: User) -> None:
    alice.time_zone = "Asia/Tokyo"
    alice.save(update_fields=["time_zone"])
    world.finished(alice, bob, now=NOW)
    assertContains(page_of_alice.get("/archive/"), "29 November 2026, 07:30")


def test_a_guest_has_an_archive(client: Client) -> None:
    guest = world.guest()
    client.force_login(guest)
    world.against_level(guest, actions=world.BLUE_BY_STONE)
    answer = client.get("/archive/")
    assertContains(answer, "1 game.")
    assertContains(answer, "random")


# --- filters --------------------------------------------------------------------------------


@pytest.fixture
def five(alice: User, bob: User) -> dict[str, Game]:
    games = {
        "won": world.finished(alice, bob),
        "lost": world.finished(alice, bob, world.RED_BY_STONE),
        "draw": world.finished(alice, world.person("carol"), world.REPETITION),
        "engine": world.against_level(alice, actions=world.BLUE_BY_STONE),
    }
    games["aborted"] = play.abort(world.running(bob, alice).pk, bob, now=NOW)
    return games


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, {"won", "lost", "draw", "engine", "aborted"}),
        ({"result": "won"}, {"won", "engine"}),
        ({"result": "draw"}, {"draw"}),
        ({"result": "aborted"}, {"aborted"}),
        ({"against": "engine"}, {"engine"}),
        ({"against": "person"}, {"won", "lost", "draw", "aborted"}),
        ({"opponent": "BOB"}, {"won", "lost", "aborted"}),
        ({"opponent": "random"}, {"engine"}),
        ({"opponent": " bob ", "result": "won"}, {"won"}),
        ({"opponent": "bob", "against": "engine"}, set()),
        (
            {"opponent": "", "result": "", "against": ""},
            {"won", "lost", "draw", "engine", "aborted"},
        ),
    ],
)
def test_it_filters(
    page_of_alice: Client, five: dict[str, Game], query: dict[str, str], names: set[str]
) -> None:
    answer = page_of_alice.get(address(**query))
    assert {seat.game_id for seat in answer.context["page"].seats} == {
        five[name].pk for name in names
    }
    if any(query.values()):
        word = "matches" if len(names) == 1 else "match"
        assertContains(answer, f"5 games, {len(names)} {word}.")


def test_each_filter_is_a_link_that_keeps_the_others(
    page_of_alice: Client, five: dict[str, Game]
) -> None:
    answer = page_of_alice.get(address(result="won", opponent="Bob"))
    assertContains(answer, 'href="/archive/?result=lost&amp;opponent=bob"')
    assertContains(answer, 'href="/archive/?result=won&amp;against=engine&amp;opponent=bob"')
    assertContains(answer, 'href="/archive/?opponent=bob"')
    assertContains(answer, 'href="/archive/?result=won"')


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"result": "splendid"}, "A game is won, lost, drawn or aborted."),
        ({"against": "guest"}, "An opponent is a person or the computer."),
        ({"before": "yesterday"}, "This address is not whole"),
        ({"before": "9" * 18 + ".1"}, "This address is not whole"),
        ({"after": "1." + "9" * 19}, "This address is not whole"),
        ({"after": "١.١"}, "This address is not whole"),
        ({"after": "-1.1"}, "This address is not whole"),
    ],
)
def test_it_says_what_is_wrong_with_an_address(
    page_of_alice: Client, five: dict[str, Game], query: dict[str, str], message: str
) -> None:
    answer = page_of_alice.get(address(**query))
    assertContains(answer, message, status_code=400)


def test_it_knows_no_player_of_that_name(page_of_alice: Client, five: dict[str, Game]) -> None:
    answer = page_of_alice.get(address(opponent="nobody"))
    assertContains(answer, "Nobody here is called “nobody”.")
    assertContains(answer, 'value="nobody"')
    assertContains(page_of_alice.get(address(opponent="x" * 21)), "at most 20 characters")


def test_it_refuses_a_nul(page_of_alice: Client) -> None:
    assert page_of_alice.get(address(opponent="a\0b", before="\0")).status_code == 400


@pytest.mark.parametrize("key", ["0.0", "9" * 17 + "." + "9" * 18])
def test_it_bears_keys_from_the_ends_of_time(
    page_of_alice: Client, five: dict[str, Game], key: str
) -> None:
    for way in ("before", "after"):
        assert page_of_alice.get(address(**{way: key})).status_code == 200


# --- pages ----------------------------------------------------------------------------------


def test_pages_show_each_game_once_both_ways(alice: User, bob: User) -> None:
    first = world.finished(alice, bob)
    world.copies(first, 30)
    # Six that ended in the same instant, so that only the id tells them apart.
    world.copies(first, 6, apart=timedelta())
    every = [seat.game_id for seat in archive.finished(alice, Filter())]
    assert len(every) == 37
    pages = [archive.page(alice, Filter(), size=5)]
    while (key := pages[-1].older) is not None:
        pages.append(archive.page(alice, Filter(), before=key, size=5))
    assert [seat.game_id for page in pages for seat in page.seats] == every
    back = [pages[-1]]
    while (key := back[-1].newer) is not None:
        back.append(archive.page(alice, Filter(), after=key, size=5))
    # From the last page, which is short, the way back meets the same games in fives.
    assert sorted({seat.game_id for page in back for seat in page.seats}) == sorted(every)
    assert [seat.game_id for seat in back[-1].seats] == every[:5]


def test_a_game_that_ends_meanwhile_moves_no_page(alice: User, bob: User) -> None:
    world.copies(world.finished(alice, bob, now=NOW), 9)
    key = archive.page(alice, Filter(), size=5).older
    assert key is not None
    before = shown(alice, before=key, size=5)
    world.finished(alice, bob, now=NOW + timedelta(hours=1))
    assert shown(alice, before=key, size=5) == before


def test_pages_lead_on_and_keep_the_filter(page_of_alice: Client, alice: User, bob: User) -> None:
    world.copies(world.finished(alice, bob), 30)
    answer = page_of_alice.get(address(result="won"))
    assert len(answer.context["page"].seats) == archive.PAGE_SIZE
    assert answer.context["newer"] is None
    assert answer.context["older"].startswith("?result=won&before=")
    second = page_of_alice.get("/archive/" + answer.context["older"])
    assert len(second.context["page"].seats) == 6
    assert second.context["older"] is None
    third = page_of_alice.get("/archive/" + second.context["newer"])
    assert third.context["page"].seats == answer.context["page"].seats


def test_a_page_beyond_the_oldest_game_leads_back(
    page_of_alice: Client, alice: User, bob: User
) -> None:
    world.finished(alice, bob)
    assertContains(page_of_alice.get(address(before="0.0")), "No game matches.")


def test_a_key_reads_back(alice: User) -> None:
    key = Key(NOW.replace(microsecond=7), 12)
    assert Key.parse(str(key)) == key


# --- speed ----------------------------------------------------------------------------------


def test_it_asks_as_much_for_300_games_as_for_3(
    page_of_alice: Client,
    alice: User,
    bob: User,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    game = world.finished(alice, bob)
    world.copies(game, 2)
    page_of_alice.get("/archive/")
    with django_assert_max_num_queries(8) as few:
        page_of_alice.get(address(opponent="bob", result="won"))
    world.copies(game, 297)
    with django_assert_max_num_queries(8) as many:
        page_of_alice.get(address(opponent="bob", result="won"))
    assert len(few) == len(many)


@pytest.mark.parametrize(
    ("only", "index"),
    [
        ({}, "seat_archive"),
        ({"result": "won"}, "seat_by_result"),
        ({"kind": "engine"}, "seat_by_kind"),
        ({"opponent": True}, "seat_by_opponent"),
    ],
)
@pytest.mark.parametrize("way", ["", "older", "newer"])
def test_an_index_finds_and_sorts_them(
    alice: User, bob: User, only: dict[str, object], index: str, way: str
) -> None:
    if only.get("opponent"):
        only = {"opponent": bob}
    seats = archive.finished(alice, Filter(**only))  # type: ignore[arg-type]
    key = Key(NOW, 1)
    if way == "older":
        seats = seats.filter(key.older)
    elif way == "newer":
        seats = seats.filter(key.newer).reverse()
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # In a small table a scan is cheaper; what counts is that the index could do it.
            for way_of_the_planner in ("seqscan", "sort", "bitmapscan"):
                cursor.execute(f"SET LOCAL enable_{way_of_the_planner} = off")
        plan = seats[:26].explain()
    assert index in plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan


def test_counting_needs_no_join(alice: User, bob: User) -> None:
    only = Filter(bob, "won", "person")
    assert "JOIN" not in str(archive.finished(alice, only).query)
    assert Seat.objects.count() == archive.finished(alice, only).count()
