"""The eight belts move as their pages say: the weak err like people, and none plays alike twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

# Once it is imported the belts play with it, compiled beforehand or not.
from games.engine import compile as compilation
from games.engine import levels, plain, search
from games.engine.levels import BELTS, LEVELS, choose
from games.models import Level
from games.onitama.cards import Colour, deal
from games.onitama.position import Pass, Position
from tests.servers import ROOT

# Positions of games between the two weakest, each with the moves that win in two.
IN_TWO = [
    (Position.parse(case["position"]), set(case["wins"]))
    for case in json.loads((Path(__file__).parent / "data" / "wins_in_two.json").read_text())
]
START = Position.start(("tiger", "crab", "monkey", "crane", "dragon"))
STUCK = Position.parse("0000200001003010300130401 tiger,ox,mantis,goose,monkey b")
OVER = Position.parse("0020000000000000000000000 tiger,ox,crab,goose,rooster r")
# The grandmaster thinks by time.
STEADY = tuple(BELTS)[:-1]
CAREFUL = ("brown-belt", "black-belt")


def test_they_play_with_the_compiled_engine() -> None:
    assert levels._search() is search


def test_there_are_eight_from_the_weakest_up() -> None:
    assert tuple(BELTS) == tuple(Level.values)
    assert (*plain.LEVELS, *BELTS) == LEVELS


@pytest.mark.parametrize("level", STEADY)
def test_it_answers_legally_and_always_the_same(level: str) -> None:
    for position, _ in IN_TWO[:6]:
        action = choose(position, level, seed=3)
        assert action in position.legal_moves()
        assert choose(position, level, seed=3) == action


@pytest.mark.parametrize("level", BELTS)
def test_it_passes_where_it_must_and_refuses_a_finished_game(level: str) -> None:
    assert choose(STUCK, level, seed=1, seconds=0.05) in (Pass("tiger"), Pass("ox"))
    with pytest.raises(ValueError, match="the game is over"):
        choose(OVER, level, seed=1)


@pytest.mark.parametrize("level", STEADY)
def test_the_order_within_a_hand_changes_nothing(level: str) -> None:
    blue_1, blue_2, red_1, red_2, side = START.cards
    other = Position.start((blue_2, blue_1, red_2, red_1, side))
    for seed in range(3):
        assert choose(START, level, seed=seed) == choose(other, level, seed=seed)


@pytest.mark.parametrize("level", STEADY)
def test_no_two_games_begin_alike(level: str) -> None:
    assert len({choose(START, level, seed=seed) for seed in range(8)}) > 1


def test_the_grandmaster_keeps_to_its_time() -> None:
    position = IN_TWO[0][0]
    for seconds in (0.05, 0.3):
        began = time.thread_time()
        choose(position, "grandmaster", seed=1, seconds=seconds, history=[START] * 5)
        assert time.thread_time() - began < seconds + 0.2


@pytest.mark.parametrize("level", CAREFUL)
def test_the_strong_ones_overlook_no_win_in_two(level: str) -> None:
    for position, wins in IN_TWO[:20]:
        assert str(choose(position, level, seed=1)) in wins


def overlooked(level: str, seeds: int) -> float:
    """The share of wins in two that it does not play."""
    missed = [
        str(choose(position, level, seed=seed)) not in wins
        for position, wins in IN_TWO
        for seed in range(seeds)
    ]
    return sum(missed) / len(missed)


def test_the_white_belt_overlooks_a_win_in_two_every_other_time() -> None:
    assert 0.4 < overlooked("white-belt", 3) < 0.6


def test_each_belt_overlooks_less_than_the_one_below() -> None:
    shares = [overlooked(level, 1) for level in ("white-belt", "yellow-belt", "green-belt")]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 0.2


def points(stronger: str, weaker: str, games: int) -> float:
    won = 0.0
    for number in range(games):
        rng = Random(number // 2)
        position = Position.start(deal("base", rng))
        players = dict(zip(Colour, (stronger, weaker), strict=True))
        if number % 2:
            players = dict(zip(Colour, (weaker, stronger), strict=True))
        history: list[Position] = []
        while (outcome := position.outcome()) is None and len(history) < 200:
            level = players[position.turn]
            action = choose(position, level, seed=number, history=history)
            history.append(position)
            position = position.play(action)
        won += 0.5 if outcome is None else players[outcome.winner] == stronger
    return won


def test_the_white_belt_beats_whoever_moves_at_random() -> None:
    assert points("white-belt", "random", 40) >= 38


def test_a_belt_beats_those_far_below() -> None:
    assert points("green-belt", "white-belt", 12) >= 10
    assert points("brown-belt", "orange-belt", 6) >= 5


@pytest.mark.parametrize("level", BELTS)
def test_it_moves_although_nothing_is_compiled(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_search", lambda: None)
    position = IN_TWO[0][0]
    stand_in = plain.choose(position, plain.STAND_INS[level], seed=1)
    assert choose(position, level, seed=1) == stand_in


def test_nonsense_for_a_marker_is_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    (tmp_path / "engine-ready").write_bytes(b"\xff\xfe")
    assert not compilation.ready()


@pytest.mark.parametrize("kind", ["nbc", "nbi"])
@pytest.mark.parametrize("length", [0, 300])
def test_a_damaged_engine_is_told_and_not_used(tmp_path: Path, kind: str, length: int) -> None:
    """As a power cut may leave it: the belts play simply until it is compiled again."""
    assert compilation.ready()
    cache = shutil.copytree(compilation.cache_directory(), tmp_path / "cache")
    found = list(cache.rglob(f"kernel.run-*.{kind}"))
    assert found
    for path in found:
        os.truncate(path, length)
    code = (
        "from games.engine import levels, compile; from games.onitama.position import Position;"
        "[print(levels.choose(Position.parse(sys.argv[1]), 'brown-belt', seed=1)) for _ in '12'];"
        "assert not compile.ready()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}", str(START)],
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    stand_in = plain.choose(START, plain.STAND_INS["brown-belt"], seed=1)
    assert ran.stdout.split() == [str(stand_in)] * 2
    assert len(ran.stderr.splitlines()) == 1
    assert "damaged" in ran.stderr
