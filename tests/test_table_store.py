"""Endgame tables are kept whole, within a limit, and built by one at a time."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from games.engine import table_store
from games.engine.table_building import Built, build
from games.engine.table_store import Busy, CannotKeep, Store
from games.engine.tables import DIGITS, PAIRS, STARTS
from games.onitama.position import Position
from tests.servers import ROOT

NAMES = ("boar", "crab", "elephant", "horse", "ox")
OTHERS = [("boar", "crab", "elephant", "horse", card) for card in ("rabbit", "tiger", "viper")]
ALONE = Position.parse("0000200000000000000040000 boar,crab,elephant,horse,ox b")
MEGABYTE = 1 << 20


class Builder:
    """In place of the real one: a table with nothing in it, at once."""

    def __init__(self) -> None:
        self.builds: list[tuple[str, ...]] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self, names: tuple[str, ...], men: int) -> Built:
        self.builds.append(names)
        self.meanwhile()
        size = int(STARTS[1, -1])
        parts = (np.full((size, DIGITS), pair, np.uint32) for pair in range(len(PAIRS)))
        tally = np.array([size * len(PAIRS) * 30], np.int64)
        return Built(tuple(sorted(names)), 1, np.zeros(0, np.int64), tally, parts)


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Builder:
    builder = Builder()
    monkeypatch.setattr(table_store, "build", builder)
    return builder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "tables")


def files(store: Store) -> set[str]:
    return {path.name for path in store.directory.iterdir()} - {"lock"}


def kept(store: Store) -> Path:
    [path] = store.directory.glob("*.table")
    return path


def test_it_keeps_what_was_built(store: Store) -> None:
    assert store.get(NAMES, 4) is None
    fresh = build(NAMES, 4).table()
    table = store.build(("ox", "horse", "boar", "crab", "elephant"), 4)
    again = Store(store.directory).get(NAMES, 4)
    assert again is not None
    for one in (table, again):
        assert one.names == NAMES and one.men == 4
        assert np.array_equal(one.words, fresh.words)
        assert np.array_equal(one.long, fresh.long)
        assert np.array_equal(one.tally, fresh.tally)
        assert one.value(ALONE) == fresh.value(ALONE) > 0
    assert files(store) == {"boar-crab-elephant-horse-ox-4.table"}


def test_it_builds_once(store: Store, builder: Builder) -> None:
    first = store.build(NAMES, 4)
    assert store.build(NAMES, 4) is first
    assert store.get(NAMES, 4) is first
    assert Store(store.directory).build(NAMES, 4).names == NAMES
    assert builder.builds == [NAMES]


def test_it_takes_a_table_of_more_men(store: Store, builder: Builder) -> None:
    store.build(NAMES, 4)
    assert store.get(NAMES, 6) is None
    header = table_store._Header(NAMES, 2, 0, 0, 0, 0)
    kept(store).with_name("boar-crab-elephant-horse-ox-6.table").write_bytes(bytes(header))
    table = store.get(NAMES, 4)
    assert table is not None and table.men == 6


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def other_deal(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"ox"', b'"ok"'))


def half_written(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2].ljust(len(content), b"\0"))


def test_it_waits_for_nobody_who_writes_into_a_pipe(store: Store, builder: Builder) -> None:
    store.build(NAMES, 4)
    path = kept(store)
    path.unlink()
    os.mkfifo(path)
    again = Store(store.directory)
    assert again.get(NAMES, 4) is None
    assert again.build(NAMES, 4).names == NAMES
    assert path.is_file()


def test_it_builds_nothing_where_a_directory_stands_in_the_way(
    store: Store, builder: Builder
) -> None:
    path = store.directory / "boar-crab-elephant-horse-ox-4.table"
    path.mkdir(parents=True)
    assert store.get(NAMES, 4) is None
    with pytest.raises(CannotKeep, match="is a directory"):
        store.build(NAMES, 4)
    assert builder.builds == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: flip(path, 60),
        lambda path: flip(path, 4096),
        lambda path: flip(path, path.stat().st_size - 1),
        lambda path: os.truncate(path, path.stat().st_size - 8),
        lambda path: os.truncate(path, 1000),
        lambda path: os.truncate(path, 0),
        lambda path: path.write_bytes(b"PK\x03\x04" * 100_000),
        lambda path: path.write_bytes(b"onitama endgame table 1, little endian\nnothing\n"),
        lambda path: path.write_bytes(path.read_bytes() + b"more"),
        lambda path: path.write_bytes(bytes(table_store._Header(NAMES, "x", 0, 0, 0, 0))),  # type: ignore[arg-type]  # what is spoilt
        lambda path: path.write_bytes(bytes(table_store._Header(NAMES, 1, -1, 0, 0, 0))),
        other_deal,
        half_written,
    ],
)
def test_it_drops_a_spoilt_file_and_builds_anew(
    spoil: Callable[[Path], object], store: Store, builder: Builder
) -> None:
    store.build(NAMES, 4)
    path = kept(store)
    whole = path.read_bytes()
    spoil(path)
    later = Store(store.directory)
    assert later.get(NAMES, 4) is None
    assert files(store) == set()
    later.build(NAMES, 4)
    assert path.read_bytes() == whole
    assert len(builder.builds) == 2


def test_it_does_not_drop_a_file_that_took_the_place_of_a_spoilt_one(
    store: Store, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.build(NAMES, 4)
    path = kept(store)
    whole = path.read_bytes()
    flip(path, 4096)
    checksum = table_store._checksum

    def overtaken(file: BinaryIO) -> int:
        path.with_suffix(".part").write_bytes(whole)
        path.with_suffix(".part").rename(path)
        return checksum(file)

    later = Store(store.directory)
    with monkeypatch.context() as patched:
        patched.setattr(table_store, "_checksum", overtaken)
        assert later.get(NAMES, 4) is None
    assert path.read_bytes() == whole
    assert later.get(NAMES, 4) is not None


def test_it_does_not_take_another_deals_file(store: Store, builder: Builder) -> None:
    store.build(NAMES, 4)
    kept(store).rename(store.directory / "boar-crab-elephant-horse-tiger-4.table")
    assert store.get(OTHERS[1], 4) is None
    assert files(store) == set()


def test_it_opens_a_file_that_was_built_anew(store: Store, builder: Builder) -> None:
    first = store.build(NAMES, 4)
    kept(store).unlink()
    second = Store(store.directory).build(NAMES, 4)
    assert store.get(NAMES, 4) is not first
    assert np.array_equal(first.words, second.words)


def test_it_drops_what_was_not_used_for_longest(store: Store, builder: Builder) -> None:
    size = 8 * MEGABYTE
    store.limit = 3 * size
    used = [store.build(names, 4) for names in OTHERS]
    for age, names in enumerate(OTHERS):
        os.utime(store._path(names, 4), (age, age))
    # In another process it would be the same: the file's time counts.
    assert Store(store.directory).get(OTHERS[0], 4) is not None
    while_building: list[Path] = []
    builder.meanwhile = lambda: while_building.extend(store.directory.glob("*.table"))
    store.build(NAMES, 4)
    # The disk may be as full as the limit: first there is room made, then it is filled.
    assert len(while_building) == 2
    left = {path.name.split("-")[4] for path in store.directory.glob("*.table")}
    assert left == {"rabbit", "viper", "ox"}
    assert sum(path.stat().st_size for path in store.directory.glob("*.table")) <= store.limit
    # Who has the dropped one open reads on.
    assert int(used[1].words[-1]) == len(PAIRS) - 1


def test_it_closes_what_was_dropped(store: Store, builder: Builder) -> None:
    opened = weakref.ref(store.build(NAMES, 4).words)
    assert opened() is not None
    # By another process.
    kept(store).unlink()
    assert store.get(OTHERS[0], 4) is None
    assert opened() is None


def test_it_closes_what_it_drops_before_it_builds(store: Store, builder: Builder) -> None:
    store.limit = 8 * MEGABYTE
    opened = weakref.ref(store.build(NAMES, 4).words)
    while_building: list[object] = []
    builder.meanwhile = lambda: while_building.append(opened())
    store.build(OTHERS[0], 4)
    assert while_building == [None]


def test_it_refuses_what_is_larger_than_the_limit(store: Store, builder: Builder) -> None:
    store.limit = 2 * MEGABYTE
    with pytest.raises(CannotKeep, match="the limit is 2 MB"):
        store.build(NAMES, 4)
    assert builder.builds == []


def test_it_leaves_nothing_when_the_disk_is_full(
    store: Store, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(CannotKeep, match="No space left"):
            store.build(NAMES, 4)
        assert files(store) == set()
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 4, 5 << 20))
        with pytest.raises(CannotKeep, match="7 MB are needed, 5 free"):
            store.build(NAMES, 4)
    assert len(builder.builds) == 1
    store.build(NAMES, 4)


def test_it_says_when_it_may_not_write(tmp_path: Path, builder: Builder) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotKeep, match="Not a directory|File exists"):
        Store(tmp_path / "file").build(NAMES, 4)
    with pytest.raises(CannotKeep, match="Not a directory"):
        Store(tmp_path / "file" / "tables").build(NAMES, 4)
    assert Store(tmp_path / "file" / "tables").get(NAMES, 4) is None
    assert builder.builds == []


def test_it_leaves_nothing_when_the_memory_runs_out(store: Store, builder: Builder) -> None:
    def fail() -> None:
        raise MemoryError

    builder.meanwhile = fail
    with pytest.raises(CannotKeep, match="too little memory to build it"):
        store.build(NAMES, 4)
    assert files(store) == set()


def test_it_leaves_a_file_that_it_has_no_memory_to_read(
    store: Store,
    builder: Builder,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store.build(NAMES, 4)

    def fail(_: object) -> int:
        raise MemoryError

    later = Store(store.directory)
    with monkeypatch.context() as patched:
        patched.setattr(table_store, "_checksum", fail)
        assert later.get(NAMES, 4) is None
    assert "too little memory to read it" in caplog.text
    assert later.get(NAMES, 4) is not None


def test_it_builds_one_table_at_a_time(store: Store, builder: Builder) -> None:
    building, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        building.set()
        assert go_on.wait(60)

    builder.meanwhile = wait
    first = threading.Thread(target=store.build, args=(NAMES, 4))
    first.start()
    assert building.wait(60)
    second, third = Store(store.directory), Store(store.directory)
    with pytest.raises(Busy):
        second.build(OTHERS[0], 4, wait=False)
    assert second.get(NAMES, 4) is None
    found = []
    waiting = threading.Thread(target=lambda: found.append(third.build(NAMES, 4)))
    waiting.start()
    go_on.set()
    first.join(60)
    waiting.join(60)
    assert [table.names for table in found] == [NAMES]
    assert builder.builds == [NAMES]


DIES = """
import sys
from pathlib import Path
from games.engine import table_store
from games.engine.table_building import Built, build

def slow(names, men, **_):
    built = build(names, men)
    def parts():
        for number, part in enumerate(built.parts):
            if number == 200:
                print("writing", flush=True)
                sys.stdin.read()
            yield part
    return Built(built.names, built.most, built.long, built.tally, parts())

table_store.build = slow
table_store.Store(Path(sys.argv[1])).build(tuple(sys.argv[2:]), 4)
"""


@pytest.fixture
def dead_builder(store: Store) -> Iterator[subprocess.Popen[str]]:
    """One that is in the midst of writing its file."""
    with subprocess.Popen(
        [sys.executable, "-c", DIES, str(store.directory), *NAMES],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            assert process.stdout.readline() == "writing\n"
            yield process
        finally:
            process.kill()


def test_it_is_not_held_up_by_a_builder_that_died(
    dead_builder: subprocess.Popen[str], store: Store, builder: Builder
) -> None:
    assert files(store) == {"boar-crab-elephant-horse-ox-4.part"}
    with pytest.raises(Busy):
        store.build(OTHERS[0], 4, wait=False)
    assert files(store) == {"boar-crab-elephant-horse-ox-4.part"}
    dead_builder.send_signal(signal.SIGKILL)
    dead_builder.wait(60)
    assert store.get(NAMES, 4) is None
    store.build(OTHERS[0], 4, wait=False)
    assert files(store) == {"boar-crab-elephant-horse-rabbit-4.table"}


def test_it_removes_what_a_dead_builder_left_though_nothing_is_to_be_built(
    store: Store, builder: Builder, caplog: pytest.LogCaptureFixture
) -> None:
    store.build(NAMES, 4)
    left = store.directory / "boar-crab-elephant-horse-tiger-4.part"
    left.write_bytes(bytes(3 * MEGABYTE))
    store.build(NAMES, 4)
    assert files(store) == {"boar-crab-elephant-horse-ox-4.table"}
    assert f"{left} is removed, 3 MB" in caplog.text
