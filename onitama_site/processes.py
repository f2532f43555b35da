"""Child processes that end with their parent, however it ends, and how to stop them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from onitama_site import tied

_TICK = 0.05


def never() -> bool:
    return False


@dataclass(frozen=True)
class Child:
    """A process in a session of its own: a Ctrl-C at the terminal does not reach it."""

    name: str
    process: subprocess.Popen[bytes]

    @classmethod
    def start(
        cls,
        name: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
        output: IO[bytes] | None = None,
    ) -> Child:
        # Not by preexec_fn, which is not safe where there are threads.
        tie = [sys.executable, "-I", "-S", tied.__file__, str(os.getpid())]
        process = subprocess.Popen(  # noqa: S603 - the callers name their own programs
            [*tie, *command],
            env=environment,
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        return cls(name, process)

    @property
    def ended(self) -> bool:
        """Looks without reaping, so that the number stays the child's own until `kill`."""
        if self.process.returncode is not None:
            return True
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, options) is not None

    def signal(self, number: int) -> None:
        """Reaches the child and all it started."""
        if self.process.returncode is None:
            os.killpg(self.process.pid, number)

    def kill(self) -> int:
        """End the child, if it has not ended, and all it started; its exit code."""
        self.signal(signal.SIGKILL)
        return self.process.wait()

    def ask(self) -> None:
        """Tell the child, not what it started, to end in its own way."""
        if not self.ended:
            self.process.terminate()

    def end(self, patience: float, hurry: Callable[[], bool] = never) -> bool:
        """Wait for `patience` seconds at most, then kill; whether the child ended by itself."""
        limit = time.monotonic() + patience
        while not self.ended and time.monotonic() < limit and not hurry():
            time.sleep(_TICK)
        in_time = self.ended
        self.kill()
        return in_time
