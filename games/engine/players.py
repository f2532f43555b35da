"""Who can play a match: a level, the engine in some setting, or any program that speaks lines."""

from __future__ import annotations

import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from games.engine import levels
from games.onitama.position import Action, BadText, Position, parse_move, quoted

# How long beyond its time a program may take: it has to start, too.
GRACE = 10.0
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
        return _Level(self.level)


@dataclass(frozen=True, slots=True)
class ProgramSetting:
    arguments: tuple[str, ...]

    def player(self) -> Player:
        return Program(self.arguments)


def parse_setting(text: str) -> Setting:
    """A level's name or `cmd:PROGRAM`; ValueError says what is wrong with any other."""
    if not text.isprintable():
        raise ValueError(f"{quoted(text)} is no line of text")
    if text in levels.LEVELS:
        return LevelSetting(text)
    if text.startswith("cmd:"):
        return _program(text.removeprefix("cmd:"))
    raise ValueError(f"{quoted(text)} is no player: {', '.join(levels.LEVELS)}, cmd:PROGRAM")


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
        return levels.choose(position, self.level, seed=seed, history=history)

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
