"""Ties a process to its parent's life; as a script, itself first and then what it becomes.

`python tied.py PARENT COMMAND ...`: without imports of ours, for it runs before every child.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have the kernel end this process when `parent` is gone, even by SIGKILL."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have gone before the kernel knew our wish.
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - the callers name their own programs
