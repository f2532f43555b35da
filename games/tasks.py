"""Celery's doors into the games. Only workers import this: the pages nudge by name."""

from __future__ import annotations

import os
from typing import Any

from celery import current_app, shared_task
from celery.signals import worker_process_init
from django.conf import settings
from django.utils import timezone

from games import deliveries, engine_room, sweep, waking

# At 19 it would get next to nothing of a busy machine.
_LESS_URGENT = 10


@worker_process_init.connect
def get_ready(**_: Any) -> None:
    """Before the first task: only the engine's workers load the engine, and tables wait for all."""
    queues = current_app.amqp.queues.consume_from
    if "engine" in queues:
        engine_room.prepare()
    if "tables" in queues:
        os.nice(_LESS_URGENT)


@shared_task(name=waking.ENGINE_MOVE, time_limit=settings.ENGINE_TIME_LIMIT)
def engine_move(game_id: int) -> None:
    """The game is who asked: whatever is due is done, in its own order."""
    if engine_room.work():
        waking.wake_engine(game_id)


# A table that took longer than this is of no use to anybody who plays. Where a worker was killed
# because the memory was too small, the next one would be too: a later move asks again.
@shared_task(
    name=engine_room.BUILD_TABLES,
    time_limit=240,
    acks_late=False,
    reject_on_worker_lost=False,
)
def build_tables(cards: str) -> None:
    engine_room.build_tables(tuple(cards.split(",")))


@shared_task(name="games.sweep", time_limit=120)
def sweep_games() -> None:
    for game_id in sweep.sweep(timezone.now()):
        waking.wake_engine(game_id)


# The limit is the lease: while a delivery is somebody's, nobody else has it, dead or alive.
@shared_task(name=waking.SEND_NOTICES, time_limit=settings.MAIL_LEASE)
def send_notices() -> None:
    deliveries.deliver_due(seconds=settings.MAIL_LEASE / 2)


@shared_task(name="games.clean_up", time_limit=240)
def clean_up() -> None:
    sweep.clean_up(timezone.now())
