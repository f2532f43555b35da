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
            self.compile()
        except ImportError as error:
            raise CommandError(f"The engine needs what is not installed here: {error}") from error
        except OSError as error:
            raise CommandError(f"The compiled engine cannot be kept: {error}") from error

    def compile(self) -> None:
        if compilation.ready():
            self.stdout.write("The engine is compiled already.")
            return
        compilation.cache_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
        for number, (name, seconds) in enumerate(compilation.compile_all(), 1):
            self.stdout.write(f"{number}/{len(compilation.MODULES)} {name} {seconds:.1f} s")
            self.stdout.flush()
