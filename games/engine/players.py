"""Who can play a match: a level, the engine in some setting, or any program that speaks lines."""

from __future__ import annotations

import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from games.engine import compile as compilation
from games.engine import levels, plain
from games.engine.arrays import reading
from games.onitama.position import Action, BadText, Position, parse_move, quoted

try:
    compilation.compile_first()
    from games.engine.bitboard import deal_of
    from games.engine.evaluation import Weights
    from games.engine.search import Engine, weighed_by
    from games.engine.table_store import Store
    from games.engine.tables import EMPTY
except ImportError as _refusal:
    # Levels and programs play without it.
    NO_ENGINE = f"the engine needs Numba, which cannot be loaded: {_refusal}"
else:
    NO_ENGINE = ""

# How long beyond its time a program may take: it has to start, too, maybe on a busy machine.
GRACE = 30.0
_NEVER = "(?!)"
# What an engine may be told: how it is written, and read.
_OPTIONS: Mapping[str, tuple[str, Callable[[str], Any]]] = MappingProxyType(
    {
        "nodes": ("[1-9][0-9]{0,11}", int),
        "seconds": (r"[0-9]{1,5}(\.[0-9]{1,6})?", float),
        "cpu": ("[01]", "1".__eq__),
        "tables": ("[01]", "1".__eq__),
        "weights": (r".+\.npz", Path),
    }
)
_TOLD = "nodes=N, seconds=S, cpu=0|1, tables=0|1, weights=FILE.npz"
# Less is no time to think.
_LEAST_SECONDS = 0.001
# No answer is nearly as long.
_LONGEST_LINE = 200


class Forfeit(Exception):
    """The player gave no legal move in time; the message says what it did instead."""


class Player(Protocol):
    def begin(self) -> None:
        """A new game: what was learnt in the last one is forgotten."""

    def move(self, position: Position, history: Sequence[Position], ms: int, seed: int) -> Action:
        """`history` is the game before this position."""

    def close(self) -> None: ...


class Setting(Protocol):
    """What a player is made from; it can be sent to another process."""

    def player(self) -> Player: ...


@dataclass(frozen=True, slots=True)
class LevelSetting:
    level: str

    def player(self) -> Player:
        if self.level not in plain.LEVELS:
            levels.prepare()
        return _Level(self.level)


@dataclass(frozen=True, slots=True)
class EngineSetting:
    """Thinks for the time of the match unless it is given nodes or seconds of its own.

    With `cpu` a second is one of the processor's, which a busy machine takes longer to give.
    `tables` is a directory: the endgame tables kept there are used, none is built. `weights` is a
    file of tune_engine's to judge positions by, in place of our own.
    """

    nodes: int | None = None
    seconds: float | None = None
    cpu: bool = False
    tables: Path | None = None
    weights: Path | None = None

    def player(self) -> Player:
        return _Engine(self)


@dataclass(frozen=True, slots=True)
class ProgramSetting:
    arguments: tuple[str, ...]

    def player(self) -> Player:
        return Program(self.arguments)


def parse_setting(text: str, tables: Path | None = None) -> Setting:
    """A level's name, `engine`, `engine:nodes=5000` (or seconds=, cpu=, tables=, weights=, with
    commas between), or `cmd:PROGRAM`; ValueError says what is wrong with any other."""
    kind, _, rest = text.partition(":")
    if not text.isprintable():
        raise ValueError(f"{quoted(text)} is no line of text")
    if text in levels.LEVELS:
        if NO_ENGINE and text not in plain.LEVELS:
            # It would move, but by a stand-in.
            raise ValueError(NO_ENGINE)
        return LevelSetting(text)
    if kind == "engine":
        return _engine(rest, tables)
    if text.startswith("cmd:"):
        return _program(rest)
    known = ", ".join([*levels.LEVELS, "engine", "cmd:PROGRAM"])
    raise ValueError(f"{quoted(text)} is no player: {known}")


def _engine(options: str, tables: Path | None) -> EngineSetting:
    if NO_ENGINE:
        raise ValueError(NO_ENGINE)
    given = dict[str, Any]()
    for option in options.split(",") if options else ():
        name, _, value = option.partition("=")
        form, read = _OPTIONS.get(name, (_NEVER, str))
        if not re.fullmatch(form, value):
            raise ValueError(f"{quoted(option)} is none of {_TOLD}")
        if name in given:
            raise ValueError(f"{quoted(option)} comes after another {name}=")
        given[name] = read(value)
    if given.get("seconds", _LEAST_SECONDS) < _LEAST_SECONDS:
        raise ValueError(f"{quoted(options)} gives less than {_LEAST_SECONDS} seconds")
    given["tables"] = tables if given.get("tables") else None
    if weights := given.get("weights"):
        read_weights(weights)
    return EngineSetting(**given)


def read_weights(path: Path) -> Weights:
    """Raises ValueError, whose message is for whoever named the file."""
    with reading(path, "weights"):
        return Weights.load(path)


def _program(command: str) -> ProgramSetting:
    try:
        arguments = shlex.split(command)
    except ValueError as odd:
        raise ValueError(f"{quoted(command)} is no command: {odd}") from None
    if not arguments:
        raise ValueError("cmd: needs a program")
    if shutil.which(arguments[0]) is None:
        raise ValueError(f"there is no program {quoted(arguments[0])}")
    return ProgramSetting(tuple(arguments))


@dataclass(frozen=True, slots=True)
class _Level:
    level: str

    def begin(self) -> None:
        pass

    def move(self, position: Position, history: Sequence[Position], ms: int, seed: int) -> Action:
        # A level that goes by nodes does not care for the time; for the other one a second is the
        # processor's, so that a busy machine does not weaken it.
        return levels.choose(
            position,
            self.level,
            seed=seed,
            seconds=ms / 1000,
            history=history,
            clock=time.thread_time,
        )

    def close(self) -> None:
        pass


def warm_engine(table_bits: int = 20, weights: Path | None = None) -> Engine:
    """Loading what was compiled is no part of the first answer."""
    engine = (
        Engine(table_bits) if weights is None else weighed_by(Weights.load(weights), table_bits)
    )
    engine.analyse(Position.start(("tiger", "crab", "monkey", "crane", "ox")), nodes=100)
    return engine


class _Engine:
    def __init__(self, setting: EngineSetting) -> None:
        self._setting = setting
        self._engine = warm_engine(weights=setting.weights)
        self._store = None if setting.tables is None else Store(setting.tables)

    def begin(self) -> None:
        pass

    def move(self, position: Position, history: Sequence[Position], ms: int, seed: int) -> Action:
        seconds, nodes = self._setting.seconds, self._setting.nodes
        table = self._store.get(deal_of(position).names, 4) if self._store else None
        found = self._engine.analyse(
            position,
            exact=False,
            seconds=ms / 1000 if seconds is None and nodes is None else seconds,
            nodes=nodes,
            history=history,
            table=table or EMPTY,
            clock=time.thread_time if self._setting.cpu else time.perf_counter,
        )
        assert found.action is not None  # noqa: S101 - the game is not over
        return found.action

    def close(self) -> None:
        pass


class Program:
    """A process that is sent `BOARD CARDS TURN MS`, one line a question, and answers each by one
    line, a move like boar:a1a2 or boar:pass.

    MS is the time it may take, in milliseconds. It is not told what was played before, so it can't
    see a repetition coming. It is kept from game to game; one that dies, says anything else or is
    silent for GRACE seconds beyond its time forfeits the game and is started anew.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""

    def begin(self) -> None:
        pass

    def move(self, position: Position, history: Sequence[Position], ms: int, seed: int) -> Action:
        try:
            process = self._running()
            self._send(process, f"{position} {ms}\n".encode())
            return _legal(self._line(process, ms / 1000 + GRACE), position)
        except Forfeit:
            self.close()
            raise

    def close(self) -> None:
        process, self._process, self._unread = self._process, None, b""
        if process is None:
            return
        # It and what it started; not yet waited for, so the number is still its own.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        process.wait()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - whoever plays names the program
                    self._arguments,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    bufsize=0,
                    start_new_session=True,
                )
            except OSError as refusal:
                raise Forfeit(f"did not start: {refusal.strerror}") from None
        return self._process

    def _send(self, process: subprocess.Popen[bytes], question: bytes) -> None:
        if self._unread or self._hears(process, 0):
            raise Forfeit(f"said {_shown(self._unread)} unasked")
        assert process.stdin is not None  # noqa: S101 - it was given a pipe
        try:
            process.stdin.write(question)
        except BrokenPipeError:
            raise Forfeit("ended") from None

    def _line(self, process: subprocess.Popen[bytes], patience: float) -> bytes:
        until = time.monotonic() + patience
        while b"\n" not in self._unread and len(self._unread) < _LONGEST_LINE:
            if not self._hears(process, until - time.monotonic()):
                raise Forfeit(f"was silent for {patience:g} s")
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _hears(self, process: subprocess.Popen[bytes], seconds: float) -> bool:
        """Whether it says something within that time, which is then to be read."""
        assert process.stdout is not None  # noqa: S101 - it was given a pipe
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(max(0, seconds)):
                return False
        said = os.read(process.stdout.fileno(), 4096)
        if not said:
            raise Forfeit("ended")
        self._unread += said
        return True


def _legal(line: bytes, position: Position) -> Action:
    try:
        action = parse_move(line.decode("ascii", "replace").strip())
    except BadText:
        raise Forfeit(f"said {_shown(line)}, which is no move") from None
    if action not in position.legal_moves():
        raise Forfeit(f"played {action}, which is not legal in {position}")
    return action


def _shown(line: bytes) -> str:
    return quoted(line.decode("utf-8", "replace"))
