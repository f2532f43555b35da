"""`tune_engine`: makes the evaluation's weights from games of the engine against itself."""

from __future__ import annotations

import signal
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from games.engine.players import NO_ENGINE, read_weights
from games.engine.processes import end_with_parent, unheard_by_children
from games.management.commands._refusing import RefusingCommand, whole_number
from games.onitama.position import quoted

# What is missing without it, NO_ENGINE says.
with suppress(ImportError):
    import numpy as np

    from games.engine import selfplay, tuning
    from games.engine.bitboard import Array
    from games.engine.evaluation import Weights

# Games a process plays before it hands its samples over.
BATCH = 100
# So many batches in a round have seeds of their own.
MOST_GAMES = 100_000 * BATCH
EPOCHS = 12


class Command(RefusingCommand):
    help = (
        "Plays rounds of games of the engine against itself, fits the evaluation to all of them"
        " after each, and writes the weights. The same options make the same weights."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("out", type=_file(".npz"), help="the file to write, .npz")
        parser.add_argument("--games", type=_games, default=10_000, help="in a round")
        parser.add_argument("--rounds", type=whole_number(1, 1000), default=4)
        parser.add_argument("--nodes", type=whole_number(1, 1_000_000), default=600, help="a move")
        parser.add_argument("--jobs", type=whole_number(1, 64), default=1, help="processes")
        parser.add_argument("--seed", type=whole_number(0, 10**10), default=1)
        parser.add_argument(
            "--terms",
            type=_terms,
            default=_ALL,
            help=f"{_ALL}, or only these, with commas between: {', '.join(_TERMS)}; or {_NONE}, for"
            " the weights that tuning begins with, without a game",
        )
        parser.add_argument(
            "--start",
            type=_weights,
            help="the weights that the first round is played with, .npz; otherwise plain ones",
        )
        parser.add_argument(
            "--samples",
            type=_file(".npy"),
            help="keep the samples here, .npy; where they are kept already, no game is played",
        )

    def handle(
        self,
        *,
        out: Path,
        terms: tuning.Terms | None,
        start: Weights | None,
        samples: Path | None,
        **options: Any,
    ) -> None:
        if NO_ENGINE:
            raise CommandError(NO_ENGINE)
        kept = None
        if terms is not None and samples is not None and samples.exists():
            kept = _samples(samples)
        if start is not None and (terms is None or kept is not None):
            raise CommandError("--start is for the first game, and none is to be played")
        self._check_that_it_can_be_written(out)
        if terms is None:
            Weights.plain().save(out)
        elif kept is not None:
            self._fit(kept, options["seed"], terms).save(out)
        else:
            if samples is not None:
                self._check_that_it_can_be_written(samples)
            self._play(start or Weights.plain(), terms, out, samples, options)

    def _play(
        self,
        weights: Weights,
        terms: tuning.Terms,
        out: Path,
        kept: Path | None,
        options: dict[str, Any],
    ) -> None:
        samples = np.zeros((0, selfplay.COLUMNS), np.int32)
        with ProcessPoolExecutor(options["jobs"], initializer=_end_with_it) as pool:
            for number in range(options["rounds"]):
                began = time.monotonic()
                with unheard_by_children():
                    batches = pool.map(*_batches(weights, number, options))
                played = list(batches)
                samples = np.concatenate([samples, *played])
                took = time.monotonic() - began
                self.stdout.write(f"round {number + 1}: {len(samples)} samples, {took:.0f} s")
                if kept is not None:
                    np.save(kept, samples)
                weights = self._fit(samples, options["seed"], terms)
                weights.save(out)

    def _check_that_it_can_be_written(self, path: Path) -> None:
        """Hours may lie between this and the writing."""
        missing = not path.exists()
        try:
            path.open("ab").close()
        except OSError as refusal:
            raise CommandError(
                f"{quoted(str(path))} cannot be written: {refusal.strerror}"
            ) from None
        if missing:
            path.unlink()

    def _fit(self, samples: Array, seed: int, terms: tuning.Terms) -> Weights:
        return tuning.fit(samples, epochs=EPOCHS, seed=seed, terms=terms, report=self._report)

    def _report(self, epoch: int, error: float, unseen: float) -> None:
        self.stdout.write(f"  epoch {epoch}: {error:.5f}, on samples held out {unseen:.5f}")


def _end_with_it() -> None:
    """At once and without a word, at a Ctrl-C too: nobody keeps what it has played so far."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with_parent()


_ALL, _NONE = "all", "none"
_TERMS = () if NO_ENGINE else tuple(tuning.Terms.__dataclass_fields__)


def _games(text: str) -> int:
    games = whole_number(BATCH, MOST_GAMES)(text)
    if games % BATCH:
        raise ArgumentTypeError(f"games go in hundreds, and {games} does not")
    return games


def _file(suffix: str) -> Callable[[str], Path]:
    def read(text: str) -> Path:
        path = Path(text)
        if path.suffix != suffix or not path.parent.is_dir():
            raise ArgumentTypeError(
                f"{quoted(text)} is no {suffix} file in a directory that is there"
            )
        return path

    return read


def _terms(text: str) -> tuning.Terms | None:
    """None for the weights that tuning begins with."""
    if text == _NONE or NO_ENGINE:
        return None
    if text == _ALL:
        return tuning.ALL_TERMS
    wanted = text.split(",")
    if unknown := set(wanted) - set(_TERMS):
        raise ArgumentTypeError(
            f"{quoted(', '.join(sorted(unknown)))}: the terms are {', '.join(_TERMS)}"
        )
    return tuning.Terms(**{name: name in wanted for name in _TERMS})


def _weights(text: str) -> Weights | None:
    if NO_ENGINE:
        return None
    try:
        return read_weights(Path(text))
    except ValueError as odd:
        raise ArgumentTypeError(str(odd)) from None


def _samples(path: Path) -> Array:
    try:
        return selfplay.read_samples(path)
    except ValueError as odd:
        raise CommandError(str(odd)) from None


def _batches(weights: Weights, number: int, options: dict[str, Any]) -> tuple[Any, Iterator[int]]:
    batches = options["games"] // BATCH
    first = (options["seed"] * 1000 + number) * 100_000
    play = partial(_played, weights, options["nodes"])
    return play, iter(range(first, first + batches))


def _played(weights: Weights, nodes: int, seed: int) -> Array:
    return selfplay.samples(weights, games=BATCH, nodes=nodes, seed=seed)
