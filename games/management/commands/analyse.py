"""What a position is worth, its best move and what is proven, each as one line of JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any, BinaryIO

from django.core.management.base import CommandError, CommandParser

from games.management.commands._positions import POSITION_HELP
from games.management.commands._refusing import RefusingCommand, seconds_up_to, whole_number
from games.onitama.position import BadText, Position

# By name, for it compiles the engine where that is not done: no help and no refusal waits for it.
_ANALYST = "games.management.commands._analyst"
MOST_SECONDS = 24 * 3600
MOST_NODES = 10**12
# No position is half as long.
LONGEST_LINE = 500


class Command(RefusingCommand):
    help = (
        "Print one JSON object: best move, line, score from the mover's view in hundredths of a "
        "student, depth, nodes, seconds, and what is proven: null, 'draw', or the winner and in "
        "how many plies, null where that is not known."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("position", nargs="?", help=POSITION_HELP)
        what.add_argument(
            "--stdin",
            action="store_true",
            help="read positions, one a line, and answer each by a line",
        )
        budget = parser.add_mutually_exclusive_group()
        budget.add_argument(
            "--seconds", type=seconds_up_to(MOST_SECONDS), help="for each position (default 5)"
        )
        budget.add_argument("--nodes", type=whole_number(1, MOST_NODES), help="instead of a time")
        parser.add_argument(
            "--tables",
            action=argparse.BooleanOptionalAction,
            help="build the deal's endgame table first, half a minute or so, where it is not kept "
            "yet; or do without; else what is kept is used",
        )

    def handle(
        self,
        *,
        position: str | None,
        seconds: float | None,
        nodes: int | None,
        tables: bool | None,
        **options: Any,
    ) -> None:
        if position is not None:
            self._refuse_what_is_no_position(position)
        analyst = import_module(_ANALYST).analyst(
            5.0 if seconds is None and nodes is None else seconds, nodes, tables
        )
        for text in _lines(sys.stdin.buffer) if position is None else [position]:
            if text is None:
                self._say({"error": f"no position has {LONGEST_LINE} letters", "position": None})
            else:
                self._say(analyst.answer(text))

    def _refuse_what_is_no_position(self, text: str) -> None:
        try:
            Position.parse(text)
        except BadText as refusal:
            self._say({"error": str(refusal), "position": text})
            raise CommandError(str(refusal), returncode=2) from None

    def _say(self, answer: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(answer))
        self.stdout.flush()


def _lines(file: BinaryIO) -> Iterator[str | None]:
    """Each line without its end; None for one too long to be a position."""
    while line := file.readline(LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            yield line.decode("utf-8", "replace").strip()
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(1 << 16)
        yield None
