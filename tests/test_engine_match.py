"""Two players meet over paired deals, and the score says how sure it is."""

from __future__ import annotations

import math
import os
import random
import re
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command, execute_from_command_line

from games.engine import levels, match, players
from games.engine.elo import difference
from games.engine.evaluation import Weights
from games.engine.levels import choose
from games.engine.match import MOST_PLIES, Match, Pair, Played, Score, play_game
from games.engine.players import Forfeit, Player, Program, parse_setting
from games.engine.search import Analysis
from games.engine.table_store import Store
from games.engine.tables import EMPTY, Table
from games.onitama.cards import BLUE, CARDS, DECKS, RED, Deal, deal
from games.onitama.position import Action, Position
from games.onitama.record import Record

DEAL: Deal = ("tiger", "crab", "monkey", "crane", "dragon")
START = Position.start(DEAL)
FEW = Position.parse("2000010000000000030000004 tiger,crab,monkey,crane,dragon b")
NEAR = Position.parse("0000000000000000020000004 tiger,crab,monkey,crane,dragon b")

# Answers by the random level; the first argument says how it goes wrong at its third question.
PROGRAM = """
import sys, time
from pathlib import Path
fault, notes = sys.argv[1], Path(sys.argv[2])
sys.path.insert(0, sys.argv[3])
from games.engine.evaluation import Weights
from games.engine.levels import choose
from games.onitama.position import Position
with notes.open("a") as file:
    file.write("started\\n")
for asked, line in enumerate(sys.stdin, start=1):
    with notes.open("a") as file:
        file.write(line)
    text, _, ms = line.rstrip("\\n").rpartition(" ")
    assert ms.isdigit()
    answer = str(choose(Position.parse(text), "random", seed=asked))
    if asked == 3 and fault == "dying":
        sys.exit(3)
    if asked == 3 and fault == "silent":
        time.sleep(60)
    if asked == 3 and fault == "endless":
        print("x" * 10**6, end="", flush=True)
        time.sleep(60)
    if asked == 3:
        answer = {
            "illegal": "goat:a1a2", "garbage": "resign\\xff!", "empty": "",
            "talkative": answer + "\\nthinking...",
        }.get(fault, answer)
    print(answer, flush=True)
    if asked == 3 and fault == "twofold":
        print(answer, flush=True)
    with notes.open("a") as file:
        file.write(f"answered {asked}\\n")
"""


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine: a program that is slow to start is no part of these tests."""
    monkeypatch.setattr(players, "GRACE", 200.0)


def program(tmp_path: Path, fault: str = "none") -> str:
    source = tmp_path / "program.py"
    source.write_text(PROGRAM)
    root = Path(__file__).parent.parent
    words = [sys.executable, str(source), fault, str(tmp_path / "notes"), str(root)]
    return f"cmd:{shlex.join(words)}"


def notes(tmp_path: Path) -> list[str]:
    return (tmp_path / "notes").read_text().splitlines()


@dataclass
class Scripted:
    """Plays what it is told, over and over; notes what it was asked."""

    tokens: Sequence[str]

    def __post_init__(self) -> None:
        self.asked: list[tuple[Position, tuple[Position, ...], int, int]] = []

    def begin(self) -> None:
        self.asked.clear()

    def move(self, position: Position, history: Sequence[Position], ms: int, seed: int) -> Action:
        token = self.tokens[len(self.asked) % len(self.tokens)]
        self.asked.append((position, tuple(history), ms, seed))
        return next(action for action in position.legal_moves() if str(action) == token)

    def close(self) -> None:
        pass


def game(winner: str | None, ending: str = "stone") -> Played:
    return Played(START, (), {"b": BLUE, "r": RED, None: None}[winner], ending, ())


def pair(one: str | None, two: str | None) -> Pair:
    return Pair(0, (game(one), game(two)))


# --- what a score says -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "elo"),
    [
        ([1.0] * 50, 0.0),
        ([2.0, 1.0] * 50, 190.849),
        ([0.0, 1.0] * 50, -190.849),
        ([2.0] * 9 + [1.5, 0.5] + [0.0] * 9, 0.0),
        # 400 points are odds of ten to one.
        ([20 / 11] * 10, 400.0),
    ],
)
def test_it_gives_the_elo_of_a_score(points: list[float], elo: float) -> None:
    found = difference(points)
    assert found.elo == pytest.approx(elo, abs=0.001)
    assert found.low < found.elo < found.high


def test_its_error_bars_are_those_of_the_pairs() -> None:
    rng = random.Random(1)
    points = [rng.choice([0.0, 1.0, 1.0, 1.0, 1.5, 2.0]) for _ in range(1000)]
    found = difference(points)
    mean = statistics.mean(points) / 2
    error = 1.96 * statistics.stdev(points) / 2 / math.sqrt(len(points))
    expected = [-400 * math.log10(1 / score - 1) for score in (mean - error, mean + error)]
    assert [found.low, found.high] == pytest.approx(expected, abs=0.3)
    # A deal that decides both games says less than two games would.
    assert difference([0.0, 2.0] * 50).high > difference([0.5, 1.5] * 50).high
    assert difference([0.5, 1.5] * 50).high > difference([1.0] * 100).high


def test_its_error_bars_hold_the_truth_as_often_as_they_say() -> None:
    rng = random.Random(2)
    truth = -400 * math.log10(1 / 0.8 - 1)
    held = 0
    for _ in range(1000):
        points = [float((rng.random() < 0.8) + (rng.random() < 0.8)) for _ in range(30)]
        found = difference(points)
        held += found.low <= truth <= found.high
    assert 930 <= held <= 975


@pytest.mark.parametrize("pairs", [1, 10, 1000])
def test_it_stays_sane_where_every_game_went_one_way(pairs: int) -> None:
    won, lost = difference([2.0] * pairs), difference([0.0] * pairs)
    assert won.elo == won.high == math.inf
    assert lost.elo == lost.low == -math.inf
    assert math.isfinite(won.low)
    assert won.low == pytest.approx(-lost.high)
    assert str(won) == f"above {won.low:+.0f} (95 %)"
    assert str(lost) == f"below {lost.high:+.0f} (95 %)"


def test_more_wins_in_a_row_prove_more() -> None:
    one, ten, thousand = (difference([2.0] * pairs).low for pairs in (1, 10, 1000))
    assert -200 < one < 100 < ten < 400 < thousand < 1500


def test_it_counts_from_the_side_of_a() -> None:
    score = Score(
        (pair("b", "r"), pair("b", "b"), pair(None, "b"), pair("r", None), pair("b", "r"))
    )
    assert (score.won, score.drawn, score.lost, score.points) == (5, 2, 3, 6.0)
    assert score.pairs_by_points() == [0, 2, 1, 0, 2]
    assert score.elo == difference([2.0, 1.0, 0.5, 0.5, 2.0])


# --- what a game is --------------------------------------------------------------------------


def test_each_deal_is_played_twice_with_sides_swapped() -> None:
    contest = Match(a=parse_setting("two-ply"), b=parse_setting("random"), ms=1, seed=4)
    pairs = list(contest.play(3))
    assert len({str(it.games[0].start) for it in pairs}) == 3
    for it in pairs:
        one, two = it.games
        assert one.start == two.start
        assert one.start.turn is CARDS[one.start.side_card].stamp
        assert set(one.start.cards) <= set(DECKS["base"])
        # The two-ply level takes a win that is there; the random one hardly ever does.
        for played, colour in it.of():
            assert played.winner is colour


def test_the_same_seed_means_the_same_games() -> None:
    a, b = parse_setting("random"), parse_setting("random")
    games = [
        [it.games[0].actions for it in Match(a=a, b=b, ms=1, seed=seed, deck="all34").play(4)]
        for seed in (1, 1, 2)
    ]
    assert games[0] == games[1] != games[2]
    cards = {card for it in Match(a=a, b=b, ms=1, deck="all34").play(9) for card in cards_of(it)}
    assert not cards <= set(DECKS["base"])


def cards_of(it: Pair) -> Deal:
    return it.games[0].start.cards


def test_two_processes_play_the_same_games_as_one() -> None:
    contest = Match(a=parse_setting("two-ply"), b=parse_setting("random"), ms=1, seed=8)
    here = {it.number: [played.actions for played in it.games] for it in contest.play(3)}
    there = {it.number: [played.actions for played in it.games] for it in contest.play(3, jobs=2)}
    assert here == there


def test_a_process_that_dies_is_told() -> None:
    contest = Match(a=Deadly(), b=parse_setting("random"), ms=1)
    with pytest.raises(RuntimeError, match="ended before its game did"):
        list(contest.play(2, jobs=2))


@dataclass(frozen=True)
class Deadly:
    def player(self) -> Player:
        os._exit(1)


def test_a_player_is_told_the_game_so_far() -> None:
    blue, red = Scripted(["crab:b1b2", "crab:b2b1"]), Scripted(["monkey:b5c4"])
    with pytest.raises(StopIteration):
        play_game(START, {BLUE: blue, RED: red}, 7, 100)
    assert [len(history) for _, history, _, _ in [*red.asked, *blue.asked]] == [0, 2, 1]
    position, history, ms, seed = red.asked[1]
    assert (ms, seed) == (7, 102)
    assert [START, blue.asked[0][0], position] == [*history, position]


def test_the_third_time_is_a_draw() -> None:
    start = Position.parse("0000000000200000000400000 ox,horse,boar,crab,monkey b")
    line = shuffle(start)
    blue, red = Scripted(line[::2]), Scripted(line[1::2])
    played = play_game(start, {BLUE: blue, RED: red}, 1, 0)
    assert (played.winner, played.ending) == (None, "repetition")
    assert len(played.actions) == 2 * len(line)
    assert Record.read(played.record("a", "b", "base")).termination == "repetition"


def shuffle(start: Position) -> list[str]:
    """The shortest line back to where it began."""
    lines: dict[Position, list[str]] = {}
    edge = {start: list[str]()}
    while start not in lines:
        following: dict[Position, list[str]] = {}
        for position, line in edge.items():
            for action in position.legal_moves():
                then = position.after(action)
                if then.outcome() is None and then not in lines:
                    following.setdefault(then, [*line, str(action)])
        lines |= following
        edge = following
    return lines[start]


@dataclass
class Shy:
    """Wins only where it must, and goes where it has been least."""

    def begin(self) -> None:
        pass

    def move(self, position: Position, history: Sequence[Position], ms: int, seed: int) -> Action:
        def shame(action: Action) -> tuple[bool, int]:
            then = position.after(action)
            return then.outcome() is not None, history.count(then)

        return min(position.legal_moves(), key=shame)

    def close(self) -> None:
        pass


def test_two_hundred_plies_are_a_draw() -> None:
    played = play_game(START, {BLUE: Shy(), RED: Shy()}, 1, 0)
    assert (played.winner, played.ending, len(played.actions)) == (None, "200 plies", MOST_PLIES)
    assert '[Result "*"]' in played.record("a", "b", "base")


def test_a_win_at_the_last_ply_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match, "MOST_PLIES", 1)
    (win,) = NEAR.winning(NEAR.legal_moves())
    played = play_game(NEAR, {BLUE: Scripted([str(win)]), RED: Scripted([])}, 1, 0)
    assert (played.winner, played.ending) == (BLUE, "stream")
    assert Record.read(played.record("a", "b", "base")).termination == "stream"
    assert len(played.seconds_of(BLUE)) == 1
    assert played.seconds_of(RED) == ()


# --- the engine ------------------------------------------------------------------------------


@dataclass
class FakeEngine:
    asked: list[dict[str, Any]] = field(default_factory=list)

    def analyse(self, position: Position, **asked: Any) -> Analysis:
        self.asked.append(asked)
        action = position.legal_moves()[-1]
        return Analysis(action, (action,), 0, 1, 1, 0.0, None)


@pytest.mark.parametrize(
    ("text", "seconds", "nodes", "clock"),
    [
        ("engine", 0.25, None, time.perf_counter),
        ("engine:nodes=5000", None, 5000, time.perf_counter),
        ("engine:seconds=1.5", 1.5, None, time.perf_counter),
        ("engine:seconds=2,nodes=7,cpu=0", 2.0, 7, time.perf_counter),
        ("engine:cpu=1", 0.25, None, time.thread_time),
    ],
)
def test_the_engine_is_told_time_and_history(
    text: str,
    seconds: float | None,
    nodes: int | None,
    clock: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = FakeEngine()
    monkeypatch.setattr(players, "warm_engine", lambda **_: fake)
    history = [NEAR, START]
    action = parse_setting(text).player().move(START, history, 250, 1)
    assert action == START.legal_moves()[-1]
    (asked,) = fake.asked
    assert asked.pop("table") is EMPTY
    assert asked.pop("exact") is False
    assert asked == {"seconds": seconds, "nodes": nodes, "clock": clock, "history": history}


def test_the_engine_uses_the_tables_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeEngine()
    monkeypatch.setattr(players, "warm_engine", lambda **_: fake)

    def men(text: str) -> int:
        parse_setting(text, tmp_path).player().move(FEW, (), 1, 1)
        table: Table = fake.asked[-1]["table"]
        return table.men

    assert men("engine:tables=1") == EMPTY.men
    Store(tmp_path).build(tuple(sorted(DEAL)), 4)
    assert men("engine:tables=1") == 4
    assert men("engine:tables=0") == men("engine") == EMPTY.men


@pytest.mark.parametrize(("level", "loaded"), [("random", 0), ("black-belt", 1)])
def test_a_belt_is_loaded_before_its_first_move(
    level: str, loaded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(levels, "prepare", lambda: calls.append("prepared"))
    parse_setting(level).player()
    assert len(calls) == loaded


def test_a_level_is_told_time_and_history(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def choose(position: Position, level: str, **told: Any) -> Action:
        asked.append({"level": level, **told})
        return position.legal_moves()[0]

    monkeypatch.setattr(levels, "choose", choose)
    parse_setting("random").player().move(START, [NEAR], 250, 8)
    told = {"seed": 8, "seconds": 0.25, "history": [NEAR], "clock": time.thread_time}
    assert asked == [{"level": "random", **told}]


def test_the_engine_judges_by_the_weights_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        parse_setting(f"engine:weights={path}")
    for written in (b"", b"no weights"):
        path.write_bytes(written)
        with pytest.raises(ValueError, match="holds no weights"):
            parse_setting(f"engine:weights={path}")
    np.savez(path, tempo=np.zeros(2))
    with pytest.raises(ValueError, match="holds no weights"):
        parse_setting(f"engine:weights={path}")
    # Who wants to lose its students plays another move.
    Weights(*(-part for part in Weights.load())).save(path)
    positions = [Position.start(deal("base", random.Random(number))) for number in range(5)]
    ours, theirs = (
        [parse_setting(text).player().move(position, (), 1, 1) for position in positions]
        for text in ("engine:nodes=3000", f"engine:nodes=3000,weights={path}")
    )
    assert ours != theirs


def test_the_engine_is_compiled_anew_before_anything_of_it_is_loaded() -> None:
    """Numba would take kernel.py's search for good when only evaluation.py, which it calls, has
    changed."""
    code = (
        "import sys; from games.engine import compile as compilation\n"
        "def compile_all(): yield print('numba' in sys.modules)\n"
        "compilation.ready, compilation.compile_all = lambda: False, compile_all\n"
        "import games.engine.players; print('numba' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "False\nTrue\n"
    assert ran.stderr == "The engine is not compiled yet: this takes a minute.\n"


def test_without_the_engine_no_stand_in_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "NO_ENGINE", "no Numba")
    monkeypatch.setattr(levels, "LEVELS", ("random", "some-belt"))
    assert parse_setting("random").player()
    for text in ("some-belt", "engine", "engine:nodes=3"):
        with pytest.raises(ValueError, match="no Numba"):
            parse_setting(text)


def test_the_engine_plays() -> None:
    engine, other = parse_setting("engine:nodes=300"), parse_setting("two-ply")
    games = Match(a=engine, b=other, ms=1).play(2)
    assert sum(it.points for it in games) >= 3


# --- programs --------------------------------------------------------------------------------


def test_a_program_plays_a_whole_match(tmp_path: Path) -> None:
    contest = Match(a=parse_setting(program(tmp_path)), b=parse_setting("two-ply"), ms=30)
    pairs = list(contest.play(2))
    assert not any(played.forfeited for it in pairs for played in it.games)
    # Started once, and asked for each of its plies.
    asked = [note for note in notes(tmp_path) if not note.startswith("answered")]
    assert asked[0] == "started"
    assert asked.count("started") == 1
    own = sum(len(played.seconds_of(colour)) for it in pairs for played, colour in it.of())
    assert len(asked) == 1 + own
    first = pairs[0].games[0]
    question = first.start if first.start.turn is BLUE else first.start.play(first.actions[0])
    assert asked[1] == f"{question} 30"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("illegal", "played goat:a1a2, which is not legal in "),
        ("garbage", "said 'resign"),
        ("empty", "said '', which is no move"),
        ("endless", "said 'xxx"),
        ("dying", "ended"),
        ("silent", "was silent for 0.3 s"),
        ("talkative", "said 'thinking...[^']*' unasked"),
        ("twofold", "said '[a-z]*:[^']*' unasked"),
    ],
)
def test_a_program_that_fails_loses_and_is_started_anew(
    tmp_path: Path, fault: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = parse_setting(program(tmp_path, fault)).player()

    def ask(times: int) -> list[Action]:
        return [player.move(START, (), 100, 0) for _ in range(times)]

    answers = ask(2)
    if fault == "silent":
        monkeypatch.setattr(players, "GRACE", 0.2)
    with pytest.raises(Forfeit, match=f"^{reason}"):
        ask(1)
        # Two of them answered well and then went on talking.
        until = time.monotonic() + 60
        while "answered 3" not in notes(tmp_path):
            assert time.monotonic() < until
        ask(1)
    monkeypatch.setattr(players, "GRACE", 200.0)
    assert ask(2) == answers == [choose(START, "random", seed=seed) for seed in (1, 2)]
    assert notes(tmp_path).count("started") == 2
    player.close()


def test_a_forfeit_ends_the_game_not_the_match(tmp_path: Path) -> None:
    contest = Match(a=parse_setting(program(tmp_path, "illegal")), b=parse_setting("two-ply"), ms=5)
    (it,) = contest.play(1)
    for played, colour in it.of():
        assert played.winner is colour.other
        assert played.forfeited
        assert played.ending.startswith("played goat:a1a2")
        assert Record.read(played.record("a", "b", "base")).actions == played.actions
    assert notes(tmp_path).count("started") == 2


def test_no_program_outlives_the_match(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    script = f"read asked; echo $$ > {note}; sleep 60 & echo $! >> {note}; echo hello; sleep 60"
    player = Program(["sh", "-c", script])
    with pytest.raises(Forfeit, match="said 'hello'"):
        player.move(START, (), 1, 0)
    pids = [int(word) for word in note.read_text().split()]
    assert len(pids) == 2
    until = time.monotonic() + 10
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < until


def alive(pid: int) -> bool:
    """Dead but not yet waited for by whoever adopted it is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is no player"),
        ("white", "'white' is no player: random"),
        ("random:nodes=3", "is no player"),
        ("engines", "is no player"),
        ("engine:nodes", "'nodes' is none of nodes=N, seconds=S"),
        ("engine:weights=none.npz", "'none.npz' cannot be read: No such file"),
        ("engine:nodes=0", "'nodes=0' is none of"),
        ("engine:nodes=²", "is none of"),
        ("engine:nodes=5,", "'' is none of"),
        ("engine:seconds=-1", "is none of"),
        ("engine:cpu=2", "is none of"),
        ("engine:depth=2", "is none of"),
        ("cmd", "is no player"),
        ("command:sh", "is no player"),
        ("cmd:", "needs a program"),
        ("cmd:  ", "needs a program"),
        ("cmd:'", "is no command: No closing quotation"),
        ("cmd:/no/such/program -x", "there is no program '/no/such/program'"),
        ("cmd:no-such-program", "there is no program 'no-such-program'"),
    ],
)
def test_it_refuses_a_player_it_does_not_know(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_setting(text)


# --- the command -----------------------------------------------------------------------------


def run(*arguments: str) -> int:
    """The command's exit code, run as a shell would; no test here may touch the database."""
    try:
        execute_from_command_line(["manage.py", "engine_match", *arguments])
    except SystemExit as leaving:
        assert isinstance(leaving.code, int)
        return leaving.code
    return 0


def test_the_command_tells_score_elo_and_losses(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("random", "two-ply", "--games", "6", "--seed", "5") == 0
    said, progress = capsys.readouterr()
    score = re.search(r"^score (.+) of 6 \(.+ %\): (\d) won, (\d) drawn, (\d) lost$", said, re.M)
    assert score
    won, drawn, lost = map(int, score.groups()[1:])
    assert float(score[1]) == won + drawn / 2
    assert won + drawn + lost == 6
    assert lost > 0
    assert re.search(r"^Elo of A over B: (below )?[+-]\d+ \(95 %", said, re.M)
    assert progress.splitlines()[-1] == f"pair 3 of 3: A has {score[1]} of 6"
    records = [
        Record.read(text) for text in re.findall(r"^\[Blue.*?\n\n.*?(?=\n\n|\Z)", said, SPAN)
    ]
    assert len(records) == lost
    for record in records:
        assert record.result in ("blue", "red")
        assert {"blue": record.red, "red": record.blue}[record.result] == "random"
    assert run("random", "two-ply", "--games", "6", "--seed", "5", "--no-losses") == 0
    assert capsys.readouterr().out.count("[Blue") == 0


SPAN = re.M | re.S


def test_the_command_says_what_a_program_forfeited_by(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = program(tmp_path, "garbage")
    assert run(name, "random", "--games", "2", "--ms", "9") == 0
    said = capsys.readouterr().out
    assert "0 won, 0 drawn, 2 lost" in said
    assert "endings: forfeit 2" in said
    assert said.count("A lost: it said 'resign") == 2
    assert said.count('[Result "*"]') == 2


def test_a_match_that_is_stopped_shows_what_was_played(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Match.play

    def stopped(contest: Match, pairs: int, jobs: int) -> Iterator[Pair]:
        yield from whole(contest, after, jobs)
        raise KeyboardInterrupt

    monkeypatch.setattr(Match, "play", stopped)
    after = 2
    assert run("random", "random", "--games", "10", "--no-losses") == 0
    said, progress = capsys.readouterr()
    assert re.search(r"^score .* of 4 ", said, re.M)
    assert progress.endswith("stopped after 2 pairs\n")
    after = 0
    assert run("random", "random", "--games", "10") == 1
    assert "Stopped before the first pair" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "required: A, B"),
        (("random",), "required: B"),
        (("random", "white"), "argument B: 'white' is no player: random, two-ply"),
        (("cmd:no-such-program", "random"), "argument A: there is no program 'no-such-program'"),
        (("cmd:", "random"), "argument A: cmd: needs a program"),
        (("random\n", "random"), "argument A: .* is no line of text"),
        (("random", "random", "--games", "3"), "each deal is played twice: 3 games"),
        (("random", "random", "--games", "0"), "'0' is not a number from 2 to 100,000"),
        (("random", "random", "--games", "-2"), "'-2' is not a number"),
        (("random", "random", "--games", "²"), "'²' is not a number"),
        (("random", "random", "--games", "9" * 5000), "is not a number"),
        (("random", "random", "--ms", "0"), "'0' is not a number from 1"),
        (("random", "random", "--ms", "0.5"), "'0.5' is not a number"),
        (("random", "random", "--jobs", "0"), "'0' is not a number"),
        (("random", "random", "--seed", "x"), "'x' is not a number"),
        (("random", "random", "--deck", "wind"), "invalid choice: 'wind'"),
    ],
)
def test_the_command_refuses_in_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    said, refusal = capsys.readouterr()
    assert said == ""
    assert len(refusal.splitlines()) == 1
    assert re.search(message, refusal)
    with pytest.raises(CommandError):
        call_command("engine_match", *arguments)


def test_the_engine_plays_with_the_weights_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "odd.npz"
    plain = Weights.plain()
    # Nothing is worth anything but to stand still: another move than our own weights choose.
    plain._replace(common=-10 * plain.common).save(path)
    moves = [
        parse_setting(text).player().move(START, (), 100, 1)
        for text in ("engine:nodes=3000", f"engine:nodes=3000,weights={path}")
    ]
    assert moves[0] != moves[1]
