"""Notices that are due at once, through two workers, beside a bare loop of the same mails."""

from __future__ import annotations

import inspect
import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from socket import create_connection, socket

from allauth.account.models import EmailAddress
from celery import current_app
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.models import Prefetch
from django.utils import timezone

from accounts.models import User
from games import play
from games.models import Delivery, Game, Kind, Notice, Ply, Seat
from games.shown import read_records
from games.waking import SEND_NOTICES
from onitama_site import runner
from onitama_site.bench import bare_mail, world
from onitama_site.processes import Child

AIM = 0.5
WORKERS = 2
HOST = "127.0.0.1"
# The bare loop sends so many before the workers begin, and after they have ended; SQLite can
# be asked for no more of them at a time.
BARE_MAILS = 900
WARM_UP_MAILS = 100
# Games of so many different positions; the others are copies of these.
POSITIONS = 40
START_SECONDS = 60
MOST_SECONDS = 600
# Every deed nudges, and so does the schedule.
NUDGE_SECONDS = 2.0

Say = Callable[[str], object]


def run(count: int, say: Say) -> bool:
    """Fill, send and print; whether every player got their one mail."""
    say("The bare loop:\n" + inspect.getsource(bare_mail.send))
    call_command("migrate", interactive=False, verbosity=0)
    call_command("createcachetable", verbosity=0)
    notices = _fill(count)
    say(f"{count:,} notices, each of another player's turn in another game, due at once")
    tally = Path(settings.DATA_DIR) / "tally.json"
    with _post_office(tally) as port:
        first = _bare(notices, port, 1)
        rate = _through_workers(notices, port)
        best = max(first, _bare(notices, port, 2))
    say(f"{'':24}  per second   to bare    aim")
    say(f"{'bare loop':24}  {best:10.1f}   {1:7.2f}")
    name = f"{WORKERS} workers, {connection.vendor}"
    say(f"{name:24}  {rate:10.1f}   {rate / best:7.2f}    >= {AIM} on PostgreSQL")
    return _all_arrived(json.loads(tally.read_text()), notices, say)


def _all_arrived(tally: dict[str, int], notices: list[Notice], say: Say) -> bool:
    bare = 2 * min(BARE_MAILS, len(notices))
    sent = Delivery.objects.filter(sent__isnull=False, tries=1).count()
    say(f"sent at the first try: {sent:,}; received: {tally['mails'] - bare:,}, each once")
    expected = {"mails": len(notices) + bare, "recipients": len(notices)}
    return sent == len(notices) and tally == expected


# --- the rows -------------------------------------------------------------------------------


def _fill(count: int) -> list[Notice]:
    """So many people, each to move in one game and waiting in another; no mail is due yet."""
    now, people, games = timezone.now(), _people(count), _games(count)
    seats = [seat for n, game in enumerate(games) for seat in _seats(game, people, n)]
    Seat.objects.bulk_create(seats)
    Ply.objects.bulk_create(
        Ply(game=game, number=number, action=action, played=now)
        for game in games
        for number, action in enumerate(game.tokens, start=1)
    )
    notices = Notice.objects.bulk_create(
        Notice(
            player=people[n],
            key=f"turn:g{game.pk}:p{game.plies + 1}",
            kind=Kind.TURN,
            game=game,
            ply=game.plies + 1,
            created=now,
            not_before=now,
        )
        for n, game in enumerate(games)
    )
    Delivery.objects.bulk_create(Delivery(notice=notice, created=now) for notice in notices)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")
    return notices


def _people(count: int) -> list[User]:
    people: list[User] = User.objects.bulk_create(
        User(username=f"player-{n}", email=f"player-{n}@bench.example") for n in range(count)
    )
    EmailAddress.objects.bulk_create(
        EmailAddress(user=user, email=user.email, verified=True, primary=True) for user in people
    )
    return people


def _games(count: int) -> list[Game]:
    """Each a copy of one of POSITIONS games that were really played."""
    blue, red = world.log_in("blue"), world.log_in("red")
    rng = random.Random(1)  # noqa: S311 - a load, not a secret
    patterns = [_played(world.begin(blue, red), rng) for _ in range(POSITIONS)]
    copies = []
    for n in range(count):
        pattern = patterns[n % POSITIONS]
        copy = _copy(pattern)
        copy.tokens = pattern.tokens
        copies.append(copy)
    Notice.objects.all().delete()
    return Game.objects.bulk_create(copies)


def _played(game: Game, rng: random.Random) -> Game:
    for action in world.line_of(game, rng)[: rng.randint(1, world.PLIES)]:
        mover = game.seat(game.turn).player
        game = play.play_move(game.pk, mover, game.plies + 1, action, now=timezone.now())
    return game


def _copy(game: Game) -> Game:
    fields = [field.attname for field in Game._meta.concrete_fields if not field.primary_key]
    return Game(**{name: getattr(game, name) for name in fields})


def _seats(game: Game, people: list[User], n: int) -> Iterator[Seat]:
    mover, waiting = people[n], people[(n + 1) % len(people)]
    for colour in "br":
        player, opponent = (mover, waiting) if colour == game.turn else (waiting, mover)
        yield Seat(
            game=game,
            player=player,
            colour=colour,
            bank=game.bank,
            opponent=opponent,
            opponent_kind=opponent.kind,
        )


# --- the measurements -----------------------------------------------------------------------


def _bare(notices: list[Notice], port: int, round_: int) -> float:
    """Mails a second; what is read of their games is read before."""
    some = [notice.pk for notice in notices[:BARE_MAILS]]
    games = Prefetch("game", Game.objects.with_seats())
    rows = Notice.objects.filter(pk__in=some).select_related("player").prefetch_related(games)
    loaded = list(rows)
    read_records(notice.game for notice in loaded if notice.game)
    began = time.monotonic()
    bare_mail.send(loaded, HOST, port, round_)
    return len(loaded) / (time.monotonic() - began)


def _through_workers(notices: list[Notice], port: int) -> float:
    """Mails a second, from the first nudge to the last mail marked as sent."""
    with ExitStack() as stack:
        for number in range(WORKERS):
            stack.enter_context(_worker(number, port))
        warm_up = min(WARM_UP_MAILS, len(notices) // 2)
        _send([notice.pk for notice in notices[:warm_up]])
        return _send([notice.pk for notice in notices[warm_up:]])


def _send(notices: list[int]) -> float:
    _make_due(notices, timezone.now())
    began = time.monotonic()
    nudged = 0.0
    while Delivery.objects.filter(next_try__isnull=False).exists():
        if time.monotonic() - nudged > NUDGE_SECONDS:
            nudged = time.monotonic()
            for _ in range(WORKERS):
                current_app.send_task(SEND_NOTICES, expires=NUDGE_SECONDS, ignore_result=True)
        if time.monotonic() - began > MOST_SECONDS:
            raise RuntimeError("The mails do not end.")
        time.sleep(0.05)
    return len(notices) / (time.monotonic() - began)


def _make_due(notices: list[int], now: datetime) -> None:
    Delivery.objects.filter(notice__gte=min(notices), notice__lte=max(notices)).update(next_try=now)


# --- the processes --------------------------------------------------------------------------


@contextmanager
def _worker(number: int, port: int) -> Iterator[None]:
    """A mail worker as in production."""
    environment = {**os.environ, "EMAIL_URL": f"smtp://{HOST}:{port}"}
    del environment["ONITAMA_MAILBOX"]
    command = [*runner.worker_command("mail"), "-n", f"mail-{number}@%h"]
    child = Child.start("mail", command, environment=environment)
    try:
        yield
    finally:
        child.ask()
        child.end(10)


@contextmanager
def _post_office(tally: Path) -> Iterator[int]:
    with socket() as probe:
        probe.bind((HOST, 0))
        port = int(probe.getsockname()[1])
    child = Child.start(
        "post", [sys.executable, "-m", "onitama_site.bench.post", str(port), str(tally)]
    )
    try:
        _wait(child, port)
        yield port
    finally:
        child.ask()
        child.end(10)


def _wait(child: Child, port: int) -> None:
    limit = time.monotonic() + START_SECONDS
    while not child.ended and time.monotonic() < limit:
        try:
            create_connection((HOST, port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("The mail server does not start: is aiosmtpd installed?")
