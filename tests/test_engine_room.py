"""The room where the computer moves: with the engine once it is compiled, and always without it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from games import engine_room, tasks, waking
from games.engine import compile as compilation
from games.engine import levels
from games.models import Level
from games.onitama.cards import BLUE
from games.onitama.position import Action, Position
from tests import world

START = Position.start(world.DEAL, BLUE)


@pytest.fixture(autouse=True)
def _as_in_a_new_process() -> None:
    engine_room._say_once_that_nothing_is_compiled.cache_clear()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the levels were asked, who play the first move there is."""
    asked: list[dict[str, Any]] = []

    def choose(position: Position, level: str, **more: Any) -> Action:
        asked.append({"level": level, **more})
        return position.legal_moves()[0]

    monkeypatch.setattr(levels, "choose", choose)
    return asked


def choose(level: str, history: list[Position] | None = None) -> Action:
    return engine_room.choose(history or [START], level, seed=7, seconds=1.5)


def ready(monkeypatch: pytest.MonkeyPatch, yes: bool) -> None:
    monkeypatch.setattr(compilation, "ready", lambda: yes)


@pytest.mark.parametrize("level", [*Level.values, *world.OLD_LEVELS])
def test_every_level_moves_where_nothing_is_compiled(
    monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    ready(monkeypatch, False)
    monkeypatch.delitem(sys.modules, "games.engine.search", raising=False)
    assert choose(level) in START.legal_moves()
    assert "games.engine.search" not in sys.modules


def test_a_level_is_asked_with_the_whole_game(asked: list[dict[str, Any]]) -> None:
    choose("black-belt", [START, START.after(START.legal_moves()[0])])
    expected = {"level": "black-belt", "seed": 7, "seconds": 1.5, "history": [START]}
    assert asked == [{**expected, "tables": None}]


def test_a_worker_loads_the_engine_before_its_first_task(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[bool] = []
    monkeypatch.setattr(levels, "prepare", lambda: prepared.append(True))
    engine_room.prepare()
    assert prepared == [True]


def test_a_worker_whose_engine_cannot_be_loaded_starts_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(levels, "prepare", None)
    engine_room.prepare()
    assert "cannot be loaded" in caplog.text


def test_it_says_once_and_at_its_start_that_nothing_is_compiled(
    monkeypatch: pytest.MonkeyPatch, asked: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    ready(monkeypatch, False)
    monkeypatch.setattr(levels, "prepare", lambda: None)
    engine_room.prepare()
    assert caplog.text.count("The engine is not compiled") == 1
    for _ in range(3):
        choose("white-belt")
    assert caplog.text.count("The engine is not compiled") == 1


@pytest.mark.parametrize(
    ("queue", "done"), [("sweep", []), ("mail", []), ("engine", ["loaded"]), ("tables", [10])]
)
def test_each_worker_gets_ready_for_its_own_queue(
    monkeypatch: pytest.MonkeyPatch, queue: str, done: list[object]
) -> None:
    found: list[object] = []
    monkeypatch.setattr(engine_room, "prepare", lambda: found.append("loaded"))
    monkeypatch.setattr("games.tasks.os.nice", found.append)
    queues = SimpleNamespace(consume_from={queue: None})
    app = SimpleNamespace(amqp=SimpleNamespace(queues=queues))
    monkeypatch.setattr(tasks, "current_app", app)
    tasks.get_ready()
    assert found == done


@pytest.mark.parametrize("more", [True, False])
def test_a_task_hands_on_what_is_left(monkeypatch: pytest.MonkeyPatch, more: bool) -> None:
    nudged: list[int] = []
    monkeypatch.setattr(engine_room, "work", lambda: more)
    monkeypatch.setattr(waking, "wake_engine", nudged.append)
    tasks.engine_move(7)
    assert nudged == [7] * more


# --- endgame tables -------------------------------------------------------------------------

EIGHT_MEN = Position.parse("1121000000000000000003403 tiger,crab,mantis,crane,ox b")
NINE_MEN = Position.parse("1121100000000000000003433 tiger,crab,mantis,crane,ox b")
CARDS = "crab,crane,mantis,ox,tiger"


@pytest.fixture
def endgames(monkeypatch: pytest.MonkeyPatch, asked: list[dict[str, Any]]) -> Any:
    """Stands for the tables; `table` is what is found there, and `nudged` what was asked for."""
    ready(monkeypatch, True)
    stand_in = SimpleNamespace(table=None, nudged=[], built=[])
    stand_in.get = lambda position: stand_in.table
    stand_in.build = stand_in.built.append
    monkeypatch.setitem(sys.modules, "games.endgames", stand_in)
    monkeypatch.setattr(engine_room, "nudge", lambda *what: stand_in.nudged.append(what))
    return stand_in


@pytest.mark.parametrize("level", Level.values)
def test_the_strongest_have_tables_where_there_are_any(
    endgames: Any, asked: list[dict[str, Any]], level: str
) -> None:
    endgames.table = object()
    choose(level, [EIGHT_MEN])
    strongest = level in {"black-belt", "grandmaster"}
    assert asked[0]["tables"] is (endgames.table if strongest else None)
    assert not endgames.nudged


def test_what_is_not_there_is_asked_for_and_not_waited_for(
    endgames: Any, asked: list[dict[str, Any]]
) -> None:
    choose("grandmaster", [EIGHT_MEN])
    choose("brown-belt", [EIGHT_MEN])
    assert endgames.nudged == [("games.build_tables", CARDS)]
    assert asked[0]["tables"] is None


def test_what_there_is_no_room_for_is_not_asked_for(
    endgames: Any, asked: list[dict[str, Any]]
) -> None:
    with override_settings(TABLES_LIMIT=0):
        choose("grandmaster", [EIGHT_MEN])
    assert not endgames.nudged


def test_before_eight_men_nobody_looks(endgames: Any, asked: list[dict[str, Any]]) -> None:
    endgames.table = object()
    choose("grandmaster", [NINE_MEN])
    assert asked[0]["tables"] is None
    assert not endgames.nudged


def test_where_nothing_is_compiled_there_are_no_tables(
    endgames: Any, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(monkeypatch, False)
    endgames.table = object()
    choose("grandmaster", [EIGHT_MEN])
    assert asked[0]["tables"] is None
    assert not endgames.nudged


def test_tables_that_cannot_be_read_hold_no_move_up(
    endgames: Any, asked: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    endgames.get = None
    assert choose("black-belt", [EIGHT_MEN]) in EIGHT_MEN.legal_moves()
    assert "cannot be read" in caplog.text


def test_the_task_builds_them_once_the_engine_is_compiled(
    endgames: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks.build_tables(CARDS)
    assert endgames.built == [tuple(CARDS.split(","))]
    ready(monkeypatch, False)
    tasks.build_tables(CARDS)
    assert len(endgames.built) == 1


# --- compiling ------------------------------------------------------------------------------


def test_the_command_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    done = [("first", 1.0), ("second", 20.04)]
    monkeypatch.setattr(compilation, "compile_all", lambda: iter(done))
    monkeypatch.setattr(compilation, "MODULES", ("first", "second"))
    call_command("compile_engine")
    assert capsys.readouterr().out == "1/2 first 1.0 s\n2/2 second 20.0 s\n"
    assert (tmp_path / "numba").stat().st_mode & 0o777 == 0o700
    ready(monkeypatch, True)
    call_command("compile_engine")
    assert capsys.readouterr().out == "The engine is compiled already.\n"


@pytest.mark.parametrize("error", [ImportError("No module named 'numba'"), OSError("disk full")])
def test_the_command_says_what_is_wrong_in_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    def fail() -> Iterator[tuple[str, float]]:
        raise error
        yield

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.setattr(compilation, "compile_all", fail)
    with pytest.raises(CommandError, match=str(error)):
        call_command("compile_engine")
