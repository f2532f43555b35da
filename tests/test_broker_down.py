"""Issue 2, 11b: the broker refuses, or stalls, while a move is posted; nothing is lost."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from django.db.models import Count
from kombu.transport.virtual import QoS as VirtualQoS

from games.models import Game, Notice
from onitama_site.celery import ForgetfulQoS
from tests import world
from tests.servers import PostOffice, Site, at_once, wait_for

pytestmark = [
    pytest.mark.once,
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
]
MOVE = {"ply": 1, "card": "crab", "from": "b1", "to": "b2"}


def refuse(site: Site) -> None:
    site.broker.child.kill()


def stall(site: Site) -> None:
    site.broker.child.signal(signal.SIGSTOP)


def heal(site: Site) -> None:
    if site.broker.child.ended:
        site.start_broker()
    else:
        site.broker.child.signal(signal.SIGCONT)


@pytest.mark.parametrize("hurt", [refuse, stall])
def test_moves_are_saved_at_once_and_followed_up_once(
    make_site: Callable[..., Site], post_office: PostOffice, hurt: Callable[[Site], None]
) -> None:
    alice, bob = world.person("alice"), world.person("bob")
    first, human = world.running(alice, bob), world.running(alice, bob)
    computer = world.against_level(alice)
    site = make_site(EMAIL_URL=post_office.url, SWEEP_SECONDS="2")
    site.start_all()
    visitor = site.visitor(alice)
    usual = visitor.post(f"/games/{first.pk}/move/", MOVE).seconds
    wait_for(lambda: post_office.to(bob.email), 60)

    hurt(site)
    for game in (human, computer):
        answer = visitor.post(f"/games/{game.pk}/move/", MOVE)
        assert answer.status == 303, answer.text
        assert answer.seconds < at_once(usual)
        assert visitor.get(f"/games/{game.pk}/").seconds < at_once(usual)
        assert plies(game) == 1
    time.sleep(5)
    assert len(post_office.to(bob.email)) == 1
    assert plies(computer) == 1

    heal(site)
    wait_for(lambda: len(post_office.to(bob.email)) == 2, 60)
    wait_for(lambda: plies(computer) == 2, 60)
    # Whatever was held back comes now, and changes nothing.
    time.sleep(10)
    assert len(post_office.to(bob.email)) == 2
    assert Notice.objects.filter(player=bob, key=f"turn:g{human.pk}:p2").count() == 1
    assert plies(computer) == 2
    assert plies(human) == 1


def plies(game: Game) -> int:
    """Asked at once: the computer may move between two questions."""
    counted = Game.objects.annotate(rows=Count("record")).values_list("plies", "rows")
    plies, rows = counted.get(pk=game.pk)
    assert plies == rows
    return int(plies)


def test_a_task_whose_end_the_broker_misses_leaves_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker holds one task at a time: with its place kept it would never take another."""
    qos = ForgetfulQoS(SimpleNamespace(do_restore=False), prefetch_count=1)
    VirtualQoS.append(qos, SimpleNamespace(), "a tag")
    assert not qos.can_consume()

    def stall(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(qos, "_remove_from_indices", stall)
    with pytest.raises(TimeoutError):
        qos.ack("a tag")
    assert qos.can_consume()
