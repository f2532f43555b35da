"""Issue 2, 11c: workers killed at work, and engines that fail; the computer moves, the mail goes.

The times the site leases work for are shortened; REAL_LEASES=1 keeps them.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from django.conf import settings

from accounts.models import User
from games.models import Delivery, Game
from tests import world
from tests.forge import Copy
from tests.servers import Mood, PostOffice, Site, Visitor, wait_for

pytestmark = [
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
]
MINUTE = 60
FAULTY = "tests.faulty_engine"
REAL = os.environ.get("REAL_LEASES") == "1"
SHORT = {
    "ENGINE_TIME_LIMIT": "3",
    "MAIL_LEASE": "4",
    "SMTP_TIMEOUT": "30",
    "SWEEP_SECONDS": "2",
    "VISIBILITY_TIMEOUT": "5",
}
# Seconds within which a task that was not acknowledged is handed out again.
REDELIVERY = 360 if REAL else 60


@pytest.fixture
def site(
    make_site: Callable[..., Site], post_office: PostOffice, tmp_path: Path, alice: User
) -> Site:
    """Everything but the workers of engine and mail, which each test starts in its own way."""
    calls = {"ENGINE_CALLS": str(tmp_path / "calls"), "EMAIL_URL": post_office.url}
    site = make_site(**({} if REAL else SHORT), **calls)
    site.start_web()
    site.start_worker("sweep")
    site.start_beat()
    return site


def calls(site: Site) -> list[int]:
    """The processes that have called the faulty engine, one number a call."""
    return numbers(Path(site.environment["ENGINE_CALLS"]))


def numbers(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def faulty(site: Site, fault: str) -> Copy:
    """Once it listens and all its processes are there: else, on a busy machine, the move could be
    made without them."""
    worker = site.start_worker("engine", FAULTY, ENGINE_FAULT=fault)
    # And that of the sweep.
    site.wait_for_workers(2)
    ready = Path(site.environment["ENGINE_CALLS"]).with_suffix(".ready")
    wait_for(lambda: len(numbers(ready)) >= settings.ENGINE_WORKERS, MINUTE)
    return worker


def move_against_the_computer(visitor: Visitor, alice: User) -> Game:
    game = world.against_level(alice)
    fields = {"ply": 1, "card": "crab", "from": "b1", "to": "b2"}
    answer = visitor.post(f"/games/{game.pk}/move/", fields)
    assert answer.status == 303, answer.text
    return game


def has_moved(game: Game) -> bool:
    before = world.fresh(game).plies
    rows = game.record.count()
    now = world.fresh(game).plies
    # The move may come while we look.
    assert before <= rows <= now
    return now == 2


def wait_for_redelivery(site: Site) -> None:
    """Until the killed worker's task has been done again."""
    with redis.Redis.from_url(site.broker.url) as client:
        wait_for(lambda: client.hlen("unacked") == 0, REDELIVERY, every=0.02)
    time.sleep(2)


def report(what: str, began: float) -> None:
    """For the note: pytest -s, or its report of a failure, shows it."""
    sys.stderr.write(f"\n{what} after {time.monotonic() - began:.1f} s\n")


# --- the engine ---------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_a_worker_killed_while_it_computes(site: Site, alice: User) -> None:
    worker = faulty(site, "hang")
    game = move_against_the_computer(site.visitor(alice), alice)
    began = time.monotonic()
    wait_for(lambda: calls(site), MINUTE)
    worker.kill()
    site.start_worker("engine")
    wait_for(lambda: has_moved(game), MINUTE - (time.monotonic() - began))
    report("killed while computing: moved", began)
    # The killed worker's task comes again: the game has moved on.
    wait_for_redelivery(site)
    assert has_moved(game)
    assert len(calls(site)) == 1


@pytest.mark.once
def test_a_worker_killed_and_none_to_follow(site: Site, alice: User) -> None:
    worker = faulty(site, "hang")
    game = move_against_the_computer(site.visitor(alice), alice)
    began = time.monotonic()
    wait_for(lambda: calls(site), MINUTE)
    worker.kill()
    wait_for(lambda: has_moved(game), MINUTE - (time.monotonic() - began))
    report("killed for good: moved", began)


@pytest.mark.once
def test_only_the_computing_process_killed(site: Site, alice: User) -> None:
    faulty(site, "hang")
    game = move_against_the_computer(site.visitor(alice), alice)
    began = time.monotonic()
    [pid] = wait_for(lambda: calls(site), MINUTE)
    os.kill(pid, 9)
    wait_for(lambda: has_moved(game), MINUTE - (time.monotonic() - began))
    report("process killed: moved", began)


@pytest.mark.once
def test_no_engine_worker_at_all(site: Site, alice: User) -> None:
    site.start_worker("mail")
    game = move_against_the_computer(site.visitor(alice), alice)
    began = time.monotonic()
    wait_for(lambda: has_moved(game), MINUTE)
    report("no worker: moved", began)


@pytest.mark.once
def test_an_engine_that_raises(site: Site, alice: User) -> None:
    faulty(site, "raise")
    game = move_against_the_computer(site.visitor(alice), alice)
    began = time.monotonic()
    wait_for(lambda: has_moved(game), MINUTE)
    report("engine raised: moved", began)
    assert len(calls(site)) == 1
    assert "an engine that fails" in site.log("engine")


@pytest.mark.once
def test_an_engine_that_hangs(site: Site, alice: User) -> None:
    faulty(site, "hang")
    game = move_against_the_computer(site.visitor(alice), alice)
    began = time.monotonic()
    wait_for(lambda: has_moved(game), MINUTE)
    report("engine hung: moved", began)
    assert len(calls(site)) == 1


# --- the mail -----------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_a_worker_killed_while_it_sends(site: Site, alice: User, post_office: PostOffice) -> None:
    bob = world.person("bob")
    game = world.running(alice, bob)
    post_office.moods[bob.email] = Mood.STALL
    worker = site.start_worker("mail")
    fields = {"ply": 1, "card": "crab", "from": "b1", "to": "b2"}
    assert site.visitor(alice).post(f"/games/{game.pk}/move/", fields).status == 303
    [swallowed] = wait_for(lambda: post_office.swallowed, MINUTE)
    began = time.monotonic()
    worker.kill()
    post_office.moods.clear()
    site.start_worker("mail")
    wait_for(lambda: post_office.to(bob.email), 2 * MINUTE)
    report("killed while sending: sent", began)
    wait_for_redelivery(site)
    # The server had the first one whole, so the second is its duplicate: no third.
    [message] = post_office.to(bob.email)
    assert message["Message-ID"] == swallowed["Message-ID"]
    assert post_office.tried(bob.email) == 2
    delivery = Delivery.objects.get(notice__player=bob, notice__game=game)
    assert delivery.sent is not None
    assert delivery.tries == 2


@pytest.mark.timeout(600)
def test_a_worker_killed_in_the_middle_of_many(
    site: Site, alice: User, post_office: PostOffice
) -> None:
    """What it had claimed goes when the lease is over; one mail at most arrives twice."""
    bob, carol = world.person("bob"), world.person("carol")
    friends = [carol if number == 30 else bob for number in range(50)]
    games = [world.running(alice, friend, ["crab:b1b2"]) for friend in friends]
    post_office.moods[carol.email] = Mood.STALL
    worker = site.start_worker("mail")
    [swallowed] = wait_for(lambda: post_office.swallowed, MINUTE)
    worker.kill()
    post_office.moods.clear()
    site.start_worker("mail")
    due = Delivery.objects.filter(notice__player__in=[bob, carol], next_try__isnull=False)
    wait_for(lambda: not due.exists(), 2 * MINUTE)
    wait_for_redelivery(site)
    [message] = post_office.to(carol.email)
    assert message["Message-ID"] == swallowed["Message-ID"]
    names = Counter(message["Message-ID"] for message in post_office.to(bob.email))
    assert len(names) == 49
    assert set(names.values()) == {1}
    assert Delivery.objects.filter(notice__game__in=games, sent__isnull=False).count() == 50
