"""The workers build an endgame table where that does no harm, and find it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import override_settings

from games import endgames
from games.engine import table_store
from games.engine.table_building import Built
from games.engine.tables import DIGITS
from games.onitama.cards import BLUE
from games.onitama.position import Position
from tests.world import DEAL, PASS_DEAL


class Building:
    """In place of the real one: remembers the deals, and makes tables with next to nothing."""

    def __init__(self) -> None:
        self.deals: list[tuple[str, ...]] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self, names: tuple[str, ...], men: int, **_: Any) -> Built:
        assert men == 6
        self.deals.append(names)
        self.meanwhile()
        words, nothing = np.zeros((1, DIGITS), np.uint32), np.zeros(0, np.int64)
        return Built(tuple(sorted(names)), 2, nothing, nothing, iter([words]))


@pytest.fixture(autouse=True)
def building(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Building]:
    building = Building()
    monkeypatch.setattr(table_store, "build", building)
    endgames._store.cache_clear()
    with override_settings(TABLES_DIR=tmp_path / "tables", TABLES_LIMIT=1 << 30):
        yield building
    endgames._store.cache_clear()


def test_it_builds_a_table_and_finds_it(building: Building) -> None:
    position = Position.start(DEAL, BLUE)
    assert endgames.get(position) is None
    endgames.build(DEAL)
    endgames.build(tuple(reversed(DEAL)))
    assert building.deals == [DEAL]
    table = endgames.get(position)
    assert table is not None and table.names == tuple(sorted(DEAL))
    assert endgames.get(Position.start(PASS_DEAL, BLUE)) is None


def test_it_leaves_alone_a_machine_with_little_memory(
    building: Building, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert endgames._memory() > 1 << 20
    monkeypatch.setattr(endgames, "_memory", lambda: 1 << 30)
    endgames.build(DEAL)
    assert building.deals == []
    assert "too little memory" in caplog.text


def test_it_waits_for_no_other_build(building: Building) -> None:
    building.meanwhile = lambda: endgames.build(PASS_DEAL)
    endgames.build(DEAL)
    assert building.deals == [DEAL]


def test_it_does_without_where_none_can_be_kept(
    building: Building, caplog: pytest.LogCaptureFixture
) -> None:
    with override_settings(TABLES_LIMIT=1 << 20):
        endgames.build(DEAL)
    assert "No endgame table can be kept: a table takes 820 MB, the limit is 1 MB" in caplog.text
    assert building.deals == []
