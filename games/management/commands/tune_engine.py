"""`tune_engine`: makes the evaluation's weights from games of the engine against itself."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from games.engine.players import NO_ENGINE, read_weights
from games.onitama.position import quoted

# What is missing without it, NO_ENGINE says.
with suppress(ImportError):
    import numpy as np

    from games.engine import selfplay, tuning
    from games.engine.bitboard import Array
    from games.engine.evaluation import Weights

# Games a process plays before it hands its samples over.
BATCH = 100
PASSES = 12


class Command(BaseCommand):
    help = (
        "Plays rounds of games of the engine against itself, fits the evaluation to all of them"
        " after each, and writes the weights. The same options make the same weights."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("out", type=Path, help="the file to write, .npz")
        parser.add_argument("--games", type=int, default=10_000, help="in a round")
        parser.add_argument("--rounds", type=int, default=4)
        parser.add_argument("--nodes", type=int, default=600, help="a move")
        parser.add_argument("--jobs", type=int, default=1, help="processes")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument(
            "--terms",
            default=_ALL,
            help=f"{_ALL}, or only these, with commas between: {', '.join(_TERMS)}; or {_NONE}, for"
            " the weights that tuning begins with, without a game",
        )
        parser.add_argument(
            "--start",
            type=Path,
            help="the weights that the first round is played with, .npz; otherwise plain ones",
        )
        parser.add_argument(
            "--samples", type=Path, help="keep the samples here, .npy, or take them"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if NO_ENGINE:
            raise CommandError(NO_ENGINE)
        for name in ("games", "rounds", "nodes", "jobs"):
            if options[name] < 1:
                raise CommandError(f"--{name} must be at least 1")
        if options["games"] % BATCH:
            raise CommandError(f"--games goes in hundreds, and {options['games']} does not")
        out: Path = options["out"]
        kept: Path | None = options["samples"]
        for path, suffix in ((out, ".npz"), (kept, ".npy")):
            if path is not None and (path.suffix != suffix or not path.parent.is_dir()):
                raise CommandError(f"{path} is no {suffix} file in a directory that is there")
        if options["terms"] == _NONE:
            Weights.plain().save(out)
            return
        terms = _terms(options["terms"])
        if kept is not None and kept.exists():
            self._fit(np.load(kept), options["seed"], terms).save(out)
            return
        weights = _start(options["start"])
        samples = np.zeros((0, selfplay.COLUMNS), np.int32)
        with ProcessPoolExecutor(options["jobs"]) as pool:
            for number in range(options["rounds"]):
                began = time.monotonic()
                played = list(pool.map(*_batches(weights, number, options)))
                samples = np.concatenate([samples, *played])
                took = time.monotonic() - began
                self.stdout.write(f"round {number + 1}: {len(samples)} samples, {took:.0f} s")
                weights = self._fit(samples, options["seed"], terms)
                weights.save(out)
        if kept is not None:
            np.save(kept, samples)

    def _fit(self, samples: Array, seed: int, terms: tuning.Terms) -> Weights:
        return tuning.fit(samples, passes=PASSES, seed=seed, terms=terms, report=self._report)

    def _report(self, number: int, error: float, unseen: float) -> None:
        self.stdout.write(f"  pass {number}: {error:.5f}, on samples held out {unseen:.5f}")


_ALL, _NONE = "all", "none"
_TERMS = () if NO_ENGINE else tuple(tuning.Terms.__dataclass_fields__)


def _terms(text: str) -> tuning.Terms:
    if text == _ALL:
        return tuning.ALL_TERMS
    wanted = text.split(",")
    if unknown := set(wanted) - set(_TERMS):
        raise CommandError(
            f"{quoted(', '.join(sorted(unknown)))}: the terms are {', '.join(_TERMS)}"
        )
    return tuning.Terms(**{name: name in wanted for name in _TERMS})


def _start(path: Path | None) -> Weights:
    if path is None:
        return Weights.plain()
    try:
        return read_weights(path)
    except ValueError as odd:
        raise CommandError(str(odd)) from None


def _batches(weights: Weights, number: int, options: dict[str, Any]) -> tuple[Any, Iterator[int]]:
    batches = options["games"] // BATCH
    first = (options["seed"] * 1000 + number) * 100_000
    play = partial(_played, weights, options["nodes"])
    return play, iter(range(first, first + batches))


def _played(weights: Weights, nodes: int, seed: int) -> Array:
    return selfplay.samples(weights, games=BATCH, nodes=nodes, seed=seed)
