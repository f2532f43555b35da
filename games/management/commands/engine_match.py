"""Two players meet over paired deals: who scores what, and how much stronger that makes one."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from games.engine.match import Match, Pair, Played, Score
from games.engine.players import Setting, parse_setting
from games.management.commands._refusing import RefusingCommand, whole_number
from games.onitama.cards import DECKS, Colour


def _setting(text: str) -> tuple[str, Setting]:
    try:
        return text, parse_setting(text, settings.TABLES_DIR)
    except ValueError as refusal:
        raise argparse.ArgumentTypeError(str(refusal)) from None


def _games(text: str) -> int:
    games = whole_number(2, 100_000)(text)
    if games % 2:
        raise argparse.ArgumentTypeError(
            f"each deal is played twice: {games} games would leave one without its pair"
        )
    return games


class Command(RefusingCommand):
    help = (
        "A plays B, each random deal twice with sides swapped; 200 plies are a draw. A player is "
        "a level, such as white-belt; engine, or engine:nodes=N,seconds=S,cpu=1,tables=1,"
        "weights=FILE with some of these; or cmd:PROGRAM, any program that reads lines "
        "'BOARD CARDS TURN MS' and answers each by a move like boar:a1a2."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("a", type=_setting, metavar="A")
        parser.add_argument("b", type=_setting, metavar="B")
        add = parser.add_argument
        add("--games", type=_games, default=100, help="an even number (default 100)")
        add(
            "--ms",
            type=whole_number(1, 3_600_000),
            default=200,
            help="a move, for players that go by time (default 200)",
        )
        add("--deck", choices=sorted(DECKS), default="base")
        add(
            "--seed",
            type=whole_number(0, 10**10),
            default=1,
            help="of deals and levels (default 1)",
        )
        add("--jobs", type=whole_number(1, 64), default=1, help="games at once (default 1)")
        add(
            "--losses",
            action=argparse.BooleanOptionalAction,
            default=True,
            help="the records of the games that A lost (shown unless --no-losses)",
        )

    def handle(
        self,
        *,
        a: tuple[str, Setting],
        b: tuple[str, Setting],
        games: int,
        losses: bool,
        **options: Any,
    ) -> None:
        names = a[0], b[0]
        ms, deck, seed = options["ms"], options["deck"], options["seed"]
        match = Match(a=a[1], b=b[1], ms=ms, deck=deck, seed=seed)
        self.stdout.write(f"A: {names[0]}\nB: {names[1]}")
        self.stdout.write(f"{games} games, deck {deck}, seed {seed}, {ms} ms a move")
        score = Score(self._play(match, games // 2, options["jobs"]))
        if not score.pairs:
            raise CommandError("Stopped before the first pair of games was over.")
        for line in _summary(score):
            self.stdout.write(line)
        if losses:
            for text in _losses(score, names, deck):
                self.stdout.write(f"\n{text}")

    def _play(self, match: Match, pairs: int, jobs: int) -> tuple[Pair, ...]:
        played: list[Pair] = []
        try:
            for pair in match.play(pairs, jobs):
                played.append(pair)
                points = Score(tuple(played)).points
                self._tell(f"pair {len(played)} of {pairs}: A has {points:g} of {2 * len(played)}")
        except KeyboardInterrupt:
            self._tell(f"stopped after {len(played)} pairs")
        except RuntimeError as failure:
            raise CommandError(f"The match broke off: {failure}.") from None
        return tuple(sorted(played, key=lambda pair: pair.number))

    def _tell(self, line: str) -> None:
        self.stderr.write(line, style_func=str)
        self.stderr.flush()


def _summary(score: Score) -> Iterator[str]:
    games = len(score.games)
    share = 100 * score.points / games
    yield (
        f"score {score.points:g} of {games} ({share:.1f} %): "
        f"{score.won} won, {score.drawn} drawn, {score.lost} lost"
    )
    yield "pairs by points, 0 to 2: " + " ".join(map(str, score.pairs_by_points()))
    yield f"Elo of A over B: {score.elo}"
    endings = Counter(_ending(game) for game, _ in score.games)
    yield "endings: " + ", ".join(f"{ending} {times}" for ending, times in endings.most_common())
    own = [second for game, colour in score.games for second in game.seconds_of(colour)]
    other = [second for game, colour in score.games for second in game.seconds_of(colour.other)]
    yield f"time a move: A {_time(own)}, B {_time(other)}"


def _ending(game: Played) -> str:
    return "forfeit" if game.forfeited else game.ending


def _time(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    mean = 1000 * sum(seconds) / len(seconds)
    return f"{mean:.1f} ms (at most {1000 * max(seconds):.0f})"


def _losses(score: Score, names: tuple[str, str], deck: str) -> Iterator[str]:
    for pair in score.pairs:
        for number, (game, colour) in enumerate(pair.of(), start=1):
            if game.winner is colour.other:
                blue, red = names if colour is Colour.BLUE else names[::-1]
                title = f"Pair {pair.number + 1}, game {number}: A lost"
                how = f": it {game.ending}" if game.forfeited else f" by {game.ending}"
                yield f"{title}{how}.\n{game.record(blue, red, deck)}".rstrip("\n")
