"""`manage.py bench` on a small scale: it measures, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.core.management import execute_from_command_line

from tests.servers import ROOT, clean_environment

pytestmark = pytest.mark.processes


def bench(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Beside a database of the kind that the tests run on."""
    data.mkdir(mode=0o700)
    url = os.environ.get("TEST_DATABASE_URL")
    given = {"DATABASE_URL": url} if url else {}
    # With the engine that is compiled for all tests.
    given["NUMBA_CACHE_DIR"] = os.environ["NUMBA_CACHE_DIR"]
    return subprocess.run(
        [sys.executable, "manage.py", "bench", *arguments],
        cwd=ROOT,
        env=clean_environment(data, TMPDIR=str(data.parent), **given),
        capture_output=True,
        text=True,
        check=False,
    )


def databases() -> set[str]:
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:
        return set()
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT datname FROM pg_database").fetchall()
    return {name for (name,) in rows if name.startswith("onitama_bench_")}


@pytest.mark.again
def test_a_sweep_reads_an_index_for_each_thing_that_may_be_due(tmp_path: Path) -> None:
    run = bench(tmp_path / "data", "sweep", "--games", "5000")
    assert run.returncode == 0, run.stderr
    assert "5,000 running games, none of them due" in run.stdout
    indexes = dict(re.findall(r"select \w+ (\w+) .* (\w+)\n", run.stdout))
    assert indexes == {
        "deadline": "game_deadlines",
        "next_reminder": "game_reminders",
        "engine_due": "game_engine",
        "next_digest": "user_digests",
        "next_try": indexes["next_try"],
    }
    assert run.stdout.count("in all") == 2
    assert not databases()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_mails_go_through_two_workers_beside_a_bare_loop(tmp_path: Path) -> None:
    run = bench(tmp_path / "data", "mail", "--notices", "100")
    assert run.returncode == 0, run.stderr
    assert "100 notices, each of another player's turn in another game" in run.stdout
    assert "sent at the first try: 100; received: 100, each once" in run.stdout
    rates = re.findall(r"(bare loop|2 workers, \w+) +([0-9.]+) +([0-9.]+)", run.stdout)
    (_bare, bare, one), (_workers, workers, ratio) = rates
    assert float(one) == 1
    assert abs(float(workers) / float(bare) - float(ratio)) < 0.1
    assert not databases()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_the_computer_answers_one_game_and_twenty_at_once(tmp_path: Path) -> None:
    run = bench(tmp_path / "data", "engine", "--moves", "2", "--belts", "white-belt")
    seconds = re.search(r"white-belt +2 +[0-9.]+s +([0-9.]+)s +<= 2 s\n", run.stdout)
    assert seconds, run.stderr
    # How fast this machine is beside the other tests is not what is tried here.
    assert run.returncode == (float(seconds[1]) > 2)
    assert re.search(r"20 games at once, the longest wait:\nwhite-belt +[0-9.]+s\n", run.stdout)
    assert re.search(r"  [0-9]+ MB, [0-9]+ MB of them its own\n", run.stdout)
    assert not databases()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize(
    "arguments",
    [(), ("nothing",), ("sweep", "--games", "1"), ("sweep", "--games", "3000000")]
    + [("web", "--seconds", "0.1"), ("web", "--seconds", "x"), ("web", "--games", "5")]
    + [("mail", "--notices", "99"), ("mail", "--notices", "1000000")]
    + [("engine", "--moves", "0"), ("engine", "--belts", "random")],
)
def test_nonsense_is_told_in_a_line(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refusal:
        execute_from_command_line(["manage.py", "bench", *arguments])
    assert refusal.value.code == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err
    assert "Traceback" not in said.err
