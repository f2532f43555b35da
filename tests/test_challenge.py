"""A challenge to a named player: sent, looked at, accepted, declined, withdrawn, expired."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from accounts.models import User
from games import challenges, sweep
from games.clock import PRESETS
from games.models import Challenge, Game, Notice
from games.views import challenges as views
from tests import world

pytestmark = pytest.mark.django_db

NEW = "/games/new/"
DEEDS = ("accept", "decline", "withdraw")
TERMS = {"opponent": "bob", "control": "3+1", "colour": "b", "deck": "base", "private": ""}


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def row(alice: User, bob: User, now: datetime) -> Challenge:
    """Alice challenges Bob, and would play Blue."""
    return made(alice, bob, now)


def made(by: User, to: User, now: datetime) -> Challenge:
    terms = {"control": PRESETS["3+1"], "colour": "b", "deck": "base", "private": False}
    return challenges.challenge(by, to, **terms, now=now)  # type: ignore[arg-type]


def logged_in(player: User) -> Client:
    client = Client()
    client.force_login(player)
    return client


def address(row: Challenge, deed: str = "") -> str:
    return f"/challenges/{row.pk}/" + (f"{deed}/" if deed else "")


def fresh(row: Challenge) -> Challenge:
    return Challenge.objects.select_related("game").get(pk=row.pk)


# --- sending --------------------------------------------------------------------------------


def test_it_is_sent(alice: User, bob: User) -> None:
    client = logged_in(alice)
    fields = {"opponent": "BOB", "control": "7", "colour": "r", "deck": "all34"}
    response = client.post(NEW, {**fields, "private": "private"})
    row = Challenge.objects.get()
    assertRedirects(response, address(row), status_code=303)
    assert (row.challenger, row.challenged, row.control) == (alice, bob, PRESETS["7"])
    assert (row.colour, row.deck, row.private) == ("r", "all34", True)
    assert Notice.objects.get().player == bob


def test_it_is_three_days_and_public_unless_told_otherwise(alice: User, bob: User) -> None:
    logged_in(alice).post(NEW, {"opponent": " bob "})
    row = Challenge.objects.get()
    assert (row.control, row.colour, row.deck) == (PRESETS["3+1"], "", "base")
    assert row.private is False


def test_the_form_can_come_with_a_name(alice: User) -> None:
    response = logged_in(alice).get(f"{NEW}?opponent=bob")
    assertContains(response, 'value="bob"')
    assertContains(response, "primary", count=1)
    text = response.content.decode()
    assert text.index("primary") > text.index("Challenge a player")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"opponent": "nobody"}, "There is no player called nobody."),
        ({"opponent": ""}, "This field is required."),
        ({"opponent": "x" * 5000}, "at most 20 characters"),
        ({"opponent": "<script>"}, "There is no player called &lt;script&gt;."),
        ({"opponent": "White-Belt"}, "White belt is a level of the computer: choose it"),
        ({"opponent": "Two-Ply"}, "two-ply is an old level of the computer"),
        ({"opponent": "guest-0a1b2c3d"}, "guest-0a1b2c3d cannot be challenged."),
        ({"opponent": "gone"}, "gone cannot be challenged."),
        ({"opponent": "alice"}, "You cannot challenge yourself."),
        ({"control": "2"}, "is not one of the available choices"),
        ({"colour": "green"}, "is not one of the available choices"),
        ({"deck": "ways"}, "is not one of the available choices"),
        ({"private": "rather"}, "is not one of the available choices"),
    ],
)
def test_it_says_at_the_field_what_is_wrong(
    alice: User, bob: User, fields: dict[str, str], said: str
) -> None:
    world.guest()
    world.person("gone")
    User.objects.filter(username="gone").update(is_active=False)
    response = logged_in(alice).post(NEW, {**TERMS, **fields})
    assertContains(response, said, status_code=422)
    [name] = fields
    assertContains(response, f'id="challenge_{name}_error"', status_code=422)
    assert not Challenge.objects.exists()


def test_twice_is_once(alice: User, bob: User) -> None:
    client = logged_in(alice)
    client.post(NEW, TERMS)
    response = client.post(NEW, TERMS)
    said = "Your last challenge to bob still waits for an answer."
    assertContains(response, said, status_code=422)
    assert Challenge.objects.count() == 1


def test_it_can_be_sent_again_once_it_has_expired(alice: User, bob: User, now: datetime) -> None:
    made(alice, bob, now - challenges.OPEN_FOR)
    assert logged_in(alice).post(NEW, TERMS).status_code == 303


def test_nobody_is_flooded(alice: User, bob: User, now: datetime) -> None:
    client = logged_in(alice)
    for _ in range(challenges.TO_ONE_A_DAY):
        assert client.post(NEW, TERMS).status_code == 303
        Challenge.objects.update(status=Challenge.Status.WITHDRAWN)
    said = "You have challenged bob often enough for today."
    assertContains(client.post(NEW, TERMS), said, status_code=422)
    Challenge.objects.update(created=now - timedelta(days=1))
    assert client.post(NEW, TERMS).status_code == 303


def test_a_visitor_is_asked_to_log_in(client: Client, bob: User) -> None:
    assertRedirects(
        client.post(NEW, TERMS), f"/accounts/login/?next={NEW}", fetch_redirect_response=False
    )
    assert not Challenge.objects.exists()


def test_a_guest_is_asked_to_sign_up(bob: User) -> None:
    client = logged_in(world.guest())
    assertNotContains(client.get(NEW), "Send the challenge")
    response = client.post(NEW, TERMS)
    assertContains(response, "Sign up to play against people", status_code=422)
    assert not Challenge.objects.exists()


# --- looking --------------------------------------------------------------------------------


def test_the_challenged_sees_what_it_is_about(row: Challenge, bob: User) -> None:
    response = logged_in(bob).get(address(row))
    assertContains(response, "alice challenges you")
    assertContains(response, "3 days + 1 day a move")
    assertContains(response, "up to 5 days in all")
    assertContains(response, 'class="mark red"')
    assertContains(response, "16 base cards")
    assertContains(response, "public: anybody may look on")
    assertContains(response, "Accept and deal the cards")
    assertContains(response, "this is too slow for me")
    assertNotContains(response, "Withdraw")


def test_the_challenger_sees_that_no_answer_is_there_yet(row: Challenge, alice: User) -> None:
    response = logged_in(alice).get(address(row))
    assertContains(response, "You challenge bob")
    assertContains(response, "No answer yet.")
    assertContains(response, 'class="mark blue"')
    assertContains(response, "Withdraw")
    assertNotContains(response, "Accept")


@pytest.mark.parametrize("deed", ["", *DEEDS])
def test_for_anybody_else_there_is_none(row: Challenge, deed: str) -> None:
    for stranger in (world.person("carol"), world.guest(), world.level()):
        client = logged_in(stranger)
        ask = client.post if deed else client.get
        assert ask(address(row, deed)).status_code == 404
        assert client.get("/challenges/0/").status_code == 404
    assert fresh(row).status == Challenge.Status.OPEN


@pytest.mark.parametrize("pk", ["9" * 19, "9" * 25, "9" * 5000, "-1", "1e3"])
def test_no_number_is_too_large(alice: User, pk: str) -> None:
    client = logged_in(alice)
    assert client.get(f"/challenges/{pk}/").status_code == 404
    for deed in DEEDS:
        assert client.post(f"/challenges/{pk}/{deed}/").status_code == 404


@pytest.mark.parametrize("deed", ["", *DEEDS])
def test_whoever_is_not_logged_in_comes_back_to_it(
    client: Client, row: Challenge, deed: str
) -> None:
    ask = client.post if deed else client.get
    assertRedirects(
        ask(address(row, deed)),
        f"/accounts/login/?next={address(row)}",
        fetch_redirect_response=False,
    )
    assert fresh(row).status == Challenge.Status.OPEN


def test_looking_marks_the_notice_seen(row: Challenge, alice: User, bob: User) -> None:
    logged_in(alice).get(address(row))
    logged_in(bob).head(address(row))
    logged_in(bob).get(address(row), headers={"Sec-Purpose": "prefetch"})
    logged_in(bob).get(address(row), headers={"HX-Request": "true"})
    assert Notice.objects.get().seen is None
    logged_in(bob).get(address(row))
    assert Notice.objects.get().seen is not None


def test_an_answer_that_came_since_it_was_read_is_not_seen(
    row: Challenge, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch, now: datetime
) -> None:
    def read(player: User, pk: int) -> Challenge:
        found = between(player, pk)
        challenges.accept(pk, bob, now=now)
        return found

    between = views._between
    monkeypatch.setattr(views, "_between", read)
    logged_in(alice).get(address(row))
    monkeypatch.undo()
    told = Notice.objects.get(player=alice, challenge=row)
    assert told.key.endswith(":accepted") and told.seen is None
    logged_in(alice).get(address(row))
    told.refresh_from_db()
    assert told.seen


def test_nobody_begins_a_game_with_a_closed_account(row: Challenge, alice: User, bob: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    response = logged_in(bob).post(address(row, "accept"), follow=True)
    assertContains(response, "The account of alice is closed")
    assert not Game.objects.exists() and fresh(row).is_open(timezone.now())
    logged_in(bob).post(address(row, "decline"))
    assert fresh(row).status == Challenge.Status.DECLINED


# --- accepting ------------------------------------------------------------------------------


def test_accepting_begins_the_game(row: Challenge, alice: User, bob: User) -> None:
    response = logged_in(bob).post(address(row, "accept"))
    game = Game.objects.get()
    assertRedirects(response, f"/games/{game.pk}/", status_code=303, fetch_redirect_response=False)
    assert (game.seat("b").player, game.seat("r").player) == (alice, bob)
    assert game.control == row.control
    assert fresh(row).status == Challenge.Status.ACCEPTED
    told = Notice.objects.get(player=alice, kind="challenge")
    assert told.key == f"challenge:c{row.pk}:accepted"


def test_accepting_twice_leads_to_the_same_game(row: Challenge, bob: User) -> None:
    client = logged_in(bob)
    first, second = client.post(address(row, "accept")), client.post(address(row, "accept"))
    assert first["Location"] == second["Location"]
    assert Game.objects.count() == 1


def test_an_accepted_challenge_leads_to_its_game(
    row: Challenge, alice: User, bob: User, now: datetime
) -> None:
    game = challenges.accept(row.pk, bob, now=now)
    for player in (alice, bob):
        response = logged_in(player).get(address(row))
        assertContains(response, "The challenge was accepted.")
        assertContains(response, f'href="/games/{game.pk}/"')
        assertNotContains(response, "<select")


# --- declining ------------------------------------------------------------------------------


def test_declining_gives_the_reason(row: Challenge, alice: User, bob: User) -> None:
    response = logged_in(bob).post(address(row, "decline"), {"reason": "slow"})
    assertRedirects(response, "/games/", status_code=303)
    assert (fresh(row).status, fresh(row).reason) == (Challenge.Status.DECLINED, "slow")
    assert Notice.objects.filter(player=alice, key=f"challenge:c{row.pk}:declined").exists()
    response = logged_in(alice).get(address(row))
    assertContains(response, "It was declined. The reason given: this is too slow for me.")
    assertContains(response, "?opponent=bob")
    assertContains(logged_in(bob).get(address(row)), "You have declined it.")


def test_no_reason_need_be_given(row: Challenge, bob: User) -> None:
    logged_in(bob).post(address(row, "decline"))
    assert (fresh(row).status, fresh(row).reason) == (Challenge.Status.DECLINED, "")


@pytest.mark.parametrize("reason", ["because", "x" * 5000])
def test_a_reason_is_one_of_the_list(row: Challenge, bob: User, reason: str) -> None:
    response = logged_in(bob).post(address(row, "decline"), {"reason": reason}, follow=True)
    assertContains(response, "Choose one of the reasons in the list.")
    assert fresh(row).status == Challenge.Status.OPEN


# --- withdrawing ----------------------------------------------------------------------------


def test_withdrawing_tells_nobody(row: Challenge, alice: User, bob: User) -> None:
    response = logged_in(alice).post(address(row, "withdraw"))
    assertRedirects(response, "/games/", status_code=303)
    assert fresh(row).status == Challenge.Status.WITHDRAWN
    assert Notice.objects.get().withdrawn is not None
    assertContains(logged_in(alice).get(address(row)), "You have withdrawn it.")
    assertContains(logged_in(bob).get(address(row)), "It was withdrawn.")


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize("deed", DEEDS)
def test_a_deed_rejects_get(row: Challenge, alice: User, bob: User, deed: str) -> None:
    for player in (alice, bob):
        assert logged_in(player).get(address(row, deed)).status_code == 405
    assert fresh(row).status == Challenge.Status.OPEN


@pytest.mark.parametrize(
    ("deed", "by"), [("accept", "alice"), ("decline", "alice"), ("withdraw", "bob")]
)
def test_a_deed_belongs_to_one_of_the_two(
    row: Challenge, alice: User, bob: User, deed: str, by: str
) -> None:
    player = {"alice": alice, "bob": bob}[by]
    response = logged_in(player).post(address(row, deed), follow=True)
    assertContains(response, "This challenge is not yours to answer.")
    assert fresh(row).status == Challenge.Status.OPEN
    assert not Game.objects.exists()


@pytest.mark.parametrize("first", DEEDS)
@pytest.mark.parametrize("second", DEEDS)
def test_what_is_closed_stays_as_it_is(
    row: Challenge, alice: User, bob: User, first: str, second: str
) -> None:
    who = {"accept": bob, "decline": bob, "withdraw": alice}
    logged_in(who[first]).post(address(row, first))
    status, games = fresh(row).status, Game.objects.count()
    response = logged_in(who[second]).post(address(row, second), follow=True)
    if (first, second) != ("accept", "accept"):
        assertContains(response, "This challenge is no longer open.")
    assert (fresh(row).status, Game.objects.count()) == (status, games)


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("swept", [False, True])
def test_an_expired_challenge_cannot_be_answered(
    alice: User, bob: User, now: datetime, deed: str, swept: bool
) -> None:
    row = made(alice, bob, now - challenges.OPEN_FOR)
    if swept:
        sweep.clean_up(now)
    player = alice if deed == "withdraw" else bob
    response = logged_in(player).post(address(row, deed), follow=True)
    assertContains(response, "This challenge is no longer open.")
    assertContains(response, "Nobody answered in time: it has expired.")
    assert not Game.objects.exists()
