"""An address that refuses mails: after three in a row no more go there, until it is mended."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from allauth.account.models import EmailAddress
from django.core.mail import EmailMessage, send_mail
from django.test import Client, override_settings
from django.utils import timezone

from accounts import mail
from accounts.models import MOST_BOUNCES, Mail, User
from accounts.tasks import send_mails
from games import deliveries, notices
from games.models import Delivery, Game
from tests import mails, world
from tests.servers import Mood, PostOffice

pytestmark = pytest.mark.django_db


@pytest.fixture
def office(post_office: PostOffice) -> Iterator[PostOffice]:
    values = {
        "EMAIL_URL": post_office.url,
        "EMAIL_HOST": "127.0.0.1",
        "EMAIL_PORT": post_office.port,
        "EMAIL_HOST_USER": "",
        "EMAIL_HOST_PASSWORD": "",
        "EMAIL_USE_TLS": False,
        "EMAIL_USE_SSL": False,
        "EMAIL_TIMEOUT": 0.5,
        "MAILBOX": False,
    }
    with override_settings(**values):
        yield post_office


def turn(alice: User, bob: User) -> Delivery:
    """One more game in which it is bob's turn, and what came of its mail."""
    game = world.running(alice, bob, world.BLUE_BY_STONE[:1])
    return delivered(bob, game)


def delivered(player: User, game: Game) -> Delivery:
    deliveries.deliver_due(seconds=10)
    return Delivery.objects.get(notice__player=player, notice__game=game)


def bounces(player: User) -> int:
    player.refresh_from_db()
    return player.bounces


def refuse(office: PostOffice, alice: User, bob: User, times: int = MOST_BOUNCES) -> None:
    office.moods[bob.email] = Mood.REFUSE
    for _ in range(times):
        assert turn(alice, bob).failed is not None


def test_after_three_refusals_no_more_is_sent(office: PostOffice, alice: User, bob: User) -> None:
    refuse(office, alice, bob)
    assert bounces(bob) == MOST_BOUNCES
    assert mail.address(bob) == ""
    assert mail.refuses(bob)
    fourth = turn(alice, bob)
    assert (fourth.next_try, fourth.sent, fourth.failed) == (None, None, None)
    assert fourth.error == "address refuses mail"
    assert office.tried(bob.email) == MOST_BOUNCES
    assert not Mail.objects.filter(key=f"notice:{fourth.notice_id}").exists()
    # The bell tells what no mail does.
    assert notices.unread(bob).count() == MOST_BOUNCES + 1


def test_of_many_due_at_once_three_are_tried(office: PostOffice, alice: User, bob: User) -> None:
    office.moods[bob.email] = Mood.REFUSE
    for _ in range(MOST_BOUNCES + 2):
        world.running(alice, bob, world.BLUE_BY_STONE[:1])
    world.running(bob, alice, world.BLUE_BY_STONE[:1])
    deliveries.deliver_due(seconds=10)
    assert office.tried(bob.email) == bounces(bob) == MOST_BOUNCES
    assert office.tried(alice.email) == 1
    assert not Delivery.objects.filter(next_try__isnull=False).exists()
    assert not Mail.objects.exclude(message=b"").filter(recipient=bob.email).exists()


def test_an_accepted_mail_begins_the_count_anew(office: PostOffice, alice: User, bob: User) -> None:
    refuse(office, alice, bob, MOST_BOUNCES - 1)
    assert bounces(bob) == MOST_BOUNCES - 1
    office.moods.clear()
    assert turn(alice, bob).sent is not None
    assert bounces(bob) == 0
    refuse(office, alice, bob, 1)
    assert bounces(bob) == 1


@pytest.mark.parametrize("mood", [Mood.DEFER, Mood.DROP, Mood.STALL])
def test_other_trouble_is_no_refusal(
    office: PostOffice, alice: User, bob: User, mood: Mood
) -> None:
    office.moods[bob.email] = mood
    for _ in range(MOST_BOUNCES):
        assert turn(alice, bob).next_try is not None
    assert bounces(bob) == 0


def test_it_counts_for_the_holder_alone(office: PostOffice, alice: User, bob: User) -> None:
    """Somebody may have given another's address; it is nobody's until it is confirmed."""
    carol = world.person("carol", confirmed=False)
    EmailAddress.objects.filter(user=carol).update(email=bob.email)
    refuse(office, alice, bob, 1)
    assert (bounces(alice), bounces(bob), bounces(carol)) == (0, 1, 0)


def test_an_address_whose_domain_is_not_ascii_counts(office: PostOffice) -> None:
    ada = world.person("ada")
    EmailAddress.objects.filter(user=ada).update(email="ada@bücher.example")
    office.moods["ada@xn--bcher-kva.example"] = Mood.REFUSE
    send_mail("Hello", "", None, ["ada@bücher.example"])
    send_mails()
    assert bounces(ada) == 1


def test_account_mails_still_go_and_one_that_arrives_mends(
    office: PostOffice, client: Client, alice: User, bob: User
) -> None:
    refuse(office, alice, bob)
    office.moods.clear()
    client.post("/accounts/password/reset/", {"email": bob.email})
    send_mails()
    assert len(office.to(bob.email)) == 1
    assert bounces(bob) == 0
    assert turn(alice, bob).sent is not None


def test_a_test_message_goes_and_mends(office: PostOffice, alice: User, bob: User) -> None:
    refuse(office, alice, bob)
    bob.refresh_from_db()
    office.moods.clear()
    notices.send_test(bob, "mail", now=timezone.now())
    deliveries.deliver_due(seconds=10)
    assert len(office.to(bob.email)) == 1
    assert bounces(bob) == 0


def test_a_change_of_address_mends(
    office: PostOffice, client: Client, alice: User, bob: User
) -> None:
    refuse(office, alice, bob)
    client.force_login(bob)
    client.post("/accounts/email/", {"email": "new@example.org", "action_add": "1"})
    send_mails()
    # Asking for it mends nothing: somebody must have read the mail.
    assert bounces(bob) == MOST_BOUNCES
    [confirmation] = office.to("new@example.org")
    path = mails.path(mails.reparsed(confirmation), "confirm-email")
    assert client.post(path).status_code == 302
    assert bounces(bob) == 0
    assert mail.address(bob) == "new@example.org"
    assert turn(alice, bob).sent is not None


@pytest.mark.parametrize("mode", ["every", "back"])
def test_a_mail_that_waits_goes_to_the_new_address(
    office: PostOffice, alice: User, bob: User, mode: str
) -> None:
    User.objects.filter(pk=bob.pk).update(mail_mode=mode)
    office.close()
    delivery = turn(alice, bob)
    assert delivery.sent is None
    EmailAddress.objects.filter(user=bob).update(email="new@example.org")
    office.open()
    Delivery.objects.filter(pk=delivery.pk).update(next_try=timezone.now())
    deliveries.deliver_due(seconds=10)
    assert not office.to(bob.email)
    assert len(office.to("new@example.org")) == 1


def test_a_refusal_of_nobody_s_address_does_no_harm(office: PostOffice) -> None:
    office.mood = Mood.REFUSE
    for key, address in enumerate(("x@example.org", "x@localhost", "x@xn--0.example")):
        message = EmailMessage("Hello", "", to=[address])
        row = mail.write(message, key=str(key), next_try=timezone.now())
        send_mails()
        row.refresh_from_db()
        assert row.failed is not None, row.error
