"""The rules give the move counts that independent programs agree on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from games.onitama.perft import perft
from games.onitama.position import Position
from tests.strategies import positions

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "perft.json").read_text()
)["positions"]
MOST_NODES = 200_000


def depth_of(case: dict[str, Any]) -> int:
    nodes: list[int] = case["nodes"]
    return max(4, sum(count <= MOST_NODES for count in nodes))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_it_counts_as_other_programs_do(case: dict[str, Any]) -> None:
    depth = depth_of(case)
    counts = perft(Position.parse(case["position"]), depth)
    assert [count.nodes for count in counts] == case["nodes"][:depth]
    assert [count.wins for count in counts] == case["wins"][:depth]
    assert [count.captures for count in counts] == case["captures"][:depth]
    assert [count.passes for count in counts] == case["passes"][:depth]


def test_its_cases_hold_passes_wins_and_every_phase() -> None:
    assert len(CASES) >= 25
    assert sum(case["passes"][0] > 0 for case in CASES) >= 5
    assert sum(case["wins"][0] > 0 for case in CASES) >= 5


def test_it_counts_nothing_after_the_end() -> None:
    over = Position.parse("0000000000000000000000040 tiger,crab,ox,horse,eel b")
    assert perft(over, 2) == [(0, 0, 0, 0)] * 2


@given(positions())
def test_turning_the_board_changes_no_count(position: Position) -> None:
    assert perft(position.turned(), 2) == perft(position, 2)
