"""What one sweep costs over a great many running games of which none is due."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import Max, Model, Sum
from django.utils import timezone

from accounts.models import User
from games import deliveries, play, sweep
from games.clock import PRESETS
from games.models import Delivery, Game, Kind, Notice

AIM = 0.050
ROUNDS = 20
PLAYERS = 2_000
NOTICES = 10_000
# What is due first is due so long from now; the rest within a week of that.
AHEAD = timedelta(hours=2)

Say = Callable[[str], object]


def run(games: int, say: Say) -> bool:
    """Fill, sweep and print; whether the sweeps changed nothing, as they should."""
    call_command("migrate", interactive=False, verbosity=0)
    began = time.monotonic()
    _fill(games, timezone.now() + AHEAD)
    say(f"{games:,} running games, none of them due; filled in {time.monotonic() - began:.0f} s")
    before = _state()
    # The first of each is not counted: it finds no heartbeat, and nothing in memory.
    sweeps = [_measure(lambda: sweep.sweep(timezone.now())) for _ in range(ROUNDS + 1)][1:]
    mails = [_measure(lambda: deliveries.deliver_due(seconds=1)) for _ in range(ROUNDS + 1)][1:]
    _print("one sweep", sweeps, say, f"aim < {AIM * 1000:.0f} ms on PostgreSQL")
    _print("looking for mails due", mails, say)
    return _state() == before


def _state() -> tuple[object, ...]:
    tries = Delivery.objects.aggregate(Sum("tries"), Max("next_try"))
    return (Game.objects.aggregate(Sum("version"))["version__sum"], Notice.objects.count(), tries)


# --- the rows -------------------------------------------------------------------------------


def _fill(games: int, due: datetime) -> None:
    """The database copies one game and its seats: a million through the ORM would take an hour."""
    players = [
        User(username=f"player-{n}", digest_hour=8, next_digest=due + timedelta(minutes=n))
        for n in range(PLAYERS)
    ]
    players = User.objects.bulk_create(players)
    with transaction.atomic():
        game = play.start(
            *players[:2], deck="base", control=PRESETS["7"], private=False, now=timezone.now()
        )
        Game.objects.filter(pk=game.pk).update(deadline=due, next_reminder=due)
        _copy_game(game, games - 1, due)
        _copy_seats(game, players[0].pk)
        _tell(players, due)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def _copy_game(game: Game, count: int, due: datetime) -> None:
    """In one of ten it is the computer's move; the others have a clock."""
    if connection.vendor == "postgresql":
        at = "%s::timestamptz + n * 37 %% 604800 * interval '1 second'"
    else:
        at = "datetime(%s, (n * 37 %% 604800) || ' seconds')"
    changes = {
        "deadline": f"CASE WHEN n %% 10 > 0 THEN {at} END",
        "next_reminder": f"CASE WHEN n %% 10 > 0 THEN {at} END",
        "engine_due": f"CASE WHEN n %% 10 = 0 THEN {at} END",
    }
    moment = connection.ops.adapt_datetimefield_value(due.replace(microsecond=0))
    series = (
        "WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < %s)"
    )
    _insert(game, series, changes, "series", [count, moment, moment, moment])


def _copy_seats(game: Game, first: int) -> None:
    """Each game is one of two players who follow one another."""
    for seat, neighbour in zip(game.sides, (0, 1), strict=True):
        changes = {
            "game_id": "g.id",
            "player_id": f"{first} + (g.id + {neighbour}) %% {PLAYERS}",
            "opponent_id": f"{first} + (g.id + {1 - neighbour}) %% {PLAYERS}",
        }
        _insert(seat, "", changes, f"{Game._meta.db_table} g", [], f"g.id <> {game.pk}")


def _insert(
    row: Model,
    series: str,
    changes: dict[str, str],
    source: str,
    values: list[Any],
    where: str = "1 = 1",
) -> None:
    """As many copies of the row as `source` has rows, each with the changes."""
    table = row._meta.db_table
    columns = [str(f.column) for f in row._meta.concrete_fields if not f.primary_key]
    selected = ", ".join(changes.get(column, f"t.{column}") for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"{series} INSERT INTO {table} ({', '.join(columns)})"  # noqa: S608 - names of ours
            f" SELECT {selected} FROM {table} t, {source} WHERE t.id = {row.pk} AND {where}",
            values,
        )


def _tell(players: list[User], due: datetime) -> None:
    """Notices whose mails wait: as many more, and that of the game which was begun."""
    now = timezone.now()
    notices = Notice.objects.bulk_create(
        Notice(
            player=players[n % PLAYERS], kind=Kind.OUTAGE, key=f"{n}", created=now, not_before=due
        )
        for n in range(NOTICES)
    )
    Delivery.objects.bulk_create(Delivery(notice=row, created=now) for row in notices)
    Delivery.objects.update(next_try=due)


# --- the measurement ------------------------------------------------------------------------


@dataclass
class Measured:
    """One run of a task: its queries with the seconds each took, and the seconds in all."""

    queries: list[tuple[str, Any, float]] = field(default_factory=list)
    seconds: float = 0.0

    def ask(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        began = time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            self.queries.append((sql, params, time.perf_counter() - began))


def _measure(task: Callable[[], object]) -> Measured:
    measured = Measured()
    began = time.perf_counter()
    with connection.execute_wrapper(measured.ask):
        task()
    measured.seconds = time.perf_counter() - began
    return measured


def _print(title: str, runs: list[Measured], say: Say, aim: str = "") -> None:
    say("")
    say(f"{title:42}   median  slowest   index")
    for number, (sql, params, _seconds) in enumerate(runs[0].queries):
        times = [run.queries[number][2] for run in runs]
        say(f"  {_name(sql):40} {_times(times)}   {_index(sql, params)}")
    say(f"  {'in all, with Python and commits':40} {_times([r.seconds for r in runs])}   {aim}")


def _times(seconds: list[float]) -> str:
    return f"{median(seconds) * 1000:5.2f} ms {max(seconds) * 1000:5.2f} ms"


def _name(sql: str) -> str:
    """What is asked, in short: the table, and the column of times that it is asked for."""
    table = re.search(r'(?:FROM|UPDATE|INTO) "(\w+)"', sql)
    column = re.search(r'"(\w+)" <= ', sql)
    named = f"{table[1] if table else ''} {column[1] if column else ''}"
    return f"{sql.split(maxsplit=1)[0].lower()} {named}".strip()


def _index(sql: str, params: Any) -> str:
    """The index that the database says it reads, or the plan's first line where it reads none."""
    if not sql.startswith("SELECT"):
        return ""
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {sql}", params)
        plan = [str(row[-1]) for row in cursor.fetchall()]
    found = re.search(r"(?:Scan using|Index Scan on|INDEX) (\w+)", "\n".join(plan))
    return found[1] if found else plan[0].strip()
