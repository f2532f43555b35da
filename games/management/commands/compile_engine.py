"""Compiles the computer's engine for this machine: once, and again after each update."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from games.engine import compile as compilation

# Behind everything else that the machine does.
_LEAST_URGENT = 19


class Command(BaseCommand):
    help = "Compile the computer's engine, a minute's work, and keep it for all later starts."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--nice", action="store_true", help="let everything else go first")

    def handle(self, *args: Any, nice: bool, **options: Any) -> None:
        if nice:
            os.nice(_LEAST_URGENT)
        try:
            compilation.compile_aloud(self._say)
        except compilation.CannotCompile as refusal:
            raise CommandError(refusal) from refusal

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
