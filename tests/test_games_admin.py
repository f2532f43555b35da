"""The staff's pages about games: to look, to find, and never to meddle."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains

from accounts.models import User
from games import challenges
from games.admin import ShortPaginator
from games.models import AwayEntry, AwayShift, Game, Heartbeat, Kind, Outage, PushDevice
from tests import world

pytestmark = pytest.mark.django_db

ENDPOINT = "https://fcm.googleapis.com/fcm/send/secret"
SOUGHT = (
    *("game", "challenge", "notice", "delivery", "subscription"),
    *("pushdevice", "awayentry"),
)
LISTS = (*SOUGHT, "heartbeat", "outage")


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    return world.running(alice, bob, world.REPETITION[:5])


@pytest.fixture
def rows(game: Game, alice: User, bob: User) -> Game:
    """One row at least of everything the staff can look at."""
    now = timezone.now()
    challenges.challenge(
        alice, bob, control=world.CONTROL, colour="", deck="base", private=False, now=now
    )
    world.subscription(alice, Kind.TURN)
    PushDevice.objects.create(
        player=alice, endpoint=ENDPOINT, p256dh="BKeyKey", auth="auth", name="Browser", created=now
    )
    entry = AwayEntry.objects.create(player=alice, at=now, reason="taken", hours=-1, balance=167)
    AwayShift.objects.create(entry=entry, game=game, ply=6)
    Heartbeat.objects.update_or_create(defaults={"at": now})
    Outage.objects.create(began=now - timedelta(hours=3), ended=now)
    return game


@pytest.fixture
def staff(client: Client) -> Client:
    chief = world.person("chief")
    chief.is_staff = chief.is_superuser = True
    chief.save(update_fields=["is_staff", "is_superuser"])
    client.force_login(chief)
    return client


def address(name: str, *rest: object) -> str:
    return "/".join(["/admin/games", name, *map(str, rest), ""])


@pytest.mark.parametrize("name", LISTS)
def test_it_lists(staff: Client, rows: Game, name: str) -> None:
    assert staff.get(address(name)).status_code == 200


@pytest.mark.parametrize("name", LISTS)
def test_it_is_for_the_staff(client: Client, rows: Game, alice: User, name: str) -> None:
    client.force_login(alice)
    assert client.get(address(name)).status_code == 302


@pytest.mark.parametrize("name", SOUGHT)
def test_it_finds_by_the_beginning_of_a_name(staff: Client, rows: Game, name: str) -> None:
    assert staff.get(address(name), {"q": "ALI"}).context["cl"].result_list
    assert not staff.get(address(name), {"q": "lice"}).context["cl"].result_list


@pytest.mark.parametrize("name", ["game", "notice", "delivery"])
def test_it_finds_by_the_number_of_a_game(staff: Client, rows: Game, name: str) -> None:
    here = staff.get(address(name), {"q": str(rows.pk)}).context["cl"].result_list
    assert {row.pk for row in here}
    assert not staff.get(address(name), {"q": str(rows.pk + 1)}).context["cl"].result_list


@pytest.mark.parametrize("name", SOUGHT)
@pytest.mark.parametrize("words", ["9" * 18, "9" * 40, "alice 1", "%", "\\", "²", "a'b\"", " "])
def test_no_search_breaks_it(staff: Client, rows: Game, name: str, words: str) -> None:
    assert staff.get(address(name), {"q": words}).status_code == 200


def test_it_finds_a_game_once(staff: Client, rows: Game) -> None:
    other = world.finished(User.objects.get(username="alice"), world.person("alina"))
    answer = staff.get(address("game"), {"q": "ali"})
    assert [game.pk for game in answer.context["cl"].result_list] == [other.pk, rows.pk]


def test_a_list_asks_as_much_for_many_rows_as_for_few(
    staff: Client, game: Game, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    staff.get(address("game"))
    with django_assert_max_num_queries(6) as few:
        staff.get(address("game"))
    world.copies(game, 40)
    with django_assert_max_num_queries(6) as many:
        staff.get(address("game"))
    assert len(few) == len(many)


def test_it_counts_no_further_than_it_must(alice: User, bob: User) -> None:
    world.copies(world.finished(alice, bob), 12)

    class Shorter(ShortPaginator):
        MOST = 10

    pages = Shorter(Game.objects.order_by("-pk"), 5)
    assert (pages.count, pages.num_pages) == (10, 2)


def test_a_game_shows_its_seats_and_plies(staff: Client, rows: Game) -> None:
    answer = staff.get(address("game", rows.pk, "change"))
    assertContains(answer, "alice")
    assertContains(answer, "mantis:a1b2")
    assertNotContains(answer, str(rows.seed))


def test_long_games_cost_no_more_questions(
    staff: Client, rows: Game, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    game = world.played(rows, world.REPETITION[5:])
    with django_assert_max_num_queries(10):
        staff.get(address("game", game.pk, "change"))


@pytest.mark.parametrize("name", LISTS)
def test_nothing_can_be_added(staff: Client, rows: Game, name: str) -> None:
    assert staff.get(address(name, "add")).status_code == 403
    assert staff.post(address(name, "add"), {}).status_code == 403


@pytest.mark.parametrize("name", LISTS)
def test_nothing_can_be_deleted(staff: Client, rows: Game, name: str) -> None:
    pk = staff.get(address(name)).context["cl"].result_list[0].pk
    assert staff.post(address(name, pk, "delete"), {"post": "yes"}).status_code == 403
    fields = {"action": "delete_selected", "_selected_action": pk, "post": "yes"}
    staff.post(address(name), fields)
    assert len(staff.get(address(name)).context["cl"].result_list) >= 1


@pytest.mark.parametrize("name", [name for name in LISTS if name != "subscription"])
def test_nothing_can_be_changed(staff: Client, rows: Game, name: str) -> None:
    pk = staff.get(address(name)).context["cl"].result_list[0].pk
    assert staff.get(address(name, pk, "change")).status_code == 200
    assert staff.post(address(name, pk, "change"), {"status": "over"}).status_code == 403
    assert world.fresh(rows).version == rows.version


def test_mail_can_be_switched_off_for_somebody(staff: Client, rows: Game, alice: User) -> None:
    row = world.subscription(alice, Kind.TURN)
    page = staff.get(address("subscription", row.pk, "change"))
    assertNotContains(page, row.token)
    assertNotContains(staff.get(address("subscription")), row.token)
    staff.post(address("subscription", row.pk, "change"), {"token": "x", "kind": "over"})
    after = world.subscription(alice, Kind.TURN)
    assert (after.pk, after.mail, after.token) == (row.pk, False, row.token)


def test_the_address_of_a_browser_is_shown_to_nobody(staff: Client, rows: Game) -> None:
    device = PushDevice.objects.get()
    for page in (address("pushdevice"), address("pushdevice", device.pk, "change")):
        answer = staff.get(page)
        assertContains(answer, "alice")
        for secret in (ENDPOINT, device.p256dh):
            assertNotContains(answer, secret)


def test_the_ledger_names_its_games(staff: Client, rows: Game) -> None:
    answer = staff.get(address("awayentry", AwayEntry.objects.get().pk, "change"))
    assertContains(answer, f"g{rows.pk}")
    assertContains(answer, "taken when a clock ran out")
