"""How the commands that people type numbers into refuse what is none: in one line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from games.onitama.position import quoted


class RefusingCommand(BaseCommand):
    requires_system_checks = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Without a usage a refusal is one line.
        return super().create_parser(prog_name, subcommand, usage=argparse.SUPPRESS, **kwargs)


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """An argument's type: whole numbers in that range, in digits."""

    def read(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) < 15 and least <= int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(
            f"{quoted(text)} is not a number from {least:,} to {most:,}"
        )

    return read


def seconds_up_to(most: int) -> Callable[[str], float]:
    """An argument's type: more than no time, and no more than that."""

    def read(text: str) -> float:
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0
        if not 0 < seconds <= most:
            raise argparse.ArgumentTypeError(
                f"{quoted(text)} is not a number of seconds up to {most:,}"
            )
        return seconds

    return read
