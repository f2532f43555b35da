"""The command analyse answers each position by one line of JSON, whatever it is given."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, execute_from_command_line
from django.test import override_settings

from games.engine import compile as compilation
from games.engine.search import WIN, Analysis, Proof
from games.engine.table_store import Store
from games.engine.tables import EMPTY
from games.management.commands import _analyst
from games.onitama.cards import BLUE, RED
from games.onitama.position import Position, parse_move
from tests.servers import ROOT, clean_environment

START = "1121100000000000000033433 tiger,crab,monkey,crane,dragon b"
# Blue's master is two steps from the temple, and may go there now.
WINS = "0000100030030000020004000 mantis,ox,crab,monkey,boar b"
TAKEN = "0020000000000000000000000 tiger,ox,crab,goose,rooster r"
STEPPED_IN = "0000000000040000000000200 tiger,ox,crab,goose,rooster r"
KEYS = ["position", "best", "line", "score", "depth", "nodes", "seconds", "proven"]


@dataclass
class Fake:
    """An engine that has its answer ready; notes what it was asked."""

    proven: Proof | None = None
    asked: list[tuple[Position, dict[str, Any]]] = field(default_factory=list)

    def analyse(self, position: Position, **budget: Any) -> Analysis:
        self.asked.append((position, budget))
        line = tuple(position.legal_moves()[:1])
        return Analysis(line[0], line, 12, 7, 1234, 0.12345, self.proven)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    fake = Fake()
    monkeypatch.setattr(compilation, "ready", lambda: True)
    monkeypatch.setattr(_analyst, "warm_engine", lambda bits: fake)
    return fake


Feed = Callable[[bytes], None]


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Feed:
    def feed(given: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))

    return feed


def run(*arguments: str) -> int:
    """The command's exit code, run as a shell would; no test here may touch the database."""
    try:
        execute_from_command_line(["manage.py", "analyse", *arguments])
    except SystemExit as leaving:
        assert isinstance(leaving.code, int)
        return leaving.code
    return 0


def answers(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_it_prints_one_object_a_position(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(START) == 0
    (answer,) = answers(capsys)
    assert list(answer) == KEYS
    assert answer == {
        "position": START,
        "best": "crab:a1a2",
        "line": ["crab:a1a2"],
        "score": 12,
        "depth": 7,
        "nodes": 1234,
        "seconds": 0.123,
        "proven": None,
    }


@pytest.mark.parametrize(
    ("proof", "told"),
    [
        (Proof(None, 4), "draw"),
        (Proof(None, None), "draw"),
        (Proof(BLUE, 5), {"winner": "b", "plies": 5}),
        (Proof(RED, None), {"winner": "r", "plies": None}),
    ],
)
def test_it_tells_what_is_proven(
    fake: Fake, proof: Proof, told: object, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.proven = proof
    assert run(START) == 0
    assert answers(capsys)[0]["proven"] == told


@pytest.mark.parametrize(
    ("arguments", "seconds", "nodes"),
    [
        ((), 5.0, None),
        (("--seconds", "0.25"), 0.25, None),
        (("--nodes", "700"), None, 700),
    ],
)
def test_it_passes_the_budget_on(
    fake: Fake, arguments: tuple[str, ...], seconds: float | None, nodes: int | None
) -> None:
    assert run(START, *arguments) == 0
    ((position, budget),) = fake.asked
    assert str(position) == START
    assert (budget["seconds"], budget["nodes"]) == (seconds, nodes)


@dataclass
class FakeStore:
    """Has a table and can build a better one."""

    directory: Path
    limit: int

    def get(self, names: tuple[str, ...], men: int) -> object:
        return ("kept", names, men, self.directory, self.limit)

    def build(self, names: tuple[str, ...]) -> object:
        return ("built", names, self.directory, self.limit)


NAMES = ("crab", "crane", "dragon", "monkey", "tiger")


@pytest.mark.parametrize(
    ("arguments", "table"),
    [
        ((), ("kept", NAMES, 4, Path("/tables"), 7)),
        (("--tables",), ("built", NAMES, Path("/tables"), 7)),
        (("--no-tables",), EMPTY),
    ],
)
def test_it_takes_the_table_it_is_told_to(
    fake: Fake,
    arguments: tuple[str, ...],
    table: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_analyst, "Store", FakeStore)
    with override_settings(TABLES_DIR=Path("/tables"), TABLES_LIMIT=7):
        assert run(START, *arguments) == 0
    assert fake.asked[0][1]["table"] == table


def test_it_knows_what_a_table_knows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    position = Position.parse("2000010000000000030000004 tiger,crab,monkey,crane,dragon b")
    plies = Store(tmp_path).build(NAMES, 4).value(position)
    assert plies > 4
    winner = position.turn if plies % 2 else position.turn.other
    with override_settings(TABLES_DIR=tmp_path):
        assert run(str(position), "--nodes", "50") == 0
        assert run(str(position), "--nodes", "50", "--no-tables") == 0
    knowing, searching = answers(capsys)
    assert knowing["proven"] == {"winner": winner.value, "plies": plies}
    assert len(knowing["line"]) == plies
    assert searching["proven"] is None


def test_it_says_where_no_table_can_be_kept(
    fake: Fake, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with override_settings(TABLES_DIR=tmp_path / "file" / "tables"):
        assert run(START) == 0
        assert fake.asked[0][1]["table"] is EMPTY
        capsys.readouterr()
        assert run(START, "--tables") == 1
    said, refusal = capsys.readouterr()
    assert said == ""
    assert refusal.startswith("CommandError: No table can be kept: ")
    assert len(refusal.splitlines()) == 1


def test_it_reads_positions_and_goes_on_after_a_bad_one(
    fake: Fake, feed: Feed, capsys: pytest.CaptureFixture[str]
) -> None:
    other = START.replace(" b", " r")
    lines = [
        START.encode(),
        b"",
        b"nonsense",
        b"\xff\xfe\x00" + START.encode(),
        b"1" * 499,
        b"1" * 500,
        b"1" * 300_000,
        f"  {other}\r".encode(),
        START.replace("tiger", "crab").encode(),
        other.encode(),
    ]
    feed(b"\n".join(lines))
    assert run("--stdin", "--nodes", "5") == 0
    told = answers(capsys)
    assert ["error" in answer for answer in told] == [
        *(False, True, True, True, True, True, True, False, True, False),
    ]
    assert [told[at]["position"] for at in (0, 7, 9)] == [START, other, other]
    assert told[1]["error"] == "'' is not a board, five cards and a turn, one space apart"
    assert told[4]["position"] == "1" * 499
    assert told[5]["error"] == told[6]["error"] == "no position has 500 letters"
    assert told[8]["error"].startswith("a card is there twice")
    assert [str(position) for position, _ in fake.asked] == [START, other, other]


@pytest.mark.parametrize("given", [b"", b"\n", b"x" * 1000, b"x" * 500, b"x" * 499])
def test_it_ends_with_its_input(
    fake: Fake, feed: Feed, given: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    feed(given)
    assert run("--stdin") == 0
    assert len(answers(capsys)) == bool(given)


def test_it_answers_before_the_next_line_is_there(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "analyse", "--stdin"],
        cwd=ROOT,
        env=clean_environment(tmp_path, NUMBA_CACHE_DIR=os.environ["NUMBA_CACHE_DIR"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        for text in ("nonsense", WINS, TAKEN):
            process.stdin.write(f"{text}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["position"] == text
        process.stdin.close()
        assert process.wait(20) == 0


@pytest.mark.parametrize(
    ("text", "winner", "score"),
    [
        (TAKEN, "b", -WIN),
        (STEPPED_IN, "b", -WIN),
        (STEPPED_IN.replace(" r", " b"), "b", WIN),
    ],
)
def test_a_finished_position_has_no_move(
    text: str, winner: str, score: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(text, "--nodes", "1000") == 0
    (answer,) = answers(capsys)
    assert (answer["best"], answer["line"]) == (None, [])
    assert answer["proven"] == {"winner": winner, "plies": 0}
    assert answer["score"] == score


def test_it_analyses(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(START, "--nodes", "20000") == 0
    (answer,) = answers(capsys)
    assert list(answer) == KEYS
    position = Position.parse(START)
    for token in answer["line"]:
        position = position.play(parse_move(token))
    assert answer["best"] == answer["line"][0]
    assert len(answer["line"]) > 2
    assert 19_800 <= answer["nodes"] <= 20_200
    assert answer["depth"] >= 4
    assert abs(answer["score"]) < 500
    assert answer["seconds"] < 5
    assert answer["proven"] is None


def test_it_sees_a_win(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(WINS, "--nodes", "1000") == 0
    (answer,) = answers(capsys)
    won = Position.parse(WINS)
    assert answer["best"] in map(str, won.winning(won.legal_moves()))
    assert answer["line"] == [answer["best"]]
    assert answer["score"] == WIN - 1
    assert answer["proven"] == {"winner": "b", "plies": 1}


def test_a_bad_position_is_an_error_and_no_success(
    fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(START.replace("crab", "bat")) == 2
    said, refusal = capsys.readouterr()
    assert json.loads(said) == {
        "error": "'bat' is not a card",
        "position": START.replace("crab", "bat"),
    }
    assert refusal == "CommandError: 'bat' is not a card\n"


def test_neither_its_help_nor_a_refusal_loads_the_engine() -> None:
    for argument, code in (("--help", 0), ("nonsense", 2)):
        program = (
            "import sys; from django.core.management import execute_from_command_line as run\n"
            f"try: run(['manage.py', 'analyse', {argument!r}])\n"
            "finally: print('numba' in sys.modules, file=sys.stderr)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert ran.returncode == code
        assert "False" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of the arguments position --stdin is required"),
        ((START, "--stdin"), "not allowed with argument"),
        (START.split(" "), "unrecognized arguments"),
        ((START, "--seconds", "0"), "'0' is not a number of seconds up to 86,400"),
        ((START, "--seconds", "-1"), "is not a number of seconds"),
        ((START, "--seconds", "nan"), "is not a number of seconds"),
        ((START, "--seconds", "inf"), "is not a number of seconds"),
        ((START, "--seconds", "five"), "is not a number of seconds"),
        ((START, "--nodes", "0"), "'0' is not a number from 1 to 1,000,000,000,000"),
        ((START, "--nodes", "1.5"), "is not a number from 1"),
        ((START, "--nodes", "9" * 5000), "is not a number from 1"),
        ((START, "--nodes", "5", "--seconds", "5"), "not allowed with argument"),
    ],
)
def test_it_refuses_in_one_line(
    arguments: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    said, refusal = capsys.readouterr()
    assert said == ""
    assert message in refusal
    assert len(refusal.splitlines()) == 1
    with pytest.raises(CommandError):
        call_command("analyse", *arguments)


@pytest.mark.parametrize(
    "arguments",
    [("analyse", "--stdin"), ("engine_match", "engine", "random")],
)
def test_it_says_when_numba_is_missing(arguments: Sequence[str]) -> None:
    code = (
        "import sys; sys.modules['numba'] = None; from django.core.management import *;"
        f"execute_from_command_line(['manage.py', *{arguments!r}])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode != 0
    assert ran.stdout == ""
    assert "the engine needs Numba, which cannot be loaded" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
