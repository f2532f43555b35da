"""`engine_figures`: what it measures is what it says."""

from __future__ import annotations

import random
import re
from io import StringIO
from itertools import islice

import pytest
from django.core.management import call_command

from games.engine.search import Engine
from games.management.commands.engine_figures import FULL, _games, _men

CARDS = ("boar", "crab", "eel", "horse", "ox")


@pytest.mark.parametrize("anywhere", [False, True])
def test_its_positions_have_so_many_men(anywhere: bool) -> None:
    games = _games(Engine(14), CARDS, random.Random(1), 8, anywhere)
    for position in islice(games, 6):
        assert _men(position) == 8
        assert position.outcome() is None
        assert set(position.cards) == set(CARDS)


def test_anywhere_is_not_always_the_first() -> None:
    first, any_ = (
        list(islice(_games(Engine(14), CARDS, random.Random(1), FULL, anywhere), 4))
        for anywhere in (False, True)
    )
    assert first != any_


@pytest.mark.parametrize("how", [(), ("--anywhere",)])
def test_it_says_how_many_were_proved(how: tuple[str, ...]) -> None:
    said = StringIO()
    few = ("--positions", "3", "--deals", "1", "--seconds", "0.1", "--no-tables")
    call_command("engine_figures", "proofs", "--men", "7", "8", *few, *how, stdout=said)
    found = re.findall(r"^(\d) men: (\d) of 3 proved in 0\.1 s", said.getvalue(), re.MULTILINE)
    assert [men for men, _proved in found] == ["7", "8"]
    assert sum(int(proved) for _men, proved in found) > 0
