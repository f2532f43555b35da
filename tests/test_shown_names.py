"""A level of the computer has one name wherever people read it; addresses carry its username."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy
from pytest_django.asserts import assertContains

from accounts import names
from accounts.models import User
from games import feeds, letters, push
from games.models import Feed, Game, Kind, Notice
from games.views.bell import headline
from tests import world

pytestmark = pytest.mark.django_db


def shown(client: Client, address: str) -> str:
    """What of the page people see or hear: its text, its title and its labels."""
    answer = client.get(address)
    assert answer.status_code == 200
    html = answer.content.decode()
    labels = re.findall(r'aria-label="([^"]*)"', html)
    return " ".join([*labels, re.sub(r"<[^>]*>", " ", html)])


@pytest.fixture
def games(alice: User) -> dict[str, Game]:
    white = world.level("white-belt")
    running = world.running(alice, white, control=None)
    over = world.finished(alice, white, control=None, now=timezone.now())
    return {"running": running, "over": over}


def test_pages_show_the_belt_by_its_name(
    client: Client, alice: User, games: dict[str, Game]
) -> None:
    client.force_login(alice)
    pages = (
        "/games/",
        "/archive/?opponent=white-belt",
        "/players/alice/",
        f"/games/{games['running'].pk}/",
        f"/games/{games['over'].pk}/",
        f"/games/{games['over'].pk}/ply/1/",
    )
    for page in pages:
        text = shown(client, page)
        assert "White belt" in text, page
        assert "white-belt" not in text, page


def test_the_archive_is_asked_by_either_name(
    client: Client, alice: User, games: dict[str, Game]
) -> None:
    client.force_login(alice)
    for name in ("white-belt", "White belt", "white Belt "):
        assertContains(client.get("/archive/", {"opponent": name}), "1 match")


def test_what_is_sent_shows_the_belt_by_its_name(alice: User, games: dict[str, Game]) -> None:
    now = timezone.now()
    notice = Notice.objects.create(
        player=alice, game=games["over"], kind=Kind.OVER, key="over", created=now, not_before=now
    )
    mail = letters.letter(notice, "alice@example.org", "token")
    assert "your game with White belt" in mail.subject
    assert "won your game against White belt" in mail.body.replace("\n", " ")
    assert "white-belt" not in mail.body + str(mail.alternatives)
    assert headline(notice) == "You won against White belt"
    assert "Your game with White belt" in push._payload(notice).decode()


def test_a_feed_shows_the_belt_by_its_name(alice: User, games: dict[str, Game]) -> None:
    feed = Feed(player=alice, form=Feed.Form.ATOM, created=timezone.now())
    text = feeds.document(feed).content.decode()
    assert "against White belt" in text
    assert "white-belt" not in text


def test_a_record_keeps_the_username(client: Client, games: dict[str, Game]) -> None:
    assertContains(client.get(f"/games/{games['over'].pk}/record/"), '"white-belt"')


def test_a_name_is_shown_in_the_readers_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(names.CALLED, "white-belt", gettext_lazy("Monday"))
    with translation.override("de"):
        assert names.shown("white-belt") == "Montag"
    assert names.shown("white-belt") == "Monday"
    assert names.shown("Ada") == "Ada"
    assert names.meant("Monday") == "white-belt"
