"""What can be done to a game, and what each deed refuses and writes."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from accounts.models import User
from games import challenges, play
from games.models import Game, Level, Notice, Ply, Seat
from games.onitama.cards import deal
from games.onitama.position import Action, parse_move
from tests.world import REPETITION, fresh, person, running

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def game() -> Game:
    return running(person("alice"), person("bob"), now=NOW)


def mover(game: Game) -> User:
    return game.seat(game.turn).player


def waiting(game: Game) -> User:
    return game.seat(game.turn).opponent


def move(game: Game, action: Action | None = None, now: datetime = NOW) -> Game:
    chosen = action or game.current.legal_moves()[0]
    play.play_move(game.pk, mover(game), game.plies + 1, chosen, now=now)
    return fresh(game)


def test_a_move_is_written_with_all_that_stands_beside_it(game: Game) -> None:
    action = game.current.legal_moves()[0]
    after = game.current.play(action)
    moved = move(game, action, NOW + HOUR)
    assert moved.current == after
    assert (moved.turn, moved.plies, moved.version) == (after.turn, 1, game.version + 1)
    assert [ply.action for ply in moved.record.all()] == [str(action)]
    assert moved.turn_began == NOW + HOUR
    assert moved.deadline == NOW + HOUR + timedelta(days=3)
    assert moved.seat(game.turn).bank == timedelta(days=3, hours=23)


def test_only_the_player_to_move_moves(game: Game) -> None:
    action = game.current.legal_moves()[0]
    with pytest.raises(play.NotYourTurn):
        play.play_move(game.pk, waiting(game), 1, action, now=NOW)
    with pytest.raises(play.NotYourGame):
        play.play_move(game.pk, person("charlie"), 1, action, now=NOW)
    assert fresh(game).version == game.version


@pytest.mark.parametrize("ply", [-1, 0, 2, 3, 10**9])
def test_a_move_for_another_ply_is_stale(game: Game, ply: int) -> None:
    with pytest.raises(play.StaleGame):
        play.play_move(game.pk, mover(game), ply, game.current.legal_moves()[0], now=NOW)
    assert not Ply.objects.exists()


def test_an_old_page_cannot_move_in_the_new_position(game: Game) -> None:
    alice = mover(game)
    later = move(move(game))
    with pytest.raises(play.StaleGame):
        play.play_move(game.pk, alice, 1, later.current.legal_moves()[0], now=NOW)


@pytest.mark.parametrize(
    "text", ["crane:a1a2", "crab:c3c4", "crab:pass", "dragon:a1c2", "crab:a1c1"]
)
def test_an_illegal_move_changes_nothing(game: Game, text: str) -> None:
    with pytest.raises(play.IllegalAction):
        play.play_move(game.pk, mover(game), 1, parse_move(text), now=NOW)
    assert fresh(game).version == game.version
    assert not Ply.objects.exists()


def test_resigning_gives_the_other_the_game(game: Game) -> None:
    loser, winner = mover(game), waiting(game)
    play.resign(game.pk, loser, now=NOW)
    over = fresh(game)
    assert (over.status, over.termination) == ("over", "resignation")
    assert over.winner == over.seat_of(winner.pk).colour  # type: ignore[union-attr]
    results = {seat.player.username: seat.result for seat in over.seats.all()}
    assert results == {loser.username: "lost", winner.username: "won"}
    assert (over.deadline, over.next_reminder, over.engine_due) == (None, None, None)


def test_after_the_end_nothing_can_be_done(game: Game) -> None:
    alice, bob = mover(game), waiting(game)
    play.resign(game.pk, alice, now=NOW)
    version = fresh(game).version
    action = game.current.legal_moves()[0]
    with pytest.raises(play.GameOver):
        play.play_move(game.pk, alice, 1, action, now=NOW)
    for deed in (play.resign, play.abort):
        with pytest.raises(play.GameOver):
            deed(game.pk, bob, now=NOW)
    for about_draw in (play.offer_draw, play.accept_draw, play.decline_draw):
        with pytest.raises(play.GameOver):
            about_draw(game.pk, bob, 1, now=NOW)
    assert fresh(game).version == version


def test_aborting_is_possible_until_both_have_moved(game: Game) -> None:
    second = move(move(game))
    with pytest.raises(play.TooLateToAbort):
        play.abort(game.pk, mover(second), now=NOW)
    other = running(mover(game), waiting(game), now=NOW)
    play.abort(other.pk, waiting(move(other)), now=NOW)
    over = fresh(other)
    assert (over.termination, over.winner) == ("aborted", "")
    assert {seat.result for seat in over.seats.all()} == {"aborted"}


def test_a_draw_needs_both(game: Game) -> None:
    alice, bob = mover(game), waiting(game)
    with pytest.raises(play.NoOffer):
        play.accept_draw(game.pk, bob, 1, now=NOW)
    play.offer_draw(game.pk, alice, 1, now=NOW)
    assert fresh(game).draw_offer == game.turn
    with pytest.raises(play.NoOffer):
        play.accept_draw(game.pk, alice, 1, now=NOW)
    play.accept_draw(game.pk, bob, 1, now=NOW)
    over = fresh(game)
    assert (over.termination, over.winner, over.draw_offer) == ("agreement", "", "")
    assert {seat.result for seat in over.seats.all()} == {"draw"}


def test_a_draw_is_offered_once_between_own_moves(game: Game) -> None:
    alice, bob = mover(game), waiting(game)
    play.offer_draw(game.pk, alice, 1, now=NOW)
    play.decline_draw(game.pk, bob, 1, now=NOW)
    with pytest.raises(play.OfferedAlready):
        play.offer_draw(game.pk, alice, 1, now=NOW)
    moved = move(game)
    play.offer_draw(game.pk, alice, 2, now=NOW)
    assert fresh(moved).draw_offer == game.turn
    assert Notice.objects.filter(player=bob, key=f"draw:g{game.pk}:o2").exists()


def test_an_offer_stands_through_the_offerers_move_and_ends_with_the_others(game: Game) -> None:
    alice = mover(game)
    play.offer_draw(game.pk, alice, 1, now=NOW)
    moved = move(game)
    assert moved.draw_offer == game.turn
    assert move(moved).draw_offer == ""


def test_the_computer_declines_a_draw_at_once() -> None:
    alice = person("alice")
    game = challenges.play_computer(alice, Level.WHITE, colour="b", deck="base", now=NOW)
    play.offer_draw(game.pk, alice, 1, now=NOW)
    game = fresh(game)
    assert (game.draw_offer, game.draw_offers) == ("", 1)
    with pytest.raises(play.OfferedAlready):
        play.offer_draw(game.pk, alice, 1, now=NOW)


def test_the_third_occurrence_of_a_position_is_a_draw() -> None:
    game = running(person("alice"), person("bob"), now=NOW)
    for token in REPETITION[:-1]:
        game = move(game, parse_move(token))
        assert not game.is_over
    game = move(game, parse_move(REPETITION[-1]))
    assert (game.termination, game.winner, game.plies) == ("repetition", "", 16)
    assert {seat.result for seat in game.seats.all()} == {"draw"}


def test_the_rows_agree_with_the_record_in_random_games() -> None:
    alice, bob = person("alice"), person("bob")
    for seed in range(12):
        rng = random.Random(seed)
        game = running(alice, bob, deal=deal("base", rng), now=NOW)
        for _ in range(60):
            if game.is_over:
                break
            game = move(game, rng.choice(game.current.legal_moves()))
        positions = play.positions(game)
        assert positions[-1] == game.current
        assert str(positions[-1]) == game.position
        assert game.plies == len(positions) - 1 == game.record.count()
        assert game.turn == positions[-1].turn
        outcome = positions[-1].outcome()
        if outcome is not None:
            assert (game.termination, game.winner) == (outcome.termination, outcome.winner)
            assert {seat.plies for seat in game.seats.all()} == {game.plies}
            assert Seat.objects.filter(game=game, result="won", colour=game.winner).exists()


def test_a_level_is_asked_for_its_move() -> None:
    alice = person("alice")
    game = challenges.play_computer(alice, Level.GRANDMASTER, colour="r", deck="all34", now=NOW)
    if game.turn == "b":
        assert game.engine_due == NOW
    else:
        assert game.engine_due is None
        assert move(game).engine_due == NOW
    assert game.deadline is None
    assert game.control is None
    assert not game.rated
