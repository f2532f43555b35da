"""Each deed logged out, as a stranger, out of turn, twice, after the end, as GET."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import get_resolver, reverse

from accounts.models import User
from games import challenges, notices, play
from games.clock import PRESETS
from games.models import Challenge, Game, Ply
from tests.world import BLUE_BY_STREAM, finished, fresh, guest, person

pytestmark = pytest.mark.django_db

MOVE = {"ply": "1", "card": "crab", "from": "a1", "to": "a2"}
DEEDS: dict[str, dict[str, str]] = {
    "move": MOVE,
    "resign": {},
    "abort": {},
    "offer_draw": {"ply": "1"},
    "accept_draw": {"ply": "1"},
    "decline_draw": {"ply": "1"},
}
ANSWERS = ("accept_challenge", "decline_challenge", "withdraw_challenge")


def as_(player: User | None) -> Client:
    client = Client()
    if player is not None:
        client.force_login(player)
    return client


def post(client: Client, deed: str, game: Game, *, htmx: bool = False) -> int:
    headers = {"HX-Request": "true"} if htmx else {}
    return client.post(reverse(deed, args=[game.pk]), DEEDS[deed], headers=headers).status_code


def state(game: Game) -> tuple[object, ...]:
    row = fresh(game)
    return row.version, row.status, row.position, row.draw_offer, Ply.objects.count()


def test_every_address_of_a_deed_is_tried_here() -> None:
    """A deed that is added without its access tests fails this one."""
    names = {str(name) for name in get_resolver().reverse_dict if isinstance(name, str)}
    about_games = {n for n in names if _takes_pk(n)} - {"game", "board", "replay", "record"}
    assert about_games == {*DEEDS, "challenge", *ANSWERS}


def _takes_pk(name: str) -> bool:
    entries = get_resolver().reverse_dict.getlist(name)
    return any("pk" in params for possibilities, *_ in entries for _path, params in possibilities)


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("htmx", [False, True], ids=["page", "htmx"])
@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
def test_logged_out_and_strangers_do_nothing(
    deed: str, htmx: bool, private: bool, game: Game
) -> None:
    Game.objects.update(private=private)
    before = state(game)
    away = as_(None).post(
        reverse(deed, args=[game.pk]), DEEDS[deed], headers={"HX-Request": "true"} if htmx else {}
    )
    assert away.status_code == (200 if htmx else 302)
    login = away.headers["HX-Redirect"] if htmx else away.headers["Location"]
    assert login.startswith(reverse("account_login"))
    for stranger in (person("charlie"), guest()):
        assert post(as_(stranger), deed, game, htmx=htmx) == (404 if private else 403)
    assert state(game) == before


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "patch", "options"])
def test_a_deed_is_a_post(deed: str, method: str, game: Game, alice: User) -> None:
    before = state(game)
    answer = getattr(as_(alice), method)(reverse(deed, args=[game.pk]))
    assert answer.status_code == 405
    assert state(game) == before


@pytest.mark.parametrize("deed", DEEDS)
def test_a_deed_needs_the_token_of_its_form(deed: str, game: Game, alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    before = state(game)
    assert post(client, deed, game) == 403
    assert state(game) == before


def test_who_waits_does_not_move(game: Game, bob: User) -> None:
    before = state(game)
    assert post(as_(bob), "move", game) == 409
    assert state(game) == before


def test_nothing_is_done_twice(game: Game, alice: User, bob: User) -> None:
    assert post(as_(alice), "move", game) == 303
    moved = state(game)
    assert post(as_(alice), "move", game) == 409
    assert state(game) == moved
    for deed, player in (("offer_draw", bob), ("resign", bob)):
        DEEDS_2 = {**DEEDS[deed], "ply": "2"}
        url = reverse(deed, args=[game.pk])
        assert as_(player).post(url, DEEDS_2).status_code == 303
        done = state(game)
        assert as_(player).post(url, DEEDS_2).status_code == 409
        assert state(game) == done


@pytest.mark.parametrize("deed", DEEDS)
def test_after_the_end_nothing_is_done(deed: str, alice: User, bob: User) -> None:
    game = finished(alice, bob, BLUE_BY_STREAM)
    before = state(game)
    for player in (alice, bob):
        assert post(as_(player), deed, game) == 409
    assert state(game) == before


@pytest.mark.parametrize("page", ["game", "board", "record"])
def test_a_private_game_is_there_for_its_players_alone(page: str, game: Game, alice: User) -> None:
    url = reverse(page, args=[game.pk])
    for reader in (None, person("charlie"), guest()):
        assert as_(reader).get(url).status_code == 200
    Game.objects.update(private=True)
    for reader in (None, User.objects.get(username="charlie")):
        assert as_(reader).get(url).status_code == 404
    assert as_(alice).get(url).status_code == 200


def test_a_stranger_is_shown_nothing_private(game: Game, alice: User, bob: User) -> None:
    play.offer_draw(game.pk, alice, 1, now=game.created)
    query = "?ply=1&card=crab&from=a1&to=a2&ask=resign"
    for reader in (None, person("charlie")):
        for page in ("game", "board"):
            answer = as_(reader).get(reverse(page, args=[game.pk]) + query)
            html = answer.content.decode()
            # No address, no offer, no form, and the choice in the query is not theirs to make.
            for secret in ("@example.org", "draw", "<form", "chosen", "ghost"):
                assert secret not in _main(html), secret
            assert "notice" not in _main(html).lower()


def _main(html: str) -> str:
    """The game's part of the page: the bar on top has a form of the reader's own."""
    return html[html.index('id="game"') :] if 'id="game"' in html else html


def test_looking_marks_the_readers_own_notices_alone(game: Game, alice: User, bob: User) -> None:
    as_(bob).get(reverse("game", args=[game.pk]))
    turn = alice.notices.get(key=f"turn:g{game.pk}:p1")
    assert turn.seen is None
    as_(alice).get(reverse("board", args=[game.pk]))
    as_(alice).head(reverse("game", args=[game.pk]))
    as_(alice).get(reverse("game", args=[game.pk]), headers={"Sec-Purpose": "prefetch"})
    turn.refresh_from_db()
    assert turn.seen is None
    as_(alice).get(reverse("game", args=[game.pk]))
    turn.refresh_from_db()
    assert turn.seen is not None


@pytest.fixture
def challenge(alice: User, bob: User) -> Challenge:
    return challenges.challenge(
        alice,
        bob,
        control=PRESETS["3+1"],
        colour="",
        deck="base",
        private=False,
        now=alice.date_joined,
    )


@pytest.mark.parametrize("deed", ANSWERS)
def test_a_challenge_is_the_business_of_two(deed: str, challenge: Challenge) -> None:
    url = reverse(deed, args=[challenge.pk])
    page = reverse("challenge", args=[challenge.pk])
    for client in (as_(person("charlie")), as_(guest())):
        assert client.get(page).status_code == 404
        assert client.post(url).status_code == 404
    assert as_(None).get(page).status_code == 302
    assert as_(None).post(url).status_code == 302
    for method in ("get", "head", "put"):
        assert getattr(as_(challenge.challenged), method)(url).status_code == 405
    challenge.refresh_from_db()
    assert challenge.status == "open"


@pytest.mark.parametrize(
    ("deed", "wrong"),
    [("accept_challenge", "challenger"), ("decline_challenge", "challenger")]
    + [("withdraw_challenge", "challenged")],
)
def test_each_of_the_two_has_their_own_answer(deed: str, wrong: str, challenge: Challenge) -> None:
    client = as_(getattr(challenge, wrong))
    answer = client.post(reverse(deed, args=[challenge.pk]), follow=True)
    assert "This challenge is not yours to answer." in answer.content.decode()
    challenge.refresh_from_db()
    assert challenge.status == "open"
    assert not Game.objects.exists()


def test_notices_of_others_cannot_be_marked_by_a_stranger(game: Game) -> None:
    stranger = person("charlie")
    notices.see(stranger, game, now=game.created)
    assert not game.notices.filter(seen__isnull=False).exists()
