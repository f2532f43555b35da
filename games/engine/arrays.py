"""Files of arrays that somebody names on a command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from zipfile import BadZipFile
from zlib import error as BadDeflate

from games.onitama.position import quoted

# What NumPy raises for a file that is none of its own, or a damaged one.
_DAMAGED = (
    *(ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, MemoryError),
    *(BadZipFile, BadDeflate, TokenError),
)


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Raises ValueError where the file cannot be read or holds no `what`, with a message for
    whoever named it."""
    try:
        yield
    except OSError as refusal:
        raise ValueError(f"{quoted(str(path))} cannot be read: {refusal.strerror}") from None
    except _DAMAGED:
        raise ValueError(f"{quoted(str(path))} holds no {what}") from None
