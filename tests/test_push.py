"""Web push: which browsers are told, what reaches them, what becomes of messages that fail."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone, translation
from pytest_django import DjangoAssertNumQueries, Settings
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts import mail
from accounts.models import User
from games import deliveries, notices, push, push_service
from games.models import Challenge, Delivery, Game, Kind, Notice, PushDevice
from games.push_service import SIGNED_FOR
from onitama_site import vapid
from tests import world
from tests.push_service import KEY, Browser, PushService, raw, switch_on, token
from tests.servers import ROOT, clean_environment, wait_for

PAGE = "/preferences/devices/"
ADD = f"{PAGE}add/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def service(settings: Settings) -> Iterator[PushService]:
    """Push is on, and this service is one that may be posted to."""
    service = PushService()
    switch_on(settings, service.host)
    yield service
    service.close()


@pytest.fixture
def browser(service: PushService) -> Browser:
    return Browser(service.address())


@pytest.fixture
def device(alice: User, browser: Browser) -> PushDevice:
    return enabled(alice, browser)


def enabled(player: User, browser: Browser, *, now: datetime | None = None) -> PushDevice:
    it = browser.subscription
    keys = {"p256dh": it["p256dh"], "auth": it["auth"]}
    name = "Firefox on Linux"
    return push.add(player, it["endpoint"], **keys, name=name, now=now or timezone.now())


def owed(notice: Notice, device: PushDevice) -> Delivery:
    delivery, _made = Delivery.objects.get_or_create(
        notice=notice, device=device, channel="push", defaults={"created": notice.created}
    )
    return delivery


def send(notice: Notice, device: PushDevice, *, now: datetime | None = None) -> None:
    push.send(owed(notice, device), notice, now=now or timezone.now())


def as_(player: User) -> Client:
    client = Client(headers={"User-Agent": FIREFOX})
    client.force_login(player)
    return client


# --- the message --------------------------------------------------------------------------------


def test_the_reader_of_these_tests_reads_the_example_of_the_standard() -> None:
    """RFC 8291, section 5."""
    browser = Browser(
        "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
        "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94",
        "BTBZMqHH6r4Tts7J_aSIgg",
    )
    body = (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"
        "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
        "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    assert browser.decrypt(raw(body)) == b"When I grow up, I want to be a watermelon"


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    """Blue, alice, is to move."""
    return world.running(alice, bob, world.BLUE_BY_STREAM[:2])


def turn(game: Game, player: User) -> Notice:
    notice: Notice = player.notices.get(key=f"turn:g{game.pk}:p{game.plies + 1}")
    return notice


@pytest.mark.django_db
def test_it_tells_whose_turn_it_is(
    service: PushService, browser: Browser, alice: User, device: PushDevice, game: Game
) -> None:
    send(turn(game, alice), device)
    [post] = service.posts
    message = browser.read(post)
    assert message["title"] == "Your game with bob"
    assert "It is your turn." in message["body"] and "bob" in message["body"]
    assert message["url"] == f"/games/{game.pk}/"
    assert as_(alice).get(message["url"]).status_code == 200


@pytest.mark.django_db
def test_a_message_carries_no_secret(
    service: PushService, browser: Browser, alice: User, device: PushDevice, game: Game
) -> None:
    secret = world.subscription(alice, Kind.TURN).token
    as_(alice)
    send(turn(game, alice), device)
    [post] = service.posts
    message = browser.read(post)
    assert set(message) == {"title", "body", "url", "tag"}
    for word in (secret, "@", "http", "token", alice.password, "example.org", "unsubscribe"):
        assert word not in json.dumps(message)
    # And the service, which cannot read it, learns no name and no game.
    said = json.dumps(dict(post.headers)) + repr(post.body)
    for word in ("alice", "bob", f"game-{game.pk}", "turn", "Cookie", "Referer", "127.0.0.1:8000"):
        assert word not in said
    assert len(post.body) < 4096


@pytest.mark.django_db
def test_the_site_says_who_it_is(
    service: PushService, browser: Browser, alice: User, device: PushDevice, game: Game
) -> None:
    now = timezone.now()
    send(turn(game, alice), device, now=now)
    signed = token(service.posts[0])
    assert signed.key == vapid.public_key(KEY)
    assert signed.header == {"typ": "JWT", "alg": "ES256"}
    assert signed.claims == {
        "aud": f"http://{service.host}",
        "exp": int((now + SIGNED_FOR).timestamp()),
        "sub": "mailto:warden@onitama.example",
    }
    assert timedelta() < SIGNED_FOR <= timedelta(days=1)


@pytest.mark.django_db
def test_the_service_is_told_how_long_and_how_soon(
    service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    game = world.fresh(game)
    assert game.deadline is not None
    hour = game.deadline - timedelta(hours=1)
    notices.tell(alice, Kind.REMINDER, "reminder:g1:p3:4h", now=hour, game=game, ply=3)
    send(turn(game, alice), device)
    send(alice.notices.get(kind=Kind.REMINDER), device, now=hour)
    send(turn(game, alice), device, now=game.deadline + timedelta(hours=1))
    first, second, third = (post.headers for post in service.posts)
    assert (first["TTL"], first["Urgency"]) == ("86400", "normal")
    assert (second["TTL"], second["Urgency"]) == ("3600", "high")
    assert third["TTL"] == "60"
    assert first["Content-Encoding"] == "aes128gcm"


@pytest.mark.django_db
def test_of_one_game_the_newest_alone_is_shown(
    service: PushService, browser: Browser, alice: User, bob: User, device: PushDevice, game: Game
) -> None:
    other = world.running(alice, bob)
    send(turn(game, alice), device)
    send(turn(other, alice), device)
    world.played(game, world.BLUE_BY_STREAM[2:])
    notices.tell(alice, Kind.OVER, "over:x", now=timezone.now(), game=world.fresh(game))
    send(alice.notices.get(key="over:x"), device)
    tags = [browser.read(post)["tag"] for post in service.posts]
    assert tags == [f"game-{game.pk}", f"game-{other.pk}", f"game-{game.pk}"]
    topics = [post.headers["Topic"] for post in service.posts]
    assert topics[0] == topics[2] != topics[1]
    # RFC 8030, section 5.4.
    assert all(len(topic) <= 32 and topic.isalnum() for topic in topics)


@pytest.mark.django_db
def test_it_tells_of_what_is_no_game(
    service: PushService, browser: Browser, alice: User, bob: User, device: PushDevice
) -> None:
    now = timezone.now()
    it = Challenge.objects.create(
        challenger=bob, challenged=alice, created=now, expires=now + timedelta(days=14)
    )
    notices.tell(alice, Kind.CHALLENGE, f"challenge:c{it.pk}:received", now=now, challenge=it)
    notices.tell(alice, Kind.OUTAGE, "outage:o1", now=now)
    for notice in alice.notices.order_by("pk"):
        send(notice, device)
    challenge, outage = (browser.read(post) for post in service.posts)
    assert challenge["title"] == "A challenge"
    assert challenge["body"].startswith("bob challenges you to a game.")
    assert challenge["url"] == f"/challenges/{it.pk}/"
    assert outage["url"] == "/games/" and "site was away" in outage["body"]
    assert challenge["tag"] != outage["tag"]


@pytest.mark.django_db
def test_a_test_says_that_it_is_one(
    service: PushService, browser: Browser, alice: User, device: PushDevice
) -> None:
    notices.send_test(alice, "push", now=timezone.now())
    [delivery] = Delivery.objects.filter(channel="push")
    push.send(delivery, delivery.notice, now=timezone.now())
    message = browser.read(service.posts[0])
    assert message["body"].startswith("This is a test.") and message["url"] == "/games/"


@pytest.mark.django_db
def test_it_speaks_the_players_language(
    service: PushService,
    browser: Browser,
    alice: User,
    device: PushDevice,
    game: Game,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With no translation there yet, one of the test's own."""
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    alice.language = "de"
    alice.save(update_fields=["language"])
    monkeypatch.setattr(push, "_", lambda text: f"{translation.get_language()}: {text}")
    send(turn(game, alice), device)
    assert browser.read(service.posts[0])["title"] == "de: Your game with bob"
    settings.LANGUAGES = [("en", "English")]
    send(turn(game, alice), device)
    assert browser.read(service.posts[1])["title"] == "en: Your game with bob"


@pytest.mark.django_db
def test_a_long_text_is_cut(
    service: PushService,
    browser: Browser,
    alice: User,
    device: PushDevice,
    game: Game,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(push, "said", lambda notice: "駒" * 3000 + "\n\nmore")
    send(turn(game, alice), device)
    body = browser.read(service.posts[0])["body"]
    assert body == "駒" * (push.LONGEST_BODY - 1) + "…"
    assert len(service.posts[0].body) < 4096


@pytest.mark.django_db
def test_it_notes_when_a_browser_was_last_told(
    service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    assert device.last_used is None
    now = timezone.now()
    send(turn(game, alice), device, now=now)
    device.refresh_from_db()
    assert device.last_used == now


# --- what may fail ------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("status", [404, 410])
def test_a_browser_that_is_gone_is_forgotten(
    status: int, service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    other = enabled(alice, Browser(service.address("/push/2")))
    service.statuses["/push/1"] = status
    with pytest.raises(push.Gone):
        send(turn(game, alice), device)
    assert list(alice.push_devices.all()) == [other]


@pytest.mark.django_db
@pytest.mark.parametrize("status", [400, 401, 403, 413, 300, 307])
def test_what_is_refused_stays_refused(
    status: int, service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    service.status = status
    service.headers["Location"] = service.address("/elsewhere")
    with pytest.raises(mail.Refused) as refused:
        send(turn(game, alice), device)
    assert not isinstance(refused.value, push.Gone) and str(status) in str(refused.value)
    # No redirect is followed: it could lead anywhere.
    assert [post.path for post in service.posts] == ["/push/1"]
    assert alice.push_devices.get().last_used is None


@pytest.mark.django_db
@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_service_in_trouble_is_asked_again(
    status: int, service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    service.status = status
    with pytest.raises(mail.Delayed) as delayed:
        send(turn(game, alice), device)
    assert not isinstance(delayed.value, mail.Unreachable)
    assert delayed.value.wait == timedelta()
    service.status = 201
    send(turn(game, alice), device)
    assert len(service.posts) == 2 and alice.push_devices.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ("120", timedelta(seconds=120)),
        ("Mon, 30 Nov 2026 12:30:00 GMT", timedelta(minutes=30)),
        ("Mon, 30 Nov 2026 11:00:00 GMT", timedelta()),
        ("9" * 30, timedelta()),
        ("999999", timedelta(days=1)),
        ("-5", timedelta()),
        ("soon", timedelta()),
        ("Mon, 30 Nov 2026 12:30:00", timedelta()),
    ],
)
def test_it_waits_as_long_as_the_service_asks(
    said: str, wait: timedelta, service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    service.status, service.headers["Retry-After"] = 429, said
    now = datetime.fromisoformat("2026-11-30T12:00:00Z")
    with pytest.raises(mail.Delayed) as delayed:
        send(turn(game, alice), device, now=now)
    assert delayed.value.wait == wait


@pytest.mark.django_db
def test_a_slow_service_is_given_up_for_now(
    service: PushService,
    alice: User,
    device: PushDevice,
    game: Game,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(push_service, "PATIENCE", 0.2)
    service.stalls = 2
    for said in ("does not answer", "did not answer lately"):
        with pytest.raises(mail.Delayed, match=said) as delayed:
            send(turn(game, alice), device)
        assert not isinstance(delayed.value, mail.Unreachable)
    # Not asked a second time: those behind it would wait for that.
    wait_for(lambda: service.posts, 5)
    assert len(service.posts) == 1


@pytest.mark.django_db
def test_a_service_that_is_down_is_no_trouble_of_others(
    service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    service.close()
    with pytest.raises(mail.Delayed) as delayed:
        send(turn(game, alice), device)
    assert not isinstance(delayed.value, mail.Unreachable)
    # The staff see what went wrong, but not the address, which is a key.
    assert "/push/1" not in str(delayed.value)


@pytest.mark.django_db
def test_a_browser_removed_meanwhile_is_gone(
    service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    delivery = owed(turn(game, alice), device)
    PushDevice.objects.all().delete()
    with pytest.raises(push.Gone):
        push.send(delivery, turn(game, alice), now=timezone.now())
    assert service.posts == []


@pytest.mark.django_db
def test_where_push_is_switched_off_nothing_goes(
    service: PushService, alice: User, device: PushDevice, game: Game, settings: Settings
) -> None:
    for name, value in (("PUSH_HOSTS", []), ("VAPID_PRIVATE_KEY", "")):
        setattr(settings, name, value)
        with pytest.raises(mail.Refused):
            send(turn(game, alice), device)
    assert service.posts == []


@pytest.mark.django_db
def test_keys_that_are_none_hold_nothing_up(
    service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    PushDevice.objects.update(p256dh="BBBB")
    with pytest.raises(mail.Refused):
        send(turn(game, alice), device)


# --- on its way from the event --------------------------------------------------------------------


def deliver() -> None:
    deliveries.deliver_due(seconds=20)


def pushes(player: User) -> QuerySet[Delivery]:
    return Delivery.objects.filter(notice__player=player, channel="push").order_by("pk")


@pytest.mark.django_db
def test_every_browser_on_the_list_is_told(
    service: PushService, alice: User, bob: User, device: PushDevice
) -> None:
    second = Browser(service.address("/push/2"))
    enabled(alice, second)
    game = world.running(alice, bob)
    deliver()
    assert sorted(post.path for post in service.posts) == ["/push/1", "/push/2"]
    [post] = [post for post in service.posts if post.path == "/push/2"]
    assert second.read(post)["tag"] == f"game-{game.pk}"
    assert all(it.sent and not it.next_try for it in pushes(alice))
    deliver()
    assert len(service.posts) == 2


@pytest.mark.django_db
def test_without_keys_nothing_is_written(
    service: PushService, alice: User, bob: User, device: PushDevice, settings: Settings
) -> None:
    settings.VAPID_PRIVATE_KEY = ""
    world.running(alice, bob)
    assert not pushes(alice).exists()


@pytest.mark.django_db
def test_who_wants_no_push_of_a_kind_gets_none(
    service: PushService, alice: User, bob: User, device: PushDevice
) -> None:
    notices.set_channels(alice, {Kind.TURN: (True, True, False)})
    world.running(alice, bob)
    deliver()
    assert service.posts == []


@pytest.mark.django_db
def test_what_is_no_longer_so_is_not_told(
    service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    world.played(game, world.BLUE_BY_STREAM[2:3])
    deliver()
    assert service.posts == []


@pytest.mark.django_db
@pytest.mark.parametrize(("asked", "minutes"), [("", 1), ("1200", 20)])
def test_trouble_is_tried_again_later(
    asked: str, minutes: int, service: PushService, alice: User, device: PushDevice, game: Game
) -> None:
    service.status = 503
    service.headers = {"Retry-After": asked} if asked else {}
    began = timezone.now()
    deliver()
    delivery = pushes(alice).get(next_try__isnull=False)
    assert delivery.next_try is not None and delivery.error.startswith("503")
    assert 0 <= (delivery.next_try - began).total_seconds() - minutes * 60 < 30
    service.status = 201
    deliver()
    assert len(service.posts) == 1
    Delivery.objects.filter(pk=delivery.pk).update(next_try=timezone.now())
    deliver()
    delivery.refresh_from_db()
    assert delivery.sent and delivery.tries == 2 and len(service.posts) == 2


@pytest.mark.django_db
def test_a_browser_that_is_gone_ends_what_was_owed_to_it(
    service: PushService,
    alice: User,
    device: PushDevice,
    game: Game,
    caplog: pytest.LogCaptureFixture,
) -> None:
    service.status = 410
    deliver()
    assert not pushes(alice).exists() and not alice.push_devices.exists()
    assert "delivery" not in caplog.text
    deliver()
    assert len(service.posts) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("status", [201, 410, 503])
def test_a_browser_removed_while_it_is_told_holds_nothing_up(
    status: int,
    service: PushService,
    alice: User,
    device: PushDevice,
    game: Game,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    really = push_service.post

    def post(*args: Any, **kwargs: Any) -> push_service.Answer:
        PushDevice.objects.filter(pk=device.pk).delete()
        return really(*args, **kwargs)

    monkeypatch.setattr(push_service, "post", post)
    service.status = status
    deliver()
    assert len(service.posts) == 1 and not pushes(alice).exists()
    assert "failed" not in caplog.text


@pytest.mark.django_db
def test_one_service_that_stalls_does_not_stop_the_others(
    service: PushService,
    alice: User,
    bob: User,
    device: PushDevice,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(push_service, "PATIENCE", 0.3)
    service.stalls = 2
    other = PushService()
    switch_on(settings, service.host, other.host)
    enabled(bob, Browser(other.address()))
    for _ in range(3):
        world.running(alice, bob)
    world.running(bob, alice)
    deliver()
    assert len(service.posts) == 1 and len(other.posts) == 1
    other.close()


@pytest.mark.django_db
def test_a_move_writes_its_pushes_in_few_queries(
    alice: User,
    bob: User,
    device: PushDevice,
    game: Game,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    enabled(bob, Browser("https://fcm.googleapis.com/x"))
    url = f"/games/{game.pk}/move/"
    client = as_(alice)
    with django_assert_max_num_queries(18):
        answer = client.post(url, {"ply": 3, "card": "ox", "from": "c2", "to": "c3"})
    assert answer.status_code == 303
    assert pushes(bob).filter(notice__ply=4).exists()


# --- where we post --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://fcm.googleapis.com/fcm/send/c1:APA91b-_x",
        "https://fcm.googleapis.com:443/wp/x?y=z",
        "https://updates.push.services.mozilla.com/wpush/v2/gAAA=",
        "https://eu.push.services.mozilla.com/x",
        "https://db5p.notify.windows.com/w/?token=Bw%2f%2b",
        "https://web.push.apple.com/QK3",
    ],
)
def test_push_services_may_be_posted_to(endpoint: str) -> None:
    assert push.allowed(endpoint)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://fcm.googleapis.com/fcm/send/x",
        "https://fcm.googleapis.com:8443/x",
        "https://fcm.googleapis.com",
        "https://fcm.googleapis.com.evil.example/x",
        "https://evil.example/fcm.googleapis.com/",
        "https://evilnotify.windows.com/x",
        "https://notify.windows.com/x",
        "https://fcm.googleapis.com@evil.example/x",
        "https://evil.example\\@fcm.googleapis.com/x",
        "https://fcm.googleapis.com\\.evil.example/x",
        "https://fcm.googleapis.com/x y",
        "https://fcm.googleapis.com/x\r\nHost: evil",
        "https://fcm.googleapis.com/x\n",
        "https://fcm.googleapis.com/x#y",
        "https://fcm.googleapis.com/ü",
        "https://FCM.googleapis.com/x",
        "https://localhost/x",
        "https://127.0.0.1/x",
        "http://127.0.0.1:6379/x",
        "http://[::1]/x",
        "https://169.254.169.254/latest/meta-data/",
        "https://10.0.0.1/x",
        "https:///x",
        "file:///etc/passwd",
        "gopher://fcm.googleapis.com/x",
        "//fcm.googleapis.com/x",
        "",
    ],
)
def test_nothing_else_may(endpoint: str) -> None:
    assert not push.allowed(endpoint)


def test_who_runs_the_site_may_allow_more(settings: Settings) -> None:
    hosts = ["push.example.org:8443", "*.example.net", "127.0.0.1:9000", "10.0.0.7:80"]
    switch_on(settings, *hosts)
    for endpoint in (
        "https://push.example.org:8443/x",
        "https://a.b.example.net/x",
        "http://127.0.0.1:9000/x",
        "https://127.0.0.1:9000/x",
    ):
        assert push.allowed(endpoint), endpoint
    for endpoint in (
        "https://push.example.org/x",
        "https://a.example.net:8443/x",
        "https://example.net/x",
        "http://127.0.0.1:9001/x",
        "http://127.0.0.1/x",
        "http://10.0.0.7:80/x",
    ):
        assert not push.allowed(endpoint), endpoint


# --- the page -------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_browser_is_put_on_the_list(
    service: PushService, alice: User, browser: Browser, game: Game
) -> None:
    client = as_(alice)
    assertContains(client.get(PAGE), f'data-key="{vapid.public_key(KEY)}"')
    answer = client.post(ADD, browser.subscription, follow=True)
    assertRedirects(answer, PAGE, status_code=303)
    assertContains(answer, "This browser tells you from now on.")
    assertContains(answer, '<span class="strong">Firefox on Linux</span>')
    assertContains(answer, "not told anything yet")
    send(turn(game, alice), alice.push_devices.get())
    assert browser.read(service.posts[0])["url"] == f"/games/{game.pk}/"
    assertContains(client.get(PAGE), "last told: <time")


@pytest.mark.django_db
def test_twice_is_once(service: PushService, alice: User, browser: Browser) -> None:
    client = as_(alice)
    for _ in range(2):
        assert client.post(ADD, browser.subscription).status_code == 303
    first = alice.push_devices.get()
    other = Browser(browser.endpoint, auth="A" * 22)
    assert client.post(ADD, other.subscription).status_code == 303
    again = alice.push_devices.get()
    assert (again.pk, again.created) == (first.pk, first.created)
    assert (again.auth, again.p256dh) == ("A" * 22, other.subscription["p256dh"])


@pytest.mark.django_db
def test_a_browser_tells_whoever_enabled_it_last(
    alice: User, bob: User, browser: Browser, device: PushDevice, game: Game
) -> None:
    owed(turn(game, alice), device)
    assert as_(bob).post(ADD, browser.subscription).status_code == 303
    assert not alice.push_devices.exists() and bob.push_devices.count() == 1
    # What alice was to be told is not shown to bob.
    assert not Delivery.objects.filter(channel="push").exists()


@pytest.mark.django_db
def test_of_more_than_ten_the_longest_unused_goes(service: PushService, alice: User) -> None:
    now = timezone.now()
    browsers = [Browser(service.address(f"/push/{n}")) for n in range(11)]
    devices = [
        enabled(alice, it, now=now - timedelta(days=20 - n)) for n, it in enumerate(browsers[:10])
    ]
    # The oldest was told something yesterday, the second oldest never.
    PushDevice.objects.filter(pk=devices[0].pk).update(last_used=now - timedelta(days=1))
    assert as_(alice).post(ADD, browsers[10].subscription).status_code == 303
    left = set(alice.push_devices.values_list("endpoint", flat=True))
    assert left == {it.endpoint for it in browsers} - {devices[1].endpoint}


@pytest.mark.django_db
def test_a_browser_is_taken_off_the_list(alice: User, bob: User, device: PushDevice) -> None:
    remove = f"{PAGE}{device.pk}/remove/"
    assert as_(bob).post(remove).status_code == 404
    assert as_(alice).get(remove).status_code == 405
    assert alice.push_devices.exists()
    answer = as_(alice).post(remove, follow=True)
    assertRedirects(answer, PAGE, status_code=303)
    assertContains(answer, "Removed.")
    assert not PushDevice.objects.exists()
    assert as_(alice).post(remove).status_code == 404


@pytest.mark.django_db
def test_my_list_is_mine(bob: User, device: PushDevice) -> None:
    answer = as_(bob).get(PAGE)
    assertNotContains(answer, device.endpoint)
    assertNotContains(answer, "On the list")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "changes",
    [
        {"endpoint": ""},
        {"endpoint": "https://evil.example/x"},
        {"endpoint": "https://fcm.googleapis.com/" + "x" * 1000},
        {"endpoint": " https://fcm.googleapis.com/x"},
        {"p256dh": ""},
        {"p256dh": "A" * 87},
        {"p256dh": "B" + "A" * 86},
        {"p256dh": "é" * 87},
        {"p256dh": "B" * 88},
        {"auth": ""},
        {"auth": "A" * 21},
        {"auth": "A" * 23},
        {"auth": "+/" * 11},
    ],
)
def test_a_bad_subscription_is_refused(
    service: PushService, alice: User, browser: Browser, changes: dict[str, str]
) -> None:
    answer = as_(alice).post(ADD, {**browser.subscription, **changes})
    assertContains(answer, 'role="alert"', status_code=422)
    assert not PushDevice.objects.exists()


@pytest.mark.django_db
def test_the_forms_follow_the_rules_of_the_house(
    service: PushService, alice: User, browser: Browser
) -> None:
    login = f"/accounts/login/?next={PAGE}"
    for path, method in ((PAGE, "get"), (ADD, "post"), (f"{PAGE}1/remove/", "post")):
        answer = getattr(Client(), method)(path)
        assertRedirects(answer, login, fetch_redirect_response=False)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post(ADD, browser.subscription).status_code == 403
    for method in ("get", "head", "put", "delete", "patch"):
        assert getattr(as_(alice), method)(ADD).status_code == 405
    assert as_(alice).post(PAGE).status_code == 405
    guest = as_(world.guest())
    assertContains(guest.get(PAGE), "A guest’s browser tells nothing.")
    assertNotContains(guest.get(PAGE), "Tell me in this browser")
    assert guest.post(ADD, browser.subscription).status_code == 403
    assert not PushDevice.objects.exists()


@pytest.mark.django_db
def test_no_page_speaks_of_push_where_it_is_off(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get(PAGE).status_code == 404
    assert client.post(ADD).status_code == 404
    assert client.post(f"{PAGE}1/remove/").status_code == 404
    assert client.get("/sw.js").status_code == 404
    assertNotContains(client.get("/preferences/"), PAGE)


@pytest.mark.django_db
def test_the_preferences_lead_to_the_list(service: PushService, alice: User) -> None:
    assertContains(as_(alice).get("/preferences/"), f'href="{PAGE}"')


@pytest.mark.django_db
def test_the_service_worker_is_asked_for_anew(service: PushService, client: Client) -> None:
    answer = client.get("/sw.js")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert answer.headers["Cache-Control"] == "no-cache"
    assert "worker-src 'self'" in answer.headers["Content-Security-Policy"]
    script = answer.content.decode()
    assert "fetch" not in script and "http" not in script and "importScripts" not in script
    assert client.post("/sw.js").status_code == 405


CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        (f"Mozilla/5.0 (Windows NT 10.0) {CHROME} Safari/537.36", "Chrome on Windows"),
        (f"Mozilla/5.0 (Windows NT 10.0) {CHROME} Safari/537.36 Edg/140.0", "Edge on Windows"),
        (f"Mozilla/5.0 (Linux; Android 16) {CHROME} Mobile Safari/537.36", "Chrome on Android"),
        (f"Mozilla/5.0 (X11; CrOS x86_64) {CHROME} Safari/537.36", "Chrome on ChromeOS"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 15_0) Version/26 Safari/605.1", "Safari on Mac"),
        ("Mozilla/5.0 (iPhone; like Mac OS X) Version/26 Safari/605.1", "Safari on iPhone"),
        ("Mozilla/5.0 (iPhone; like Mac OS X) FxiOS/140 Safari/605.1", "Firefox on iPhone"),
        ("curl/8", "A browser"),
        ("", "A browser"),
    ],
)
def test_a_browser_has_a_name_that_its_player_knows(said: str, name: str) -> None:
    assert push.device_name(said) == name


# --- the keys -------------------------------------------------------------------------------------


def manage(data: Path, *arguments: str, code: str = "", **variables: str) -> tuple[int, str, str]:
    command = [sys.executable, *(("-c", code) if code else ("manage.py",)), *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=clean_environment(data, **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.processes
def test_the_command_prints_the_line_to_set(tmp_path: Path) -> None:
    status, said, _ = manage(tmp_path, "make_push_keys")
    name, _, key = said.strip().removeprefix("export ").partition("=")
    assert (status, name) == (0, "VAPID_PRIVATE_KEY")
    assert len(raw(vapid.public_key(key))) == 65
    check = "from django.conf import settings; print(settings.VAPID_PUBLIC_KEY)"
    code = f"import django; {check}"
    shown = manage(
        tmp_path, code=code, DJANGO_SETTINGS_MODULE="onitama_site.settings", VAPID_PRIVATE_KEY=key
    )
    assert shown[:2] == (0, vapid.public_key(key) + "\n")


WITHOUT = """
import os, sys
from django.core.management import execute_from_command_line
sys.modules["pywebpush"] = None
os.environ["DJANGO_SETTINGS_MODULE"] = "onitama_site.settings"
execute_from_command_line(["manage.py", *sys.argv[1:]])
"""


@pytest.mark.processes
def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    status, said, trouble = manage(tmp_path, "make_push_keys", code=WITHOUT)
    assert status == 1 and not said
    assert "pip install --require-hashes -r requirements-push.txt" in trouble
    assert "Traceback" not in trouble
    status, _, trouble = manage(tmp_path, "check", code=WITHOUT, VAPID_PRIVATE_KEY=KEY)
    assert status != 0 and "requirements-push.txt" in trouble.splitlines()[-1]
    # Without keys nothing needs the package.
    assert manage(tmp_path, "check", code=WITHOUT)[0] == 0


def test_the_lock_of_the_extra_has_hashes_and_no_host() -> None:
    lock = (ROOT / "requirements-push.txt").read_text()
    assert "pywebpush==" in lock and "--hash=sha256:" in lock
    assert "--index-url" not in lock and "https://" not in lock
