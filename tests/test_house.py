"""The plan of the house: which module may import which, and how each begins."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# From the roof down; an import may point to its own floor or further down, never up.
FLOORS: list[set[str]] = [
    {"games.management", "games.urls", "games.apps"},
    {"games.admin", "games.context", "games.views", "games.templatetags"},
    {"games.tasks", "games.waking"},
    {"games.engine_room"},
    {"games.endgames"},
    {
        *(
            "games.absence",
            "games.archive",
            "games.away_hours",
            "games.challenges",
            "games.notices",
        ),
        *("games.deliveries", "games.digests"),
        *("games.feed_addresses", "games.feeds", "games.ical"),
        *("games.engine_moves", "games.play", "games.reminders", "games.sweep"),
    },
    {"games.guests", "games.push", "games.push_service"},
    {
        *("games.away_forms", "games.challenge_forms", "games.forms"),
        *("games.preference_forms", "games.push_forms"),
    },
    {"games.belts"},
    {"games.away", "games.letters", "games.models", "games.shown"},
    {"games.characters", "games.wording"},
    {"accounts"},
    {"games.engine"},
    {"games.clock", "games.hours", "games.onitama", "games.strengths", "games.thinking"},
]


def modules() -> dict[str, Path]:
    """Every module of ours by its dotted name; migrations only repeat what was."""
    found = {}
    for package in ("accounts", "games", "onitama_site"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                parts = path.relative_to(ROOT).with_suffix("").parts
                found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text())


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            yield inner if inner in MODULES else str(node.module)


@cache
def imports(name: str) -> frozenset[str]:
    return frozenset(found for node in ast.walk(tree(name)) for found in _named(node))


def ours(name: str) -> set[str]:
    return {found for found in imports(name) if found in MODULES} - {name}


def floor(name: str) -> int | None:
    for height, members in enumerate(FLOORS):
        if any(name == member or name.startswith(f"{member}.") for member in members):
            return height
    return None


COMPILED = {"llvmlite", "numba", "numpy"}
PURE = [
    n
    for n in MODULES
    if n.startswith(
        ("games.onitama", "games.engine.", "games.clock", "games.strengths", "games.thinking")
    )
]


def reached_from(*names: str) -> set[str]:
    seen, todo = set(names), list(names)
    while todo:
        for found in ours(todo.pop()) - seen:
            seen.add(found)
            todo.append(found)
    return seen


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("games.")])
def test_it_stands_on_a_floor_of_the_house(name: str) -> None:
    assert floor(name) is not None, f"{name} has no floor: give it one, and look at its imports"


@pytest.mark.parametrize("name", MODULES)
def test_it_imports_only_downwards(name: str) -> None:
    here = floor(name)
    for found in ours(name):
        there = floor(found)
        if here is not None and there is not None:
            assert there >= here, f"{name} imports {found}, which stands above it"


@pytest.mark.parametrize("name", MODULES)
def test_it_is_part_of_no_circle(name: str) -> None:
    for found in ours(name):
        # A package's __init__ that names its own modules is no circle.
        if not name.startswith(f"{found}."):
            assert name not in reached_from(found), f"{name} and {found} need each other"


@pytest.mark.parametrize("name", MODULES)
def test_it_imports_at_its_top_and_absolutely(name: str) -> None:
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = [n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)]
            assert not inside, f"{name}.{node.name} hides an import"
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{name} imports relatively"


@pytest.mark.parametrize("name", [name for name in MODULES if MODULES[name].stat().st_size])
def test_it_says_what_it_is_for(name: str) -> None:
    assert ast.get_docstring(tree(name)), f"{name} does not open with a sentence"
    for first in tree(name).body[1:2]:
        begins_well = isinstance(first, ast.ImportFrom) and first.module == "__future__"
        assert begins_well, f"{name} lacks its __future__ import"


@pytest.mark.parametrize("name", PURE)
def test_the_rules_need_only_the_standard_library(name: str) -> None:
    """The engine computes with Numba besides, and knows nothing of Django either."""
    more = COMPILED if name.startswith("games.engine.") else set()
    for found in imports(name):
        top = found.partition(".")[0]
        known = found in PURE or top in sys.stdlib_module_names | more
        assert known, f"{name} imports {found}"


@pytest.mark.parametrize("name", MODULES)
def test_the_engine_alone_computes_with_numba(name: str) -> None:
    found = {found.partition(".")[0] for found in imports(name)} & COMPILED
    allowed = name.startswith(("games.engine.", "games.management.commands."))
    assert allowed or not found, f"{name} imports {found}"


def test_accounts_know_nothing_of_games() -> None:
    for name in MODULES:
        if name.startswith("accounts"):
            assert not [found for found in ours(name) if found.startswith("games")], name


def test_pages_never_reach_the_engine_or_the_tasks() -> None:
    pages = [name for name in MODULES if name.startswith(("games.views", "accounts.views"))]
    roots = [*pages, *({"games.urls", "accounts.urls", "games.context"} & MODULES.keys())]
    reached = reached_from(*roots)
    assert not [name for name in reached if name.startswith(("games.engine", "games.tasks"))]
