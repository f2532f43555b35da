"""Prints how many lines of play a position has, so that anybody can check our rules."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from games.management.commands._positions import POSITION_HELP
from games.onitama.perft import perft
from games.onitama.position import BadText, Position, quoted

DEEPEST = 50


def _position(text: str) -> Position:
    try:
        return Position.parse(text)
    except BadText as refusal:
        raise argparse.ArgumentTypeError(str(refusal)) from None


def _depth(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 3 and 1 <= int(text) <= DEEPEST):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a number from 1 to {DEEPEST}")
    return int(text)


class Command(BaseCommand):
    help = "Count the lines of play of 1 to DEPTH plies, one number a line."
    requires_system_checks = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Without a usage a refusal is one line.
        return super().create_parser(prog_name, subcommand, usage=argparse.SUPPRESS, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("position", type=_position, help=POSITION_HELP)
        parser.add_argument("depth", type=_depth)

    def handle(self, *args: Any, position: Position, depth: int, **options: Any) -> None:
        for counts in perft(position, depth):
            self.stdout.write(str(counts.nodes))
