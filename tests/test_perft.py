"""The rules give the move counts that independent programs agree on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import execute_from_command_line
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


def run(*arguments: str) -> int:
    """The command's exit code, run as a shell would; no test here may touch the database."""
    try:
        execute_from_command_line(["manage.py", "perft", *arguments])
    except SystemExit as leaving:
        assert isinstance(leaving.code, int)
        return leaving.code
    return 0


@pytest.mark.parametrize("depth", [1, 4])
def test_the_command_prints_a_number_a_line(depth: int, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[0]
    assert run(case["position"], str(depth)) == 0
    assert capsys.readouterr() == ("".join(f"{n}\n" for n in case["nodes"][:depth]), "")


START = "1121100000000000000033433"
GOOD = f"{START} tiger,crab,monkey,crane,dragon b"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "required"),
        ((GOOD,), "required: depth"),
        ((GOOD, "1", "2"), "unrecognized"),
        ((*GOOD.split(), "1"), "unrecognized|not a board"),
        ((GOOD, "--deep", "1"), "unrecognized"),
        ((GOOD, "0"), "'0' is not a number from 1 to 50"),
        ((GOOD, "-1"), "is not a number from 1"),
        ((GOOD, "51"), "is not a number from 1"),
        ((GOOD, "1" * 5000), "is not a number from 1"),
        ((GOOD, "1.0"), "is not a number from 1"),
        ((GOOD, "four"), "is not a number from 1"),
        ((GOOD, "²"), "is not a number from 1"),
        ((GOOD, "4\n"), "is not a number from 1"),
        ((GOOD, ""), "is not a number from 1"),
        (("", "1"), "is not a board"),
        ((GOOD + "\n", "1"), "the turn must be b or r"),
        ((GOOD.replace(" ", "\n"), "1"), "is not a board"),
        ((GOOD + " %s %(prog)s", "1"), "is not a board"),
        ((GOOD.replace("crab", "bat"), "1"), "'bat' is not a card"),
        ((GOOD.replace("crab", "tiger"), "1"), "twice"),
        ((GOOD.replace("4", "2"), "1"), "blue has more than one master"),
        ((GOOD.replace("4", "0").replace("2", "0"), "1"), "neither side has a master"),
    ],
)
def test_the_command_refuses_in_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(message, err)
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1
