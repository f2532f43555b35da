"""Compiles the engine once and says whether that is done: `python -m games.engine.compile`.

Numba keeps what it compiled on disk, function by function, and looks at a function's own file to
see whether that still holds. Ours call each other across files, so here all of them count.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

_HERE = Path(__file__).parent
# In the order in which they need each other; importing one compiles it.
MODULES = ("bitboard", "tables", "table_building", "evaluation", "moves", "kernel", "search")


class CannotCompile(Exception):
    """The message says why, in a line."""


def cache_directory() -> Path:
    """Where Numba keeps compiled functions: NUMBA_CACHE_DIR, or beside the sources."""
    return Path(os.environ.get("NUMBA_CACHE_DIR") or _HERE / "__pycache__")


def fingerprint() -> str:
    """Of all that decides what is compiled; without Numba, of that. Does not import Numba."""
    digest = hashlib.sha256()
    for path in sorted(_HERE.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    for package in ("numba", "numpy", "llvmlite"):
        try:
            digest.update(metadata.version(package).encode())
        except metadata.PackageNotFoundError:
            digest.update(b"none")
    digest.update(f"{platform.python_version()} {platform.machine()} {_HERE}".encode())
    return digest.hexdigest()


def ready() -> bool:
    """Whether the compiled engine loads in a moment here."""
    try:
        return (cache_directory() / "engine-ready").read_bytes() == fingerprint().encode()
    except OSError:
        return False


def compile_all() -> Iterator[tuple[str, float]]:
    """Compile each module in turn; gives its name and the seconds it took.

    Raises ImportError where Numba is missing, OSError where the cache cannot be written.
    """
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    marker = cache / "engine-ready"
    if not ready():
        forget()
    for name in MODULES:
        began = time.monotonic()
        importlib.import_module(f"games.engine.{name}")
        yield name, time.monotonic() - began
    written = marker.with_name(f"engine-ready-{os.getpid()}")
    written.write_text(fingerprint())
    written.replace(marker)


def forget() -> None:
    """Take nothing that was compiled for granted. Raises OSError where it cannot be removed."""
    cache = cache_directory()
    (cache / "engine-ready").unlink(missing_ok=True)
    stems = {path.stem for path in _HERE.glob("*.py")}
    for index in cache.rglob("*.nbi"):
        if index.name.split(".")[0] in stems:
            index.unlink(missing_ok=True)


def compile_aloud(say: Callable[[str], object]) -> None:
    """Compile what is not compiled yet; says a line for each module. Raises CannotCompile."""
    if ready():
        say("The engine is compiled already.")
        return
    try:
        cache_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
        for number, (name, seconds) in enumerate(compile_all(), 1):
            say(f"{number}/{len(MODULES)} {name} {seconds:.1f} s")
    except ImportError as error:
        raise CannotCompile(f"The engine needs what is not installed here: {error}") from error
    except OSError as error:
        raise CannotCompile(f"The compiled engine cannot be kept: {error}") from error


def compile_first() -> None:
    """For a command, before it imports the engine: nothing of other sources is then used.

    Tells of it where it takes long. What cannot be kept is compiled as it is loaded.
    """
    if ready() or find_spec("numba") is None:
        return
    sys.stderr.write("The engine is not compiled yet: this takes a minute.\n")
    with suppress(ImportError, OSError):
        for _module in compile_all():
            pass


def main() -> int:
    try:
        compile_aloud(partial(print, flush=True))
    except CannotCompile as refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
