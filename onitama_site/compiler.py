"""Compiles the computer's engine beside the running site, and tells how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onitama_site.processes import Child

COMMAND = (sys.executable, "manage.py", "compile_engine", "--nice")


@dataclass
class Compiler:
    """A child that nobody depends on. What it prints goes into a file, and from there to `say`."""

    log: Path
    say: Callable[[str], object]
    command: Sequence[str] = COMMAND
    _child: Child | None = None
    _told: int = field(default=0, init=False)

    def start(self) -> None:
        self.say("The computer's engine is being compiled, once; until then it plays simply.")
        with self.log.open("wb") as output:
            self._child = Child.start("compiler", self.command, output=output)

    def look(self) -> None:
        """Tell what is new, and last how it ended."""
        if self._child is None:
            return
        ended = self._child.ended
        self._tell()
        if ended:
            code, self._child = self._child.kill(), None
            self.say(
                f"The engine could not be compiled: see {self.log}. The computer plays simply."
                if code
                else "The engine is compiled: the computer plays at full strength."
            )

    def _tell(self) -> None:
        lines = self.log.read_text(errors="replace").splitlines(keepends=True)
        whole = [line.rstrip() for line in lines if line.endswith("\n")]
        for line in whole[self._told :]:
            self.say(f"  {line}")
        self._told = len(whole)

    def stop(self) -> None:
        """What is compiled by now is kept."""
        if self._child is not None:
            self._child.kill()
            self._child = None
