"""The drawings: cards, small boards, what stands on a square; and what can be chosen there."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from games.onitama.cards import BLUE, CARDS, RED, Colour
from games.onitama.position import Move, Pass, Position, parse_move, parse_square
from games.templatetags.board import card, card_name, ply_text, small_board, square_picture
from games.views.board import BoardView, Choice, choose, look
from tests import world
from tests.strategies import colours, deals, placements

POSITIONS = st.builds(Position, placements(), deals(), colours)
START = Position.start(("ox", "horse", "mantis", "crane", "tiger"))


def parsed(markup: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<all>{markup}</all>")  # noqa: S314  # ours


def centres(markup: str) -> set[tuple[int, int]]:
    """The green squares of a card as (files to the right, ranks up)."""
    spots = re.findall(r'class="card-move" x="(\d+)" y="(\d+)"', markup)
    return {(int(x) // 20 - 2, 2 - int(y) // 20) for x, y in spots}


class TestCard:
    @pytest.mark.parametrize("name", CARDS)
    def test_it_shows_the_moves_as_the_holder_reads_them(self, name: str) -> None:
        assert centres(card(name, "up", "b")) == set(CARDS[name].moves)

    @pytest.mark.parametrize("name", CARDS)
    def test_it_is_turned_in_the_opponents_hand(self, name: str) -> None:
        turned = {(-files, -ranks) for files, ranks in CARDS[name].moves}
        assert centres(card(name, "down", "r")) == turned

    def test_it_says_name_stamp_and_moves_in_words(self) -> None:
        text = " ".join("".join(parsed(card("sea_snake", "up", "b")).itertext()).split())
        assert text == "Sea Snake. 1 forward; 2 right; 1 back 1 left"
        assert 'aria-label="blue stamp"' in card("sea_snake", "up", "b")
        assert 'class="card edge-b long"' in card("sea_snake", "up", "b")
        assert 'aria-label="red stamp"' in card("mantis", "up", "b")

    def test_it_says_whose_hand_it_is_in(self) -> None:
        assert "edge-b" in card("ox", "up", "b")
        assert "edge-r" in card("ox", "down", "r")
        assert "edge-" not in card("ox", "up", "")

    @pytest.mark.parametrize("name", CARDS)
    def test_it_carries_no_style(self, name: str) -> None:
        assert "style=" not in card(name, "up", "b")

    def test_it_is_a_tag(self) -> None:
        template = Template('{% load board %}{% card "ox" "down" "r" %}{{ "sea_snake"|card_name }}')
        assert template.render(Context()) == card("ox", "down", "r") + "Sea Snake"


class TestSmallBoard:
    def spots(self, position: str, viewer: str, last: str = "") -> dict[tuple[int, int], str]:
        pattern = r'href="#dot-(\d)" x="(\d+)" y="(\d+)"'
        found = re.findall(pattern, small_board(position, viewer, last))
        return {(int(x) // 20, int(y) // 20): digit for digit, x, y in found}

    def test_it_shows_every_piece_blue_below(self) -> None:
        spots = self.spots(str(START), "b")
        assert len(spots) == 10
        assert spots[2, 4] == "2"
        assert spots[2, 0] == "4"

    def test_it_is_turned_for_red(self) -> None:
        position = "1" + "0" * 23 + "4 ox,horse,mantis,crane,tiger r"
        assert self.spots(position, "b") == {(0, 4): "1", (4, 0): "4"}
        assert self.spots(position, "r") == {(4, 0): "1", (0, 4): "4"}

    def test_it_marks_the_last_move(self) -> None:
        assert 'class="gold" d="M0.5 80.5h19v19h-19zM0.5 60.5' in small_board(
            str(START), "b", "ox:a1a2"
        )

    @pytest.mark.parametrize("last", ["", "ox:pass"])
    def test_it_marks_nothing_without_a_move(self, last: str) -> None:
        assert "gold" not in small_board(str(START), "b", last)

    def test_it_is_one_small_piece_of_markup(self) -> None:
        markup = small_board(str(START), "b", "ox:a1a2")
        assert len(markup) < 2000
        assert "style=" not in markup
        assert small_board(str(START), "b", "ox:a1a2") is markup

    @given(POSITIONS)
    def test_it_is_well_formed_for_any_position(self, position: Position) -> None:
        for viewer in "br":
            assert len(parsed(small_board(str(position), viewer, ""))) == 1


class TestWords:
    def test_cards_are_written_as_printed(self) -> None:
        assert card_name("sea_snake") == "Sea Snake"

    def test_plies_are_told(self) -> None:
        assert ply_text("boar:a1a2") == "Boar a1–a2"
        assert ply_text("boar:pass") == "passed with Boar"


def chosen(
    choice: Choice, position: Position = START, viewer: Colour = BLUE, *, confirm: bool = True
) -> BoardView:
    return choose(
        position,
        viewer,
        None,
        legal=position.legal_moves(),
        choice=choice,
        ply=1,
        confirm=confirm,
    )


def square(name: str) -> int:
    return parse_square(name)


def classes(view: BoardView, mark: str) -> set[str]:
    return {cell.name for cell in view.cells if mark in cell.classes.split()}


class TestLook:
    def test_blue_reads_the_board_from_a5_to_e1(self) -> None:
        names = [cell.name for cell in look(START, BLUE).cells]
        assert (names[0], names[4], names[20], names[24]) == ("a5", "e5", "a1", "e1")

    def test_red_reads_it_turned(self) -> None:
        names = [cell.name for cell in look(START, RED).cells]
        assert (names[0], names[4], names[20], names[24]) == ("e1", "a1", "e5", "a5")

    def test_every_square_is_spoken(self) -> None:
        labels = {cell.name: cell.label for cell in look(START, BLUE).cells}
        assert labels["c1"] == "c1, blue master, blue temple"
        assert labels["c5"] == "c5, red master, red temple"
        assert labels["a1"] == "a1, blue student"
        assert labels["c3"] == "c3, empty"

    def test_nothing_can_be_chosen(self) -> None:
        view = look(START, BLUE)
        assert not any(cell.query or cell.sends for cell in view.cells)
        assert not any(card.query or card.sends for card in view.above + view.below)

    def test_own_cards_are_below_and_the_others_are_turned(self) -> None:
        view = look(START, RED)
        assert [card.name for card in view.below] == ["mantis", "crane"]
        assert [card.facing for card in view.below] == ["up", "up"]
        assert [card.name for card in view.above] == ["ox", "horse"]
        assert [card.facing for card in view.above] == ["down", "down"]

    def test_the_side_card_faces_whoever_gets_it(self) -> None:
        assert look(START, BLUE).side.facing == "up"
        assert look(START, RED).side.facing == "down"

    def test_the_last_move_is_marked(self) -> None:
        view = look(START, BLUE, parse_move("ox:a1a2"))
        assert classes(view, "last") == {"a1", "a2"}
        assert view.side.edge == "last"


class TestChoose:
    def test_only_pieces_that_can_move_are_offered(self) -> None:
        offered = {cell.name for cell in chosen(Choice()).cells if cell.query}
        assert offered == {"a1", "b1", "c1", "d1", "e1"}

    def test_a_piece_shows_where_it_can_go_by_either_card(self) -> None:
        view = chosen(Choice(origin=square("b1")))
        assert classes(view, "legal") == {"b2"}
        assert classes(view, "chosen") == {"b1"}

    def test_a_target_by_one_card_is_complete(self) -> None:
        position = Position.start(("tiger", "crab", "mantis", "crane", "ox"))
        view = chosen(Choice(origin=square("b1"), target=square("b3")), position)
        assert view.sends == Move("tiger", square("b1"), square("b3"))
        assert [card.chosen for card in view.below] == [True, False]
        assert [cell.ghost for cell in view.cells if cell.name == "b3"] == ["1"]

    def test_a_target_by_both_cards_is_asked_about(self) -> None:
        view = chosen(Choice(origin=square("b1"), target=square("b2")))
        assert view.sends is None
        assert [move.card for move in view.asks] == ["horse", "ox"]
        assert all(card.asked and not card.chosen for card in view.below)

    def test_the_card_answers_the_question(self) -> None:
        view = chosen(Choice("ox", square("b1"), square("b2")))
        assert view.sends == Move("ox", square("b1"), square("b2"))
        assert view.asks == ()

    def test_a_piece_the_card_cannot_move_drops_the_card(self) -> None:
        position = Position.start(("crab", "tiger", "mantis", "crane", "ox"))
        board = "1" + "0" * 4 + "1" + "0" * 4 + "1" + "00002" + "0" * 8 + "4"
        assert len(board) == 25
        position = Position(board, position.cards, BLUE)
        view = chosen(Choice("crab", square("a1")), position)
        assert view.choice == Choice("crab", square("a1"))
        wrong = Choice("ox", square("a1")).allowed(position.legal_moves())
        assert wrong == Choice("", square("a1"))

    def test_pressing_again_takes_it_back(self) -> None:
        view = chosen(Choice("ox", square("b1")))
        piece = next(cell for cell in view.cells if cell.name == "b1")
        assert piece.query == "ply=1&card=ox"
        assert next(card for card in view.below if card.name == "ox").query == "ply=1&from=b1"

    def test_a_capture_has_its_own_mark(self) -> None:
        position = Position.parse("1121100000300000000003433 tiger,crab,mantis,crane,ox b")
        view = chosen(Choice(origin=square("a1")), position)
        assert "a3" in classes(view, "capture")
        assert "a2" in classes(view, "legal")

    def test_without_confirming_a_target_sends(self) -> None:
        position = Position.start(("tiger", "crab", "mantis", "crane", "ox"))
        view = chosen(Choice(origin=square("b1")), position, confirm=False)
        sends = {cell.name: cell.sends for cell in view.cells if cell.sends}
        assert sends["b3"] == Move("tiger", square("b1"), square("b3"))
        assert sends["b2"] == Move("crab", square("b1"), square("b2"))

    def test_without_confirming_two_cards_are_still_asked_about(self) -> None:
        view = chosen(Choice(origin=square("b1")), confirm=False)
        target = next(cell for cell in view.cells if cell.name == "b2")
        assert target.sends is None
        assert target.query == "ply=1&from=b1&to=b2"
        view = chosen(Choice(origin=square("b1"), target=square("b2")), confirm=False)
        assert {card.sends for card in view.below} == set(view.asks)

    def test_a_forced_pass_offers_both_cards_and_no_square(self) -> None:
        position = forced_pass()
        view = chosen(Choice(), position, position.turn)
        assert view.passing
        assert all(card.query for card in view.below)
        assert not any(cell.query for cell in view.cells)
        name = view.below[0].name
        assert chosen(Choice(name), position, position.turn).sends == Pass(name)
        view = chosen(Choice(), position, position.turn, confirm=False)
        assert {card.sends for card in view.below} == {Pass(card.name) for card in view.below}

    @given(POSITIONS)
    def test_every_legal_move_can_be_chosen_and_nothing_else(self, position: Position) -> None:
        legal = position.legal_moves()
        reached = set()
        for origin in range(25):
            view = chosen(Choice(origin=origin), position, position.turn, confirm=False)
            for cell in view.cells:
                if cell.sends:
                    reached.add(cell.sends)
                elif "legal" in cell.classes or "capture" in cell.classes:
                    both = Choice(origin=origin, target=square(cell.name))
                    reached.update(chosen(both, position, position.turn).asks)
        assert reached == {action for action in legal if isinstance(action, Move)}


def forced_pass() -> Position:
    position = Position.start(world.PASS_DEAL)
    for token in world.FORCED_PASS[:-1]:
        position = position.after(parse_move(token))
    assert isinstance(position.legal_moves()[0], Pass)
    return position


def test_a_square_shows_temple_piece_and_ghost() -> None:
    uses = re.findall(r'#([\w-]+)"', square_picture("4", "red", "1"))
    assert uses == ["temple", "piece-4", "piece-1"]
    assert square_picture("0") == ""
