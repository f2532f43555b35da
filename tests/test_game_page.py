"""The page of a game: what each reader sees of it, and what the address can choose."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains

from accounts.models import User
from games import play
from games.models import Game, Level, Notice
from games.views import scene
from tests import world

pytestmark = pytest.mark.django_db

BOTH_REACH = ("ox", "horse", "mantis", "crane", "tiger")


@pytest.fixture
def at_home(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def page(client: Client, game: Game, query: str = "") -> str:
    answer = client.get(f"/games/{game.pk}/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def tag(html: str, id_: str) -> str:
    """The opening tag of the element with this id."""
    found = re.search(rf'<[^>]*\bid="{id_}"[^>]*>', html)
    assert found is not None, f"nothing has the id {id_}"
    return found[0]


def choosable(html: str) -> set[str]:
    return set(re.findall(r'<a id="square-(\w\d)"', html))


def sends(html: str) -> dict[str, str]:
    """The fields of the form that waits for the last press."""
    form = re.search(r'<form class="turn-form".*?</form>', html, re.S)
    assert form is not None, "nothing waits to be sent"
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))


class TestReaders:
    def test_a_stranger_looks_with_blue_below(self, client: Client, game: Game) -> None:
        html = page(client, game)
        assert re.findall(r'id="square-(\w\d)"', html)[0] == "a5"
        assert not choosable(html)
        assert "Resign" not in html

    def test_a_strangers_choice_does_nothing(self, client: Client, game: Game) -> None:
        client.force_login(world.person("carol"))
        html = page(client, game, "?card=tiger&from=b1&to=b3&ask=resign")
        assert "turn-form" not in html
        assert "chosen" not in html
        assert "Resign" not in html

    def test_red_sees_the_own_side_below(self, client: Client, game: Game, bob: User) -> None:
        client.force_login(bob)
        assert re.findall(r'id="square-(\w\d)"', page(client, game))[0] == "e1"

    def test_there_are_25_squares_with_names(self, at_home: Client, game: Game) -> None:
        squares = re.findall(
            r'<(?:a|button)[^>]*id="square-(\w\d)"[^>]*aria-label="(\w\d)', page(at_home, game)
        )
        assert len(squares) == 25
        assert all(id_ == label for id_, label in squares)

    def test_a_private_game_is_missing_for_others(
        self, client: Client, alice: User, bob: User
    ) -> None:
        game = world.running(alice, bob, private=True)
        assert client.get(f"/games/{game.pk}/").status_code == 404
        client.force_login(world.person("carol"))
        assert client.get(f"/games/{game.pk}/").status_code == 404
        client.force_login(alice)
        answer = client.get(f"/games/{game.pk}/")
        assertContains(answer, 'name="robots" content="noindex"')

    def test_an_unknown_game_is_missing(self, client: Client) -> None:
        assert client.get("/games/1/").status_code == 404
        assert client.get(f"/games/{10**30}/").status_code == 404

    def test_it_rejects_post_and_answers_head(self, client: Client, game: Game) -> None:
        assert client.post(f"/games/{game.pk}/").status_code == 405
        assert client.head(f"/games/{game.pk}/").status_code == 200

    def test_it_is_not_stored(self, at_home: Client, game: Game) -> None:
        control = at_home.get(f"/games/{game.pk}/").headers["Cache-Control"]
        assert {"private", "no-cache"} <= set(control.split(", "))

    def test_nothing_is_inline(self, at_home: Client, game: Game) -> None:
        html = page(at_home, game, "?from=b1&to=b3")
        assert " style=" not in html
        assert not re.search(r"<script(?![^>]* src=)", html)


class TestSeen:
    def test_opening_it_sees_its_notices(self, at_home: Client, game: Game, alice: User) -> None:
        assert Notice.objects.get(player=alice).seen is None
        page(at_home, game)
        assert Notice.objects.get(player=alice).seen is not None

    @pytest.mark.parametrize(
        "headers",
        [
            {"HX-Request": "true"},
            {"Sec-Purpose": "prefetch"},
            {"Sec-Purpose": "prefetch;prerender"},
            {"Purpose": "prefetch"},
        ],
    )
    def test_what_is_no_navigation_sees_nothing(
        self, at_home: Client, game: Game, headers: dict[str, str]
    ) -> None:
        at_home.get(f"/games/{game.pk}/", headers=headers)
        at_home.get(f"/games/{game.pk}/board/", headers=headers)
        assert not Notice.objects.exclude(seen=None).exists()

    def test_head_and_polls_see_nothing(self, at_home: Client, game: Game) -> None:
        at_home.head(f"/games/{game.pk}/")
        at_home.get(f"/games/{game.pk}/board/?version=1")
        assert not Notice.objects.exclude(seen=None).exists()

    def test_a_stranger_sees_nothing_for_the_player(self, client: Client, game: Game) -> None:
        client.force_login(world.person("carol"))
        page(client, game)
        assert not Notice.objects.exclude(seen=None).exists()


class TestChoosing:
    def test_it_begins_with_cards_and_pieces(self, at_home: Client, game: Game) -> None:
        html = page(at_home, game)
        assert choosable(html) == {"a1", "b1", "c1", "d1", "e1"}
        assert "ply=1&amp;card=tiger" in tag(html, "card-tiger")
        assert "Choose a card or a piece" in html

    def test_a_piece_offers_its_targets(self, at_home: Client, game: Game) -> None:
        html = page(at_home, game, "?from=b1")
        assert {"b2", "b3"} <= choosable(html)
        assert "chosen" in tag(html, "square-b1")
        assert "legal" in tag(html, "square-b3")
        assert 'id="undo"' in html

    def test_a_card_narrows_the_targets(self, at_home: Client, game: Game) -> None:
        html = page(at_home, game, "?card=tiger&from=b1")
        assert "legal" in tag(html, "square-b3")
        assert "legal" not in tag(html, "square-b2")

    def test_a_target_waits_for_one_more_press(self, at_home: Client, game: Game) -> None:
        html = page(at_home, game, "?from=b1&to=b3")
        fields = sends(html)
        assert fields.pop("csrfmiddlewaretoken")
        assert fields == {"ply": "1", "card": "tiger", "from": "b1", "to": "b3"}
        assert "Play Tiger b1–b3" in html
        assert "ghost" in html
        assert "target" in tag(html, "square-b3")
        assert f'href="/games/{game.pk}/"' in tag(html, "undo")

    def test_it_asks_which_card_where_both_reach(
        self, at_home: Client, alice: User, bob: User
    ) -> None:
        game = world.running(alice, bob, deal=BOTH_REACH)
        html = page(at_home, game, "?from=b1&to=b2")
        assert "Which card? Both of your cards reach b2." in html
        assert "card=ox&amp;from=b1&amp;to=b2" in tag(html, "ask-ox")
        assert "card=horse&amp;from=b1&amp;to=b2" in tag(html, "ask-horse")
        assert sends(page(at_home, game, "?card=ox&from=b1&to=b2"))["card"] == "ox"

    @pytest.mark.parametrize(
        "query",
        [
            "?card=boar",
            "?card=mantis",
            "?card=nonsense&from=z9&to=b3",
            "?from=b3",
            "?from=a5",
            "?ply=7&from=b1",
            "?ply=-1",
            "?ask=everything",
            "?from=b1&from=",
            "?ply=" + "9" * 50,
        ],
    )
    def test_nonsense_chooses_nothing(self, at_home: Client, game: Game, query: str) -> None:
        html = page(at_home, game, query)
        assert 'id="undo"' not in html
        assert "turn-form" not in html

    def test_nothing_is_offered_out_of_turn(self, client: Client, game: Game, bob: User) -> None:
        client.force_login(bob)
        html = page(client, game, "?card=mantis&from=b5&to=a4")
        assert not choosable(html)
        assert "Waiting for alice" in html

    def test_without_confirming_the_target_sends(
        self, at_home: Client, game: Game, alice: User
    ) -> None:
        alice.confirm_moves = False
        alice.save(update_fields=["confirm_moves"])
        html = page(at_home, game, "?from=b1")
        form = re.search(r'<form class="square-form"((?!</form>).)*id="square-b3"', html, re.S)
        assert form is not None
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))
        assert (fields["card"], fields["from"], fields["to"]) == ("tiger", "b1", "b3")


class TestPass:
    @pytest.fixture
    def passing(self, alice: User, bob: User) -> Game:
        """Blue, Alice, must pass."""
        return world.running(alice, bob, world.FORCED_PASS[:-1], deal=world.PASS_DEAL)

    def test_it_explains_and_offers_both_cards(self, at_home: Client, passing: Game) -> None:
        html = page(at_home, passing)
        assert "You must pass" in html
        assert not choosable(html)
        for card in passing.current.hand(passing.current.turn):
            assert "href" in tag(html, f"card-{card}")

    def test_the_card_waits_for_one_more_press(self, at_home: Client, passing: Game) -> None:
        html = page(at_home, passing, "?card=dog")
        fields = sends(html)
        assert (fields["ply"], fields["card"]) == ("8", "dog")
        assert "from" not in fields
        assert "Pass with Dog" in html

    def test_without_confirming_the_card_sends(
        self, at_home: Client, passing: Game, alice: User
    ) -> None:
        alice.confirm_moves = False
        alice.save(update_fields=["confirm_moves"])
        html = page(at_home, passing)
        assert tag(html, "card-dog").startswith('<button type="submit"')


class TestWhatHappened:
    def test_it_shows_from_to_and_the_card_at_the_side(
        self, at_home: Client, alice: User, bob: User
    ) -> None:
        game = world.running(alice, bob, ["tiger:b1b3", "mantis:b5c4"])
        html = page(at_home, game)
        assert "last" in tag(html, "square-b5")
        assert "last" in tag(html, "square-c4")
        assert "played Mantis b5–c4" in html
        side = html[html.index('class="side-card"') :]
        assert "Mantis" in side[: side.index("</div>")]
        assert "comes to you after your move" in side

    def test_it_notes_a_capture(self, at_home: Client, alice: User, bob: User) -> None:
        game = world.running(alice, bob, ["tiger:b1b3", "mantis:b5c4", "ox:b3b4", "tiger:c4c2"])
        game = world.played(game, ["crab:b4b5", "ox:c2b2"])
        html = page(at_home, game)
        assert "Ox c2–b2" in html
        assert "took " not in html
        game = world.running(alice, bob, world.BLUE_BY_STONE)
        html = page(at_home, game)
        assert "took the master, Tiger b2–b4" in html
        assert "Tiger b2×b4" in html

    def test_the_status_tells_ears(self, at_home: Client, alice: User, bob: User) -> None:
        game = world.running(alice, bob, ["tiger:b1b3", "mantis:b5c4"])
        html = page(at_home, game)
        status = re.search(r'<p id="status"[^>]*role="status"[^>]*>(.*?)</p>', html, re.S)
        assert status is not None
        assert status[1].startswith("bob played Mantis b5–c4. Your move.")

    def test_the_record_leads_to_every_ply(self, at_home: Client, alice: User, bob: User) -> None:
        game = world.running(alice, bob, ["tiger:b1b3", "mantis:b5c4", "ox:b3b4"])
        html = page(at_home, game)
        record = html[html.index('class="record-table"') :]
        rows = re.findall(r'<th scope="row">(\d+)</th>', record)
        plies = re.findall(
            rf'href="/games/{game.pk}/ply/(\d+)/"', record[: record.index("</table>")]
        )
        assert rows == ["1", "2"]
        assert plies == ["1", "2", "3"]

    @pytest.mark.parametrize(
        ("actions", "title", "words"),
        [
            (world.BLUE_BY_STONE, "You won", "By the Way of the Stone"),
            (world.RED_BY_STONE, "You lost", "By the Way of the Stone"),
            (world.BLUE_BY_STREAM, "You won", "By the Way of the Stream"),
            (world.RED_BY_STREAM, "You lost", "By the Way of the Stream"),
            (world.REPETITION, "Draw", "for the third time"),
        ],
    )
    def test_the_end_is_told(
        self,
        at_home: Client,
        alice: User,
        bob: User,
        actions: tuple[str, ...],
        title: str,
        words: str,
    ) -> None:
        game = world.finished(alice, bob, actions)
        html = page(at_home, game)
        assert title in html
        assert words in html
        assert 'id="poll"' not in html
        assert not choosable(html)

    def test_strangers_read_who_won(self, client: Client, alice: User, bob: User) -> None:
        assert "Blue won" in page(client, world.finished(alice, bob))

    def test_another_game_against_the_level_is_one_press_away(
        self, at_home: Client, alice: User
    ) -> None:
        game = world.against_level(alice, Level.BROWN)
        assert "Play again" not in page(at_home, game)
        game = play.resign(game.pk, alice, now=timezone.now())
        html = page(at_home, game)
        assert 'action="/games/computer/"' in html
        assert 'name="level" value="brown-belt"' in html
        assert ">Play again</button>" in html

    @pytest.mark.parametrize("name", world.OLD_LEVELS)
    def test_an_old_level_hands_on_to_a_belt(self, at_home: Client, alice: User, name: str) -> None:
        game = world.against_level(alice, name)
        html = page(at_home, play.resign(game.pk, alice, now=timezone.now()))
        found = re.search(r'name="level" value="([a-z-]+)".*?>Play again: ([^<]+)</button>', html)
        assert found is not None
        assert Level(found[1]).label == found[2]

    def test_people_are_not_offered_again(self, at_home: Client, alice: User, bob: User) -> None:
        assert "Play again" not in page(at_home, world.finished(alice, bob))


class TestClocks:
    def test_it_shows_what_is_left_and_until_when(
        self, at_home: Client, alice: User, bob: User
    ) -> None:
        now = timezone.now() - timedelta(hours=5)
        game = world.running(alice, bob, now=now + timedelta(minutes=5))
        html = page(at_home, game)
        assert "<b>2 d 19 h</b> left" in html
        assert "bank <b>3 d 00 h</b>" in html
        assert game.deadline is not None
        assert '<time datetime="' in html

    def test_there_is_no_clock_against_the_computer(self, at_home: Client, alice: User) -> None:
        html = page(at_home, world.against_level(alice))
        assert "no clock" in html
        assert "side-clock" not in html

    def test_a_game_past_its_deadline_is_shown_as_out_of_time(
        self, at_home: Client, alice: User, bob: User
    ) -> None:
        User.objects.filter(pk=alice.pk).update(away_on=False)
        game = world.running(alice, bob, now=timezone.now() - timedelta(days=4))
        html = page(at_home, game, "?from=b1")
        assert "Out of time" in html
        assert "out of time" in html
        assert not choosable(html)
        assert "Resign" not in html


class TestNext:
    def test_the_most_urgent_other_game_is_one_press_away(
        self, at_home: Client, game: Game, alice: User
    ) -> None:
        now = timezone.now()
        world.running(alice, world.person("late"), now=now - timedelta(days=1))
        urgent = world.running(alice, world.person("urgent"), now=now - timedelta(days=2))
        world.against_level(alice)
        html = page(at_home, game)
        next_game = html[html.index("next-game") :]
        assert f'href="/games/{urgent.pk}/"' in next_game
        assert "against urgent" in next_game

    def test_there_may_be_none(self, at_home: Client, game: Game) -> None:
        assert "next-game" not in page(at_home, game)

    def test_strangers_have_none(self, client: Client, game: Game) -> None:
        carol = world.person("carol")
        world.running(carol, world.person("dave"))
        client.force_login(carol)
        assert "next-game" not in page(client, game)


class TestQueries:
    def test_it_needs_twelve_at_most(
        self,
        at_home: Client,
        alice: User,
        bob: User,
        django_assert_max_num_queries: DjangoAssertNumQueries,
    ) -> None:
        game = world.running(alice, bob, world.REPETITION[:12])
        for name in ("carol", "dave", "erin"):
            world.running(alice, world.person(name))
        with django_assert_max_num_queries(12):
            page(at_home, game)


def test_it_knows_nothing_of_a_move_that_comes_while_it_is_made(
    at_home: Client, alice: User, game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = scene.played

    def played(row: Game) -> list[scene.Played]:
        move = row.current.legal_moves()[0]
        play.play_move(row.pk, alice, row.plies + 1, move, now=timezone.now())
        return read(row)

    monkeypatch.setattr(scene, "played", played)
    assert "No move yet" in page(at_home, game)
