"""Issue 2, 11d: a mail server that refuses, stalls or hangs up; nothing is held up, or lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

import pytest
from django.utils import timezone

from accounts.models import Mail, User
from games.clock import TimeControl
from games.models import Delivery, Game
from tests import world
from tests.servers import Mood, PostOffice, Site, at_once, wait_for

pytestmark = [
    pytest.mark.once,
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
]
MINUTE = 60


@pytest.fixture
def site(make_site: Callable[..., Site], post_office: PostOffice) -> Site:
    site = make_site(EMAIL_URL=post_office.url, SMTP_TIMEOUT="2", SWEEP_SECONDS="2")
    site.start_all()
    return site


def refuse(post_office: PostOffice) -> None:
    post_office.close()


def stall(post_office: PostOffice) -> None:
    post_office.mood = Mood.STALL


def drop(post_office: PostOffice) -> None:
    post_office.mood = Mood.DROP


def defer(post_office: PostOffice) -> None:
    post_office.mood = Mood.DEFER


def heal(post_office: PostOffice) -> None:
    post_office.mood = Mood.ACCEPT
    post_office.close()
    post_office.open()


def tried(delivery: Delivery, times: int) -> Delivery:
    """The delivery once it has failed so often and waits for its next try."""

    def found() -> Delivery | None:
        row = Delivery.objects.get(pk=delivery.pk)
        return row if row.tries == times and row.error else None

    return wait_for(found, MINUTE)


def wait_of(delivery: Delivery) -> float:
    """Minutes until the next try."""
    assert delivery.next_try is not None
    return (delivery.next_try - timezone.now()).total_seconds() / 60


def hurry(delivery: Delivery) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(next_try=timezone.now(), error="")


def sign_up(site: Site, name: str) -> float:
    """Somebody new; the seconds it took."""
    fields = {"username": name, "email": f"{name}@example.org", "password1": world.PASSWORD}
    answer = site.visitor().post("/accounts/signup/", fields)
    assert answer.status == 302, answer.text
    return answer.seconds


def about_to_run_out(blue: User, red: User, now: datetime) -> Game:
    """Blue has moved once; the next move is due in three seconds."""
    control = TimeControl(*[timedelta(days=1)] * 3)
    game = world.running(blue, red, ["crab:b1b2", "mantis:c5b4"], control=control, now=now)
    Game.objects.filter(pk=game.pk).update(deadline=now + timedelta(seconds=3))
    return game


@pytest.mark.parametrize("hurt", [refuse, stall, drop, defer])
def test_mails_wait_and_nothing_else_does(
    site: Site, post_office: PostOffice, hurt: Callable[[PostOffice], None]
) -> None:
    usual = sign_up(site, "dora")
    wait_for(partial(post_office.to, "dora@example.org"), MINUTE)
    hurt(post_office)
    # The quicker of two: what waited for the server would make both slow.
    assert min(sign_up(site, "carol"), sign_up(site, "cora")) < at_once(usual)
    alice, bob = world.person("alice", away=False), world.person("bob")
    game = world.running(alice, bob)
    visitor = site.visitor(alice)
    fields = {"ply": 1, "card": "crab", "from": "b1", "to": "b2"}
    answer = visitor.post(f"/games/{game.pk}/move/", fields)
    assert answer.status == 303, answer.text
    assert answer.seconds < at_once(usual)
    delivery = Delivery.objects.get(notice__player=bob, notice__game=game)

    # Meanwhile time runs out where it does, and the computer moves.
    began = time.monotonic()
    late = about_to_run_out(alice, bob, timezone.now())
    computer = world.against_level(alice)
    assert visitor.post(f"/games/{computer.pk}/move/", fields).status == 303
    wait_for(lambda: world.fresh(computer).plies == 2, MINUTE)
    wait_for(lambda: world.fresh(late).is_over, MINUTE - (time.monotonic() - began))
    assert world.fresh(late).termination == Game.Termination.TIME

    delivery = tried(delivery, 1)
    assert 0.5 < wait_of(delivery) <= 1
    hurry(delivery)
    delivery = tried(delivery, 2)
    assert 4.5 < wait_of(delivery) <= 5
    assert not post_office.to(bob.email)
    assert not post_office.to("carol@example.org")

    heal(post_office)
    Delivery.objects.exclude(next_try=None).update(next_try=timezone.now())
    Mail.objects.exclude(next_try=None).update(next_try=timezone.now())
    for address in (alice.email, bob.email, "carol@example.org", "cora@example.org"):
        wait_for(partial(post_office.to, address), MINUTE)
    wait_for(lambda: not Delivery.objects.exclude(next_try=None).exists(), MINUTE)
    wait_for(lambda: not Mail.objects.filter(sent=None).exists(), MINUTE)
    assert not Delivery.objects.exclude(failed=None).exists()


def test_one_bad_mailbox_holds_up_no_other(site: Site, post_office: PostOffice) -> None:
    alice = world.person("alice")
    friends = [world.person(name) for name in ("bob", "dora", "emil", "fred")]
    post_office.moods[friends[0].email] = Mood.STALL
    post_office.moods[friends[1].email] = Mood.DROP
    post_office.moods[friends[2].email] = Mood.REFUSE
    games = [world.running(alice, friend, ["crab:b1b2"]) for friend in friends]
    began = time.monotonic()
    wait_for(lambda: post_office.to(friends[3].email), MINUTE)
    sign_up(site, "carol")
    wait_for(lambda: post_office.to("carol@example.org"), MINUTE)
    assert time.monotonic() - began < MINUTE

    waiting = Delivery.objects.get(notice__player=friends[0], notice__game=games[0])
    assert 0.5 < wait_of(tried(waiting, 1)) <= 1
    # Refused for good is not tried again.
    refused = Delivery.objects.get(notice__player=friends[2], notice__game=games[2])
    assert refused.failed is not None
    assert refused.next_try is None
    assert post_office.tried(friends[2].email) == 1
