"""The record of a game as a file, which reads back to the same game."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.test import Client, override_settings

from accounts.models import User
from games import play
from games.models import Game
from games.onitama.record import Record
from tests import world

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 23, 30, tzinfo=UTC)


@pytest.fixture
def alice() -> User:
    return world.person("alice", away=False)


@pytest.fixture
def bob() -> User:
    return world.person("bob", away=False)


def download(client: Client, game: Game) -> str:
    answer = client.get(f"/games/{game.pk}/record/")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"] == f'attachment; filename="onitama-{game.pk}.txt"'
    return answer.content.decode()


@override_settings(SITE_URL="https://onitama.example")
def test_it_is_the_record_of_the_game(client: Client, alice: User, bob: User) -> None:
    # Midnight has passed where the reader is; the record counts days in UTC.
    alice.time_zone = "Asia/Tokyo"
    alice.save(update_fields=["time_zone"])
    client.force_login(alice)
    game = world.finished(alice, bob, world.BLUE_BY_STREAM, now=NOW)
    assert download(client, game) == (
        f'[Site "https://onitama.example/games/{game.pk}/"]\n'
        '[Date "2026.12.01"]\n'
        '[Blue "alice"]\n'
        '[Red "bob"]\n'
        '[Result "blue"]\n'
        '[Termination "stream"]\n'
        '[TimeControl "259200+86400/432000"]\n'
        '[Deck "base"]\n'
        '[Cards "tiger,crab,mantis,crane,ox"]\n'
        '[First "blue"]\n'
        "\n"
        "1. crab:c1c2 crane:a5a4 2. ox:c2c3 crab:c5c4 3. tiger:c3c5 blue\n"
    )


@pytest.mark.parametrize(
    "actions",
    [
        world.BLUE_BY_STONE,
        world.RED_BY_STONE,
        world.BLUE_BY_STREAM,
        world.RED_BY_STREAM,
        world.REPETITION,
        (),
        world.REPETITION[:7],
    ],
)
def test_it_reads_back_to_the_same_game(
    client: Client, alice: User, bob: User, actions: tuple[str, ...]
) -> None:
    game = world.running(alice, bob, actions)
    record = Record.read(download(client, game))
    assert record.positions()[-1] == game.current
    assert tuple(map(str, record.actions)) == tuple(actions)
    assert record.termination == (game.termination or None)
    assert record.result == {"b": "blue", "r": "red"}.get(
        game.winner, "draw" if game.is_over else "*"
    )


def test_it_carries_passes(client: Client, alice: User, bob: User) -> None:
    game = world.running(alice, bob, world.FORCED_PASS, deal=world.PASS_DEAL)
    text = download(client, game)
    assert '[Deck "all34"]' in text
    assert '[First "red"]' in text
    record = Record.read(text)
    assert str(record.actions[-1]) == "dog:pass"
    assert record.positions()[-1] == game.current


@pytest.mark.parametrize("deed", ["resign", "time", "agreement"])
def test_it_tells_an_end_that_is_not_on_the_board(
    client: Client, alice: User, bob: User, deed: str
) -> None:
    game = world.running(alice, bob, world.REPETITION[:4])
    if deed == "resign":
        play.resign(game.pk, alice, now=NOW)
    elif deed == "time":
        assert game.deadline is not None
        play.settle(game.pk, game.deadline)
    else:
        play.offer_draw(game.pk, alice, 5, now=game.created)
        play.accept_draw(game.pk, bob, 5, now=game.created)
    record = Record.read(download(client, game))
    assert (record.result, record.termination) == {
        "resign": ("red", "resignation"),
        "time": ("red", "time"),
        "agreement": ("draw", "agreement"),
    }[deed]


def test_an_aborted_game_has_no_result(client: Client, alice: User, bob: User) -> None:
    game = world.running(alice, bob, world.BLUE_BY_STONE[:1])
    play.abort(game.pk, bob, now=NOW)
    record = Record.read(download(client, game))
    assert (record.result, record.termination) == ("*", "aborted")


def test_a_game_without_a_clock_says_so(client: Client, alice: User) -> None:
    record = Record.read(download(client, world.against_level(alice, now=NOW)))
    assert record.time_control == "-"
    assert (record.blue, record.red) == ("alice", "random")
    assert record.date == date(2026, 12, 1)


def test_anybody_may_have_that_of_a_public_game(client: Client, alice: User, bob: User) -> None:
    download(client, world.running(alice, bob))


def test_that_of_a_private_game_is_for_its_players(client: Client, alice: User, bob: User) -> None:
    game = world.finished(alice, bob, private=True)
    assert client.get(f"/games/{game.pk}/record/").status_code == 404
    client.force_login(world.person("carol"))
    assert client.get(f"/games/{game.pk}/record/").status_code == 404
    client.force_login(bob)
    download(client, game)


def test_there_is_none_of_a_game_that_is_not(client: Client) -> None:
    assert client.get("/games/99999/record/").status_code == 404
    assert client.get(f"/games/{10**30}/record/").status_code == 404


def test_it_answers_no_post(client: Client, alice: User, bob: User) -> None:
    assert client.post(f"/games/{world.running(alice, bob).pk}/record/").status_code == 405
