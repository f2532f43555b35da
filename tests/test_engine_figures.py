"""`engine_figures`: what it measures is what it says."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from io import StringIO
from itertools import islice
from typing import Any

import pytest
from django.core.management import call_command

from games.engine.search import Analysis, Engine, Proof
from games.management.commands.engine_figures import FULL, _games, _men
from games.onitama.position import Position

CARDS = ("boar", "crab", "eel", "horse", "ox")


@pytest.mark.parametrize("anywhere", [False, True])
def test_its_positions_have_so_many_men(anywhere: bool) -> None:
    games = _games(Engine(14), CARDS, random.Random(1), 8, anywhere, 50)
    found = list(islice(games, 6))
    assert len(found) == 6
    for position in found:
        assert _men(position) == 8
        assert position.outcome() is None
        assert set(position.cards) == set(CARDS)


def test_anywhere_is_not_always_the_first() -> None:
    first, any_ = (
        list(islice(_games(Engine(14), CARDS, random.Random(1), FULL, anywhere, 50), 4))
        for anywhere in (False, True)
    )
    assert first != any_


@pytest.mark.parametrize("how", [(), ("--anywhere",)])
def test_it_says_how_many_were_proved(
    how: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each second one of those it asks about, in no time that a machine could be too slow for."""
    analyse, asked = Engine.analyse, itertools.count()

    def judge(engine: Engine, position: Position, **budget: Any) -> Analysis:
        if "seconds" not in budget:
            return analyse(engine, position, **budget)
        assert budget["seconds"] == 7
        proven = Proof(position.turn, None) if next(asked) % 2 else None
        return replace(analyse(engine, position, nodes=1), proven=proven)

    monkeypatch.setattr(Engine, "analyse", judge)
    few = ("--positions", "5", "--deals", "1", "--seconds", "7", "--no-tables")
    said = StringIO()
    call_command("engine_figures", "proofs", "--men", "7", "8", *few, *how, stdout=said)
    assert "7 men: 2 of 5 proved in 7 s (40 %), 0 of them draws\n" in said.getvalue()
    assert "8 men: 3 of 5 proved in 7 s (60 %), 0 of them draws\n" in said.getvalue()
