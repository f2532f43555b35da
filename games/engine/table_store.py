"""Keeps endgame tables in a directory of limited size, for all processes of the machine.

A file appears whole or not at all, and is never written again: whoever has it mapped may go on
reading after it was dropped. Its checksum is compared by each process that opens it, and again
where four others were used since; for six men that takes 0.4 s, and the time to read 860 MB where
they are not in memory yet.
"""

from __future__ import annotations

import fcntl
import json
import logging
import mmap
import os
import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from games.engine.table_building import Built, build
from games.engine.tables import DIGITS, PAIRS, STARTS, STUDENTS, Table

logger = logging.getLogger(__name__)

LIMIT = 4 << 30
# Open at once in a process.
_OPEN = 4
_MAGIC = f"onitama endgame table 1, {sys.byteorder} endian"
_HEADER = 4096
_CHUNK = 4 << 20


class CannotKeep(Exception):
    """The directory cannot be written, or there is no room for the table, there or in memory."""


class Busy(Exception):
    """Somebody else is building a table there."""


class _Damaged(Exception):
    pass


class _Header(NamedTuple):
    """How many numbers of each kind follow it, and the checksum of their bytes."""

    names: tuple[str, ...]
    most: int
    words: int
    long: int
    tally: int
    checksum: int

    def __bytes__(self) -> bytes:
        text = json.dumps(self)
        return f"{_MAGIC}\n{zlib.crc32(text.encode()):08x} {text}\n".encode().ljust(_HEADER)

    @classmethod
    def parse(cls, header: bytes) -> _Header:
        try:
            magic, line = header.decode().strip().split("\n")
            checksum, text = line.split(" ", 1)
            if magic != _MAGIC or int(checksum, 16) != zlib.crc32(text.encode()):
                raise _Damaged("its header is wrong")
            names, *numbers = json.loads(text)
            if {type(number) for number in numbers} != {int} or min(numbers) < 0:
                raise _Damaged("its numbers are none")
            return cls(tuple(map(str, names)), *numbers)
        except (ValueError, TypeError):
            raise _Damaged("it has no header") from None

    @property
    def size(self) -> int:
        return _HEADER + 4 * self.words + 8 * (self.long + self.tally)


class _Opened(NamedTuple):
    inode: int
    table: Table


class Store:
    def __init__(self, directory: Path, limit: int = LIMIT) -> None:
        self.directory = directory
        self.limit = limit
        self._opened: dict[Path, _Opened] = {}

    def get(self, names: tuple[str, ...], men: int = 6) -> Table | None:
        """The deal's table for so many men or more, if there is one; it counts as used."""
        self._close_dropped()
        for more in sorted(STUDENTS, reverse=True):
            if more >= men and (table := self._open(self._path(names, more))) is not None:
                return table
        return None

    def build(
        self,
        names: tuple[str, ...],
        men: int = 6,
        *,
        wait: bool = True,
    ) -> Table:
        """The deal's table, built if need be. One is built at a time: raises Busy or waits."""
        path = self._path(names, men)
        try:
            with self._alone(wait):
                self._clear_up()
                table = self.get(names, men)
                if table is None:
                    if path.is_dir():
                        raise CannotKeep(f"{path} is a directory")
                    self._prepare(_HEADER + 4 * _words(men))
                    self._keep(build(names, men), path)
                    table = self._open(path, checked=True)
        except OSError as error:
            raise CannotKeep(f"{self.directory}: {error.strerror or error}") from error
        except MemoryError as error:
            raise CannotKeep("there is too little memory to build it") from error
        if table is None:
            raise CannotKeep(f"{path} was gone at once")
        return table

    def _path(self, names: tuple[str, ...], men: int) -> Path:
        return self.directory / _name(names, men)

    def _open(self, path: Path, *, checked: bool = False) -> Table | None:
        try:
            # Only a plain file: to open a pipe would be to wait for whoever writes into it.
            if path.exists() and not path.is_file():
                logger.warning("%s is no file", path)
                return None
            with path.open("rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                known = self._opened.pop(path, None)
                if known is None or known.inode != inode:
                    known = _read(file, path, checked)
        except FileNotFoundError:
            self._opened.pop(path, None)
            return None
        except OSError as error:
            logger.warning("%s: %s", path, error.strerror)
            return None
        except MemoryError:
            logger.warning("%s: there is too little memory to read it", path)
            return None
        if known is None:
            return None
        self._opened[path] = known
        while len(self._opened) > _OPEN:
            del self._opened[next(iter(self._opened))]
        with suppress(OSError):
            os.utime(path)
        return known.table

    def _close_dropped(self) -> None:
        """Those that no path leads to any more: they take room on the disk while they are open."""
        for path, known in list(self._opened.items()):
            if _inode(path) != known.inode:
                self._opened.pop(path, None)

    @contextmanager
    def _alone(self, wait: bool) -> Iterator[None]:
        """The lock goes with the process, so one that died holds nobody up."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise Busy(f"a table is being built in {self.directory}") from None
            yield

    def _clear_up(self) -> None:
        """Whoever began these died: nobody else is building, and no limit counts them."""
        for left in self.directory.glob("*.part"):
            size = left.stat().st_size
            left.unlink()
            logger.warning("%s is removed, %d MB: its build was not finished", left, size >> 20)

    def _prepare(self, size: int) -> None:
        if size > self.limit:
            raise CannotKeep(f"a table takes {size >> 20} MB, the limit is {self.limit >> 20} MB")
        self._make_room(size)
        free = shutil.disk_usage(self.directory).free
        if size > free:
            raise CannotKeep(f"{self.directory}: {size >> 20} MB are needed, {free >> 20} free")

    def _make_room(self, size: int) -> None:
        """Drop what has not been used for longest."""
        kept = []
        for path in self.directory.glob("*.table"):
            with suppress(FileNotFoundError):
                seen = path.stat()
                kept.append((seen.st_mtime_ns, seen.st_size, path))
        total = size + sum(used for _, used, _ in kept)
        for _, used, path in sorted(kept):
            if total <= self.limit:
                break
            path.unlink(missing_ok=True)
            total -= used
        self._close_dropped()

    def _keep(self, built: Built, path: Path) -> None:
        part = path.with_suffix(".part")
        try:
            with part.open("wb") as file:
                _write(file, built)
                file.flush()
                os.fsync(file.fileno())
            # The list of long distances came on top.
            self._make_room(part.stat().st_size)
            part.rename(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        directory = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _words(men: int) -> int:
    return len(PAIRS) * int(STARTS[STUDENTS[men], -1]) * DIGITS


def _write(file: BinaryIO, built: Built) -> None:
    """The header comes last, with the checksum."""
    checksum = words = 0
    file.seek(_HEADER)
    for part in built.parts:
        words += part.size
        checksum = zlib.crc32(part.data, checksum)
        file.write(part.data)
    for more in (built.long, built.tally):
        checksum = zlib.crc32(more.data, checksum)
        file.write(more.data)
    header = _Header(built.names, built.most, words, built.long.size, built.tally.size, checksum)
    file.seek(0)
    file.write(bytes(header))


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _read(file: BinaryIO, path: Path, checked: bool) -> _Opened | None:
    """What is in a file; one that is damaged is dropped, unless another took its place."""
    inode = os.fstat(file.fileno()).st_ino
    try:
        return _Opened(inode, _mapped(file, path, checked))
    except _Damaged as error:
        logger.warning("%s is dropped: %s", path, error)
        if _inode(path) == inode:
            with suppress(OSError):
                path.unlink()
        return None


def _mapped(file: BinaryIO, path: Path, checked: bool) -> Table:
    """The table in a file. Raises _Damaged."""
    header = _Header.parse(file.read(_HEADER))
    if os.fstat(file.fileno()).st_size != header.size:
        raise _Damaged("it has another length")
    if path.name != _name(header.names, 2 * header.most + 2):
        raise _Damaged("it is another deal's")
    if not checked and _checksum(file) != header.checksum:
        raise _Damaged("its checksum is wrong")
    # Copied where it is written to, which nobody does: compiled functions want no read-only arrays.
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    words = np.frombuffer(mapped, np.uint32, header.words, _HEADER)
    numbers = np.frombuffer(mapped, np.int64, offset=_HEADER + words.nbytes)
    long, tally = numbers[: header.long], numbers[header.long :]
    return Table(header.names, words, long, header.most, tally)


def _checksum(file: BinaryIO) -> int:
    """By reading, for to read all of a mapping is to have all of it in the process."""
    checksum = 0
    while chunk := file.read(_CHUNK):
        checksum = zlib.crc32(chunk, checksum)
    return checksum


def _name(names: tuple[str, ...], men: int) -> str:
    return f"{'-'.join(sorted(names))}-{men}.table"
