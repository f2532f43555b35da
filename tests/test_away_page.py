"""The page of away time: what is held and when more comes, the switch, the day, the ledger."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import User
from games import away, away_hours, play
from games.models import AwayEntry, Game
from tests.test_away import END, HOUR, MINUTE, due, hold, holder
from tests.world import guest, person

pytestmark = pytest.mark.django_db

PAGE = "/preferences/away/"
AS_IT_IS = {"away_on": "on", "away_until": ""}


@pytest.fixture
def alice() -> User:
    return holder("alice")


@pytest.fixture
def bob() -> User:
    return holder("bob")


@pytest.fixture
def hers(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def post(client: Client, **changes: str) -> Any:
    return client.post(PAGE, {**AS_IT_IS, **changes})


# --- who may --------------------------------------------------------------------------------


def test_it_needs_a_login(client: Client) -> None:
    assertRedirects(client.get(PAGE), f"/accounts/login/?next={PAGE}")
    assert post(client).status_code == 302


def test_a_guest_has_none(client: Client) -> None:
    client.force_login(guest())
    assertContains(client.get(PAGE), "A guest plays the computer alone")
    assert post(client).status_code == 403


# --- the form -------------------------------------------------------------------------------


def test_it_saves_and_says_so(hers: Client, alice: User) -> None:
    until = timezone.now().date() + timedelta(days=10)
    answer = post(hers, away_on="", away_until=until.isoformat())
    assertRedirects(answer, PAGE, status_code=303, fetch_redirect_response=False)
    alice.refresh_from_db()
    assert (alice.away_on, alice.away_until) == (False, until)
    page = hers.get(PAGE)
    assertContains(page, "Saved.")
    assertContains(page, f'value="{until.isoformat()}"')


def test_it_takes_the_announcement_back(hers: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(away_until=date(2026, 12, 24))
    post(hers, away_until="")
    alice.refresh_from_db()
    assert alice.away_until is None
    assert alice.away_on


def test_saving_leaves_hours_and_all_else_alone(hers: Client, alice: User) -> None:
    """Hours may be taken while the form stands open."""
    hers.get(PAGE)
    hold(alice, 17)
    post(hers, away_on="")
    alice.refresh_from_db()
    assert (alice.away_hours, alice.away_on) == (17, False)


def days_from_now(days: int) -> str:
    return (timezone.now().date() + timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    ("until", "said"),
    [
        (days_from_now(-2), "That day is over"),
        (days_from_now(400), "more than a year ahead"),
        ("2026-02-30", "year, month and day"),
        ("next week", "year, month and day"),
        ("24.12.2026", "year, month and day"),
        ("9999999-01-01", "year, month and day"),
    ],
)
def test_a_day_that_makes_no_sense_is_refused(
    hers: Client, alice: User, until: str, said: str
) -> None:
    answer = post(hers, away_on="", away_until=until)
    assertContains(answer, said, status_code=422)
    assertContains(answer, 'aria-invalid="true"', status_code=422)
    alice.refresh_from_db()
    assert (alice.away_until, alice.away_on) == (None, True)


def test_today_is_the_player_s_own(hers: Client, alice: User) -> None:
    alice.time_zone = "Pacific/Kiritimati"
    alice.save(update_fields=["time_zone"])
    there = timezone.now().astimezone(alice.zone).date()
    assert post(hers, away_until=there.isoformat()).status_code == 303
    yesterday = there - timedelta(days=1)
    assert post(hers, away_until=yesterday.isoformat()).status_code == 422


def test_a_day_that_is_over_is_shown_no_more(hers: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(away_until=date(2020, 1, 1))
    assertNotContains(hers.get(PAGE), "2020")


# --- what is held ---------------------------------------------------------------------------


def credited_now(player: User, hours: int) -> None:
    """As the clean-up leaves it today, whatever the day."""
    hold(player, hours, credited=timezone.now().astimezone(UTC).date())


def test_it_says_what_is_held_and_when_more_comes(hers: Client, alice: User) -> None:
    credited_now(alice, 164)
    page = hers.get(PAGE)
    assertContains(page, "6 days 20 hours")
    first = away.next_month(timezone.now().astimezone(UTC).date())
    assertContains(page, f"2 days more on 1 {first:%B %Y}, 00:00")


def test_the_next_month_begins_in_the_reader_s_zone(hers: Client, alice: User) -> None:
    alice.time_zone = "America/Sao_Paulo"
    alice.save(update_fields=["time_zone"])
    assertContains(hers.get(PAGE), ", 21:00")


@pytest.mark.parametrize(
    ("hours", "said"), [(490, "14 hours more on"), (504, "Nothing: you hold the most there can be")]
)
def test_near_the_most_there_can_be(hers: Client, alice: User, hours: int, said: str) -> None:
    credited_now(alice, hours)
    assertContains(hers.get(PAGE), said)


# --- the ledger -----------------------------------------------------------------------------


def told(player: User) -> list[tuple[int, int, list[str]]]:
    lines = away.ledger(User.objects.get(pk=player.pk)).lines
    return [(line.hours, line.balance, [name for _pk, name in line.games]) for line in lines]


def test_a_new_ledger_begins_with_seven_days(hers: Client, alice: User) -> None:
    assert told(alice) == []
    assertContains(hers.get(PAGE), "What everybody begins with")


def test_hours_on_end_for_the_same_games_are_one_line(hers: Client, alice: User, bob: User) -> None:
    charlie = holder("charlie")
    game = due(alice, bob, END)
    later = due(alice, charlie, END + 2 * HOUR + MINUTE)
    play.settle(game.pk, END + HOUR)
    play.settle(game.pk, END + 4 * HOUR)
    play.resign(later.pk, alice, now=END + 4 * HOUR)
    play.settle(game.pk, END + 5 * HOUR)
    away_hours.credit_months(datetime(2027, 1, 1, tzinfo=UTC))
    assert told(alice) == [
        (48, 210, []),
        (-1, 162, ["bob"]),
        (-3, 163, ["bob", "charlie"]),
        (-2, 166, ["bob"]),
    ]
    page = hers.get(PAGE)
    assertContains(
        page, f'<a class="strong" href="/games/{game.pk}/">Game {game.pk} against bob</a>'
    )
    assertContains(page, "5 Dec 12:00 – 5 Dec 2026 14:00")
    assertContains(page, "−3")
    assertContains(page, "A month began")


def test_hours_apart_are_two_lines(alice: User, bob: User) -> None:
    game = due(alice, bob, END)
    play.settle(game.pk, END)
    Game.objects.filter(pk=game.pk).update(deadline=END + 10 * HOUR)
    play.settle(game.pk, END + 10 * HOUR)
    assert told(alice) == [(-1, 166, ["bob"]), (-1, 167, ["bob"])]


def test_it_goes_on_on_other_pages(
    hers: Client, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(away, "ENTRIES", 3)
    for n in range(7):
        AwayEntry.objects.create(player=alice, at=END, reason="month", hours=48, balance=48 * n)
    seen, before = [], None
    while True:
        ledger = away.ledger(alice, before)
        seen += [line.balance // 48 for line in ledger.lines]
        if ledger.older is None:
            break
        page = hers.get(PAGE + (f"?before={before}" if before else ""))
        assertContains(page, f"?before={ledger.older}")
        assertNotContains(page, "What everybody begins with")
        before = ledger.older
    assert seen == [6, 5, 4, 3, 2, 1, 0]
    assertContains(hers.get(f"{PAGE}?before={before}"), "What everybody begins with")


@pytest.mark.parametrize("before", ["x", "-1", "1.5", "9" * 19, "²"])
def test_a_page_that_cannot_be_is_refused(hers: Client, before: str) -> None:
    assert hers.get(PAGE, {"before": before}).status_code == 400


def test_others_are_not_in_it(hers: Client, bob: User) -> None:
    charlie = person("charlie")
    play.settle(due(bob, charlie, END).pk, END)
    assertNotContains(hers.get(PAGE), "charlie")


def test_it_asks_the_same_however_long_it_is(
    hers: Client, alice: User, bob: User, django_assert_max_num_queries: Any
) -> None:
    games = [due(alice, bob, END + n * MINUTE) for n in range(5)]
    play.settle(games[0].pk, END + 20 * HOUR)
    with django_assert_max_num_queries(8):
        hers.get(PAGE)
