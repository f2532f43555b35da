"""Fifty posts of the same move at once: one ply, and nobody sees an error."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections
from django.test import Client
from django.urls import reverse

from games.models import Game, Notice, Ply
from tests.world import fresh, person, running

POSTS = 50
FIRST = {"ply": "1", "card": "crab", "from": "a1", "to": "a2"}


def post_at_once(game: Game, forms: list[dict[str, str]], url: str = "move") -> Counter[int]:
    """The statuses of posts that all start together, each by its own thread and connection."""
    alice = game.seat("b").player
    clients = []
    for _ in forms:
        client = Client(raise_request_exception=False)
        client.force_login(alice)
        clients.append(client)
    start = Barrier(len(forms))

    def post(index: int) -> int:
        start.wait(30)
        try:
            address = reverse(url, args=[game.pk])
            return clients[index].post(address, forms[index]).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(forms)) as pool:
        return Counter(pool.map(post, range(len(forms))))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("round_", range(3))
def test_the_same_move_fifty_times_is_one_ply(round_: int) -> None:
    game = running(person("alice"), person("bob"))
    assert post_at_once(game, [FIRST] * POSTS) == {303: 1, 409: POSTS - 1}
    after = fresh(game)
    assert [ply.action for ply in Ply.objects.all()] == ["crab:a1a2"]
    assert (after.plies, after.version) == (1, game.version + 1)
    assert Notice.objects.filter(key=f"turn:g{game.pk}:p2").count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_different_moves_at_once_are_one_ply() -> None:
    game = running(person("alice"), person("bob"))
    second = {**FIRST, "from": "b1", "to": "b2"}
    assert post_at_once(game, [FIRST, second] * 10) == {303: 1, 409: 19}
    assert Ply.objects.count() == fresh(game).plies == 1


@pytest.mark.django_db(transaction=True)
def test_resigning_many_times_at_once_ends_the_game_once() -> None:
    game = running(person("alice"), person("bob"))
    assert post_at_once(game, [{}] * 20, "resign") == {303: 1, 409: 19}
    assert (fresh(game).winner, fresh(game).version) == ("r", game.version + 1)
    assert Notice.objects.filter(key=f"over:g{game.pk}").count() == 1
