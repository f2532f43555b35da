"""Mails about games: which go out, which no longer do, and what they carry."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest
from django.test import Client, override_settings
from django.utils import timezone

from accounts.middleware import Request
from accounts.models import Mail, User
from games import challenges, deliveries, notices, play
from games.clock import PRESETS
from games.models import Delivery, Game, Kind, Notice, Subscription
from games.views.answers import visible_game
from tests.world import BLUE_BY_STONE, fresh, person, played, running

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("mailbox")]


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    """Blue, alice, has moved; it is bob's turn."""
    return running(alice, bob, BLUE_BY_STONE[:1])


def deliver() -> list[EmailMessage]:
    """Everything due is tried; the mails of games that went out, oldest first."""
    deliveries.deliver_due(seconds=10)
    rows = Mail.objects.filter(key__startswith="notice:", sent__isnull=False).order_by("pk")
    parsed = [message_from_bytes(bytes(row.message), policy=policy.default) for row in rows]
    return [message for message in parsed if isinstance(message, EmailMessage)]


def to(messages: list[EmailMessage], player: User) -> list[EmailMessage]:
    return [message for message in messages if message["To"] == player.email]


def loaded_before(monkeypatch: pytest.MonkeyPatch, deed: Callable[[], object]) -> None:
    """The next page of a game is made from what was read before the deed."""

    def read(request: Request, pk: int) -> Game:
        game = visible_game(request, pk)
        deed()
        return game

    monkeypatch.setattr("games.views.game.visible_game", read)


def text(message: EmailMessage, kind: str = "plain") -> str:
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content())


def test_a_turn_is_mailed_complete(game: Game, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(time_zone="Europe/Zagreb")
    [message] = to(deliver(), bob)
    body = text(message)
    assert "alice has moved (Crab: student b1–b2). It is your turn." in body
    # Red's own side at the bottom, so the files run from e to a.
    lines = body.splitlines()
    start = lines.index("1  b b B . b")
    assert lines[start : start + 6] == [
        *("1  b b B . b", "2  . . . b .", "3  . . . . .", "4  . . . . .", "5  r r R r r"),
        "   e d c b a",
    ]
    assert "Your hand: Mantis, Crane" in body
    assert "alice’s hand: Tiger, Ox" in body
    assert "Side card: Crab" in body
    deadline = fresh(game).deadline
    assert deadline is not None
    assert f"{deadline:%Y-%m-%d %H:%M} UTC" in body
    assert "(Europe/Zagreb, UTC+0" in body
    assert f"http://127.0.0.1:8000/games/{game.pk}/" in body
    html = text(message, "html")
    assert "It is your turn." in html
    assert "<img" not in html
    assert "http://127.0.0.1:8000/unsubscribe/" in html


def test_its_headers_thread_and_can_be_unsubscribed(game: Game, bob: User) -> None:
    first = to(deliver(), bob)[0]
    played(game, BLUE_BY_STONE[1:])
    second = to(deliver(), bob)[1]
    root = f"<game-{game.pk}@127.0.0.1>"
    for message in (first, second):
        assert message["References"] == message["In-Reply-To"] == root
        assert message["Auto-Submitted"] == "auto-generated"
        assert message["List-Id"] == "Onitama games <games.127.0.0.1>"
        assert message["List-Unsubscribe-Post"] is None
    assert first["Subject"] == second["Subject"] == f"Onitama: your game with alice ({game.pk})"
    assert first["Message-ID"] != second["Message-ID"]
    token = Subscription.objects.get(player=bob, kind=Kind.TURN).token
    assert first["List-Unsubscribe"].strip() == f"<http://127.0.0.1:8000/unsubscribe/{token}/>"


def test_one_click_is_promised_on_https_alone(game: Game, bob: User) -> None:
    with override_settings(HTTPS=True, SITE_URL="https://onitama.example"):
        [message] = to(deliver(), bob)
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert (
        str(message["List-Unsubscribe"]).strip().startswith("<https://onitama.example/unsubscribe/")
    )
    assert f"https://onitama.example/games/{game.pk}/" in text(message)


def test_a_mail_for_a_turn_already_played_is_not_sent(game: Game, bob: User) -> None:
    played(game, BLUE_BY_STONE[1:2])
    assert to(deliver(), bob) == []
    turn = Delivery.objects.get(notice__key=f"turn:g{game.pk}:p2")
    assert (turn.sent, turn.next_try, turn.error) == (None, None, "seen")


def test_a_mail_whose_turn_passed_while_it_waited_for_its_server_goes_too(
    game: Game, bob: User
) -> None:
    """The row was written by a first try that failed: it is removed with its notice."""
    with override_settings(MAILBOX=False):
        assert deliver() == []
    delivery = Delivery.objects.get(notice__key=f"turn:g{game.pk}:p2")
    assert (delivery.tries, delivery.sent) == (1, None)
    assert Mail.objects.filter(key=f"notice:{delivery.notice_id}").exists()
    played(game, BLUE_BY_STONE[1:2])
    Delivery.objects.update(next_try=timezone.now())
    assert to(deliver(), bob) == []
    assert not Mail.objects.filter(key=f"notice:{delivery.notice_id}").exists()


@pytest.mark.parametrize("why", ["seen", "withdrawn", "unwanted", "unconfirmed"])
def test_it_looks_again_before_it_sends(game: Game, bob: User, why: str) -> None:
    now = timezone.now()
    if why == "seen":
        notices.see(bob, game, now=now)
    elif why == "withdrawn":
        Notice.objects.update(withdrawn=now)
    elif why == "unwanted":
        Subscription.objects.create(player=bob, kind=Kind.TURN, mail=False)
    else:
        bob.emailaddress_set.update(verified=False)
    assert to(deliver(), bob) == []
    assert not Delivery.objects.filter(notice__player=bob, next_try__isnull=False).exists()


def test_nothing_goes_out_twice(game: Game, bob: User) -> None:
    assert len(to(deliver(), bob)) == 1
    Delivery.objects.update(next_try=timezone.now() - timedelta(minutes=1))
    assert len(to(deliver(), bob)) == 1


def test_a_notice_waits_its_time(game: Game, alice: User, bob: User) -> None:
    Delivery.objects.update(next_try=timezone.now() + timedelta(minutes=2))
    assert deliver() == []


def test_the_end_is_told_to_the_one_who_did_not_bring_it(
    game: Game, alice: User, bob: User
) -> None:
    played(game, BLUE_BY_STONE[1:])
    messages = deliver()
    assert to(messages, alice) == []
    [message] = to(messages, bob)
    assert "You have lost your game against alice." in text(message)
    assert "Way of the Stone" in " ".join(text(message).split())


def test_a_draw_offer_is_mailed(game: Game, alice: User, bob: User) -> None:
    notices.see(bob, game, now=timezone.now())
    play.offer_draw(game.pk, alice, 2, now=timezone.now())
    [message] = to(deliver(), bob)
    assert "alice offers you a draw." in text(message)


def test_a_withdrawn_draw_offer_is_not(game: Game, alice: User, bob: User) -> None:
    now = timezone.now()
    notices.see(bob, game, now=now)
    play.offer_draw(game.pk, alice, 2, now=now)
    play.decline_draw(game.pk, bob, 2, now=now)
    assert to(deliver(), bob) == []


def challenge(alice: User, bob: User) -> int:
    row = challenges.challenge(
        alice,
        bob,
        control=PRESETS["3+1"],
        colour="",
        deck="base",
        private=False,
        now=timezone.now(),
    )
    return row.pk


@pytest.mark.parametrize("answer", ["received", "accepted", "declined"])
def test_a_challenge_and_its_answer_are_mailed(alice: User, bob: User, answer: str) -> None:
    pk = challenge(alice, bob)
    if answer == "received":
        [message] = to(deliver(), bob)
        assert "alice challenges you to a game." in text(message)
        terms = "3 days + 1 day a move · sides are drawn · 16 base cards · public"
        assert terms in " ".join(text(message).split())
        assert f"/challenges/{pk}/" in text(message)
        return
    if answer == "accepted":
        challenges.accept(pk, bob, now=timezone.now())
        expected = "bob has accepted your challenge."
    else:
        challenges.decline(pk, bob, "busy", now=timezone.now())
        expected = "I have enough games for now"
    messages = deliver()
    assert expected in " ".join(" ".join(text(message) for message in to(messages, alice)).split())
    # The challenge was answered before its mail went out.
    assert not any("challenges you" in text(message) for message in to(messages, bob))


def test_a_withdrawn_challenge_is_not_mailed(alice: User, bob: User) -> None:
    challenges.withdraw(challenge(alice, bob), alice, now=timezone.now())
    assert deliver() == []


def test_a_name_cannot_bend_a_header(alice: User) -> None:
    """Names are checked at sign-up; a row that got past it still makes one mail."""
    crooked = person("crooked")
    User.objects.filter(pk=crooked.pk).update(username="x\r\nBcc: y@z.org")
    crooked.refresh_from_db()
    running(crooked, alice, BLUE_BY_STONE[:1])
    assert deliver() == []
    assert Delivery.objects.filter(notice__player=alice, next_try__isnull=False).count() == 1


def test_a_page_read_just_before_the_move_has_not_shown_it(
    game: Game, alice: User, bob: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(alice)
    loaded_before(monkeypatch, lambda: played(game, BLUE_BY_STONE[1:2]))
    client.get(f"/games/{game.pk}/")
    notice = Notice.objects.get(player=alice, key=f"turn:g{game.pk}:p3")
    assert notice.seen is None
    monkeypatch.undo()
    client.get(f"/games/{game.pk}/")
    notice.refresh_from_db()
    assert notice.seen


def test_nor_the_end_of_the_game(
    game: Game, alice: User, bob: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(alice)
    loaded_before(monkeypatch, lambda: play.resign(game.pk, bob, now=timezone.now()))
    client.get(f"/games/{game.pk}/")
    assert Notice.objects.get(player=alice, key=f"over:g{game.pk}").seen is None


def test_who_may_not_log_in_is_mailed_nothing(game: Game, alice: User, bob: User) -> None:
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert to(deliver(), bob) == []
    notice = Notice.objects.get(player=bob)
    delivery = notice.deliveries.get()
    assert (delivery.next_try, delivery.error) == (None, "account closed")
    assert notice.withdrawn is None
