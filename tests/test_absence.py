"""Who lost two games on time without coming back: their challenges wait, and all are told why."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertRedirects

from accounts.models import User
from games import away, challenges, notices, play
from games.clock import PRESETS
from games.models import Challenge, Game, Notice
from tests.world import BLUE_BY_STONE, fresh, person, running

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (1, 60, 3600, 86400))


@pytest.fixture
def alice() -> User:
    return person("alice", away=False)


def lose(player: User, to: User, at: datetime) -> Game:
    """The player's clock runs out then."""
    game = running(player, to, BLUE_BY_STONE[:2], now=at - DAY)
    Game.objects.filter(pk=game.pk).update(deadline=at)
    play.settle(game.pk, at)
    assert fresh(game).termination == "time"
    return game


def here(player: User, at: datetime | None) -> None:
    User.objects.filter(pk=player.pk).update(last_navigation=at)


def absent(player: User) -> bool:
    return away.is_absent(User.objects.get(pk=player.pk))


def asked(by: User, to: User, now: datetime = NOW) -> Challenge:
    return challenges.challenge(
        by, to, control=PRESETS["3"], colour="", deck="base", private=False, now=now
    )


def waits(row: Challenge) -> list[str]:
    """Who is told that this challenge waits."""
    told = Notice.objects.filter(key=f"challenge:c{row.pk}:waits", challenge=row)
    return list(told.values_list("player__username", flat=True))


@pytest.mark.parametrize(
    ("came", "expected"),
    [
        (None, True),
        (-DAY, True),
        (-MINUTE, True),
        (30 * MINUTE, False),
        (HOUR, False),
        (DAY, False),
    ],
    ids=["never", "before", "just before", "between", "as the second ended", "since"],
)
def test_two_games_lost_with_no_navigation_between_or_since(
    alice: User, bob: User, came: timedelta | None, *, expected: bool
) -> None:
    lose(alice, bob, NOW)
    assert not absent(alice)
    lose(alice, bob, NOW + HOUR)
    here(alice, None if came is None else NOW + came)
    assert absent(alice) == expected
    assert not absent(bob)


def test_who_came_within_the_minute_of_the_last_page_is_here(
    alice: User, bob: User, client: Client
) -> None:
    """Such a page is not noted; so what was lost in that minute may have been seen."""
    client.force_login(alice)
    with time_machine.travel(NOW, tick=False) as clock:
        client.get("/games/")
        lose(alice, bob, NOW + SECOND)
        lose(alice, bob, NOW + 2 * SECOND)
        row = asked(bob, alice, NOW + 2 * SECOND)
        clock.move_to(NOW + 3 * SECOND, tick=False)
        client.get(f"/challenges/{row.pk}/")
        client.post(f"/challenges/{row.pk}/accept/")
    assert Challenge.objects.get(pk=row.pk).status == "accepted"


def test_other_ends_do_not_count(alice: User, bob: User) -> None:
    lose(alice, bob, NOW)
    play.resign(running(alice, bob, now=NOW).pk, alice, now=NOW)
    never_moved = running(alice, bob, now=NOW)
    play.settle(never_moved.pk, NOW + 3 * DAY)
    assert fresh(never_moved).termination == "aborted"
    assert not absent(alice)


def test_open_challenges_wait_and_the_other_side_is_told_once(alice: User, bob: User) -> None:
    charlie = person("charlie")
    to_her, from_her, of_others = asked(bob, alice), asked(alice, charlie), asked(bob, charlie)
    lose(alice, bob, NOW)
    assert waits(to_her) == waits(from_her) == []
    lose(alice, bob, NOW + HOUR)
    lose(alice, bob, NOW + 2 * HOUR)
    assert (waits(to_her), waits(from_her), waits(of_others)) == (["bob"], ["charlie"], [])
    for row in (to_her, from_her):
        row.refresh_from_db()
        assert row.status == "open"


def test_neither_side_can_accept_until_the_player_is_back(alice: User, bob: User) -> None:
    to_her, from_her = asked(bob, alice), asked(alice, bob)
    lose(alice, bob, NOW)
    lose(alice, bob, NOW)
    with pytest.raises(challenges.CannotPlay, match="alice has lost two games on time"):
        challenges.accept(from_her.pk, bob, now=NOW)
    with pytest.raises(challenges.CannotPlay, match="You had lost two games on time"):
        challenges.accept(to_her.pk, alice, now=NOW)
    assert Challenge.objects.filter(status="open").count() == 2
    here(alice, NOW + MINUTE)
    challenges.accept(from_her.pk, bob, now=NOW + MINUTE)
    challenges.accept(to_her.pk, alice, now=NOW + MINUTE)
    assert not Notice.objects.filter(key__endswith=":waits", withdrawn=None).exists()


def test_declining_and_withdrawing_need_nobody_to_be_back(alice: User, bob: User) -> None:
    to_her, from_her = asked(bob, alice), asked(alice, bob)
    lose(alice, bob, NOW)
    lose(alice, bob, NOW)
    challenges.withdraw(to_her.pk, bob, now=NOW)
    challenges.decline(from_her.pk, bob, "", now=NOW)
    assert not Challenge.objects.filter(status="open").exists()


def test_a_challenge_can_still_be_sent_to_who_is_absent(alice: User, bob: User) -> None:
    lose(alice, bob, NOW)
    lose(alice, bob, NOW)
    assert asked(bob, alice).status == "open"


def test_on_the_site(alice: User, bob: User) -> None:
    """Bob presses Accept in vain; Alice opens a page, and he presses again."""
    now = timezone.now()
    row = asked(alice, bob, now)
    lose(alice, bob, now - HOUR)
    lose(alice, bob, now - MINUTE)
    his, hers = Client(), Client()
    his.force_login(bob)
    hers.force_login(alice)
    answer = his.post(f"/challenges/{row.pk}/accept/", follow=True)
    assertContains(answer, "alice has lost two games on time")
    hers.get("/games/", headers={"HX-Request": "true"})
    assertContains(his.post(f"/challenges/{row.pk}/accept/", follow=True), "alice has lost two")
    hers.get("/rules/")
    answer = his.post(f"/challenges/{row.pk}/accept/")
    row.refresh_from_db()
    assertRedirects(
        answer, f"/games/{row.game_id}/", status_code=303, fetch_redirect_response=False
    )


def test_who_was_absent_accepts_at_the_second_press(alice: User, bob: User) -> None:
    """The first came from a page left open; what it leads to is a page that was opened."""
    now = timezone.now()
    row = asked(bob, alice, now)
    lose(alice, bob, now - HOUR)
    lose(alice, bob, now - MINUTE)
    client = Client()
    client.force_login(alice)
    answer = client.post(f"/challenges/{row.pk}/accept/", follow=True)
    assertContains(answer, "You had lost two games on time")
    client.post(f"/challenges/{row.pk}/accept/")
    row.refresh_from_db()
    assert row.status == "accepted"


def test_the_notice_goes_when_the_player_is_back(alice: User, bob: User) -> None:
    row = asked(bob, alice)
    lose(alice, bob, NOW)
    lose(alice, bob, NOW)
    here(alice, NOW - MINUTE)

    def still_true(now: datetime) -> bool:
        return notices.still_true(Notice.objects.get(key=f"challenge:c{row.pk}:waits"), now)

    assert still_true(NOW)
    assert not still_true(NOW + 15 * DAY)
    here(alice, NOW + MINUTE)
    assert not still_true(NOW + 2 * MINUTE)
