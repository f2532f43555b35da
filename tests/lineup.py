"""Which tests a run has, and which begin it; `python -m tests` loads this as a plugin of pytest."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

DATABASE_FIXTURES = {"db", "transactional_db", "live_server"}
LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--again",
        action="store_true",
        help="after a run on another database: leave out what would show the same",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Between pytest-randomly, which shuffles, and pytest-django, which keeps the order of those
    that need the same of the database. One that begins late and takes long has both wait for it.
    """
    if config.getoption("again"):
        left_out = [item for item in items if not is_worth_it_again(item)]
        items[:] = [item for item in items if is_worth_it_again(item)]
        config.hook.pytest_deselected(items=left_out)
        config.stash[LEFT_OUT] = len(left_out)
    items.sort(key=turn)
    return (yield)


def is_worth_it_again(item: pytest.Item) -> bool:
    """Whether pytest-django lets it use the database, or it goes there by itself; what a browser
    shows is the same on each."""
    if any(map(item.get_closest_marker, ("browser", "once"))):
        return False
    marked = any(map(item.get_closest_marker, ("django_db", "again")))
    return marked or not DATABASE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def turn(item: pytest.Item) -> int:
    marks = ("long", "processes")
    return next((at for at, mark in enumerate(marks) if item.get_closest_marker(mark)), len(marks))


# --- what was left out is said, by the one process that has the terminal -------------------------


def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash.get(LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Each process of xdist has left out the same."""
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(
            f"--again: {left_out} tests left out that show the same on every database"
        )
