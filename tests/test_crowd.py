"""Twenty games that wait for the computer at once, and a real worker with two processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from celery import Celery
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from games import thinking, waking
from games.models import Game, Ply
from tests import world
from tests.servers import Site, wait_for

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
CROWD = {"grandmaster": 6, "black-belt": 4, "brown-belt": 4, "white-belt": 6}


def nudge(site: Site, games: list[Game]) -> None:
    """As the pages do, each after its own game's move."""
    with Celery(broker=site.broker.url) as app:
        for game in games:
            app.send_task(waking.ENGINE_MOVE, args=[game.pk], queue="engine")


def test_least_time_goes_first_and_nobody_waits_long(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    alice, calls = world.person("alice"), tmp_path / "calls"
    site = make_site(ENGINE_CALLS=str(calls))
    site.start_worker("engine", "tests.hasty_engine")
    with redis.Redis.from_url(site.broker.url) as client:
        wait_for(lambda: client.scard("_kombu.binding.celery.pidbox") == 1, 60)
    with transaction.atomic():
        now = timezone.now()
        games = [
            world.against_level(alice, level, colour="r", now=now)
            for level, count in CROWD.items()
            for _ in range(count)
        ]
    nudge(site, games)
    wait_for(lambda: not Game.objects.filter(plies=0).exists(), 60)
    made = [json.loads(line) for line in calls.read_text().splitlines()]
    # Each by the engine, none without it; both processes have worked.
    assert len(made) == Ply.objects.count() == 20
    assert len({call["pid"] for call in made}) == settings.ENGINE_WORKERS
    made.sort(key=lambda call: call["at"])
    begun = [call["level"] for call in made]
    needs = [thinking.seconds(level) for level in begun]
    # Of two that begin in the same moment either may note it first.
    assert all(earlier <= later for earlier, later in zip(needs, needs[2:], strict=False)), begun
    assert {call["seconds"] for call in made} == {None, 5.0}
    took = max(ply.played for ply in Ply.objects.all()).timestamp() - made[0]["at"]
    # A tenth of what they need, shared by two; and what a busy machine adds.
    assert took < 20
