"""The cards are those of the gathered public sources, and a deal is five of one deck."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from games.onitama.cards import BLUE, CARDS, DECKS, RED, Colour, deal

SOURCES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "cards.json").read_text()
)["cards"]
LEFT_OUT = "way_of_the_wind"


@pytest.mark.parametrize(
    "source", [source for source in SOURCES if source["set"] != LEFT_OUT], ids=lambda s: s["name"]
)
def test_it_agrees_with_the_sources(source: dict[str, Any]) -> None:
    card = CARDS[source["name"]]
    assert card.name == source["name"]
    assert card.set == source["set"]
    assert card.stamp.word == source["stamp"]
    assert sorted(card.moves) == sorted(tuple(move) for move in source["moves"])
    assert len(set(card.moves)) == len(card.moves)


def test_it_has_no_other_cards() -> None:
    assert set(CARDS) == {source["name"] for source in SOURCES if source["set"] != LEFT_OUT}
    assert Counter(card.set for card in CARDS.values()) == {
        "base": 16,
        "senseis_path": 16,
        "promo": 2,
    }


def test_its_decks_are_the_base_cards_and_all_of_them() -> None:
    assert set(DECKS) == {"base", "all34"}
    assert len(DECKS["base"]) == len(set(DECKS["base"])) == 16
    assert len(DECKS["all34"]) == len(set(DECKS["all34"])) == 34
    assert {CARDS[name].set for name in DECKS["base"]} == {"base"}


def test_a_card_is_turned_for_red() -> None:
    assert CARDS["horse"].moves_for(BLUE) == ((0, 1), (-1, 0), (0, -1))
    assert CARDS["horse"].moves_for(RED) == ((0, -1), (1, 0), (0, 1))


@pytest.mark.parametrize("deck", sorted(DECKS))
def test_it_deals_five_different_cards_of_the_deck(deck: str) -> None:
    seen: Counter[str] = Counter()
    for seed in range(2000):
        dealt = deal(deck, random.Random(seed))
        assert len(set(dealt)) == 5
        seen.update(dealt)
    assert set(seen) == set(DECKS[deck])
    expected = 2000 * 5 / len(DECKS[deck])
    assert all(0.7 * expected < count < 1.3 * expected for count in seen.values())


def test_it_deals_from_the_system_source_too() -> None:
    assert set(deal("base", random.SystemRandom())) <= set(DECKS["base"])


def test_it_refuses_an_unknown_deck() -> None:
    with pytest.raises(KeyError):
        deal("way_of_the_wind", random.Random(1))


def test_colours_have_words() -> None:
    assert [colour.word for colour in Colour] == ["blue", "red"]
    assert [str(colour) for colour in Colour] == ["b", "r"]
    assert BLUE.other is RED
    assert RED.other is BLUE
    assert Colour.from_word("red") is RED


@pytest.mark.parametrize("word", ["", "r", "RED", "Blue", "green", "red "])
def test_it_refuses_a_word_that_is_no_colour(word: str) -> None:
    with pytest.raises(ValueError, match="is not a colour"):
        Colour.from_word(word)
