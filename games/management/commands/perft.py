"""Prints how many lines of play a position has, so that anybody can check our rules."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import CommandParser

from games.management.commands._positions import POSITION_HELP
from games.management.commands._refusing import RefusingCommand, whole_number
from games.onitama.perft import perft
from games.onitama.position import BadText, Position

DEEPEST = 50


def _position(text: str) -> Position:
    try:
        return Position.parse(text)
    except BadText as refusal:
        raise argparse.ArgumentTypeError(str(refusal)) from None


class Command(RefusingCommand):
    help = "Count the lines of play of 1 to DEPTH plies, one number a line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("position", type=_position, help=POSITION_HELP)
        parser.add_argument("depth", type=whole_number(1, DEEPEST))

    def handle(self, *args: Any, position: Position, depth: int, **options: Any) -> None:
        for counts in perft(position, depth):
            self.stdout.write(str(counts.nodes))
