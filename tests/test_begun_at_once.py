"""Presses that arrive together: one game, one challenge, one answer, and nobody sees an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone

from accounts.models import User
from games import challenges
from games.clock import PRESETS
from games.models import Challenge, Game, Notice
from tests.world import guest, person

pytestmark = pytest.mark.django_db(transaction=True)

TIMES = 12
TERMS = {"control": "3+1", "colour": "", "deck": "base"}


def client_of(player: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(player)
    return client


def at_once(presses: Sequence[Callable[[], int]]) -> Counter[int]:
    """The answers to presses that start together, each by its own thread and connection."""
    start = Barrier(len(presses))

    def press(deed: Callable[[], int]) -> int:
        start.wait(30)
        try:
            return deed()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(presses)) as pool:
        return Counter(pool.map(press, presses))


def posts(
    player: User, address: str, fields: dict[str, str], times: int = TIMES
) -> list[Callable[[], int]]:
    clients = [client_of(player) for _ in range(times)]
    return [lambda c=c: c.post(address, fields).status_code for c in clients]  # type: ignore[misc]


def a_challenge(by: User, to: User) -> Challenge:
    return challenges.challenge(
        by,
        to,
        control=PRESETS["3+1"],
        colour="",
        deck="base",
        private=False,
        now=timezone.now(),
    )


def test_many_presses_begin_one_game_against_the_computer() -> None:
    assert at_once(posts(person("alice"), "/games/computer/", {})) == {303: TIMES}
    assert Game.objects.count() == 1


def test_a_guest_who_begins_everywhere_has_three_games() -> None:
    player = guest()
    presses = [
        press
        for level in ("white-belt", "blue-belt", "grandmaster")
        for press in posts(player, "/games/computer/", {"level": level}, 4)
    ]
    assert at_once(presses) == {303: TIMES}
    assert Game.objects.count() == challenges.GUEST_GAMES


def test_one_challenge_is_sent_however_often_it_is_pressed() -> None:
    person("bob")
    fields = {**TERMS, "opponent": "bob"}
    assert at_once(posts(person("alice"), "/games/new/", fields)) == {303: 1, 422: TIMES - 1}
    assert Challenge.objects.count() == Notice.objects.count() == 1


def test_two_who_challenge_each_other_do_not_wait_for_each_other() -> None:
    people = [person(f"player{n}") for n in range(4)]
    presses = [
        press
        for one in people
        for other in people
        if one != other
        for press in posts(one, "/games/new/", {**TERMS, "opponent": other.username}, 1)
    ]
    assert at_once(presses) == {303: 12}
    assert Challenge.objects.count() == 12


def test_accepting_many_times_at_once_begins_one_game() -> None:
    alice, bob = person("alice"), person("bob")
    row = a_challenge(alice, bob)
    assert at_once(posts(bob, f"/challenges/{row.pk}/accept/", {})) == {303: TIMES}
    assert Game.objects.count() == 1
    assert Notice.objects.filter(key=f"challenge:c{row.pk}:accepted").count() == 1


def test_accepting_and_withdrawing_at_once_is_one_of_the_two() -> None:
    alice, bob = person("alice"), person("bob")
    row = a_challenge(alice, bob)
    presses = posts(bob, f"/challenges/{row.pk}/accept/", {}, 6)
    presses += posts(alice, f"/challenges/{row.pk}/withdraw/", {}, 6)
    assert at_once(presses) == {303: 12}
    row.refresh_from_db()
    assert Game.objects.count() == int(row.status == Challenge.Status.ACCEPTED)
