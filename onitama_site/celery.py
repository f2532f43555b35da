"""The Celery application: queues `sweep`, `mail`, `engine` and `tables`, a worker for each."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, worker_process_init
from kombu.transport.redis import Channel, QoS
from kombu.transport.virtual import QoS as VirtualQoS

from onitama_site.tied import die_with

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "onitama_site.settings")

app = Celery("onitama_site")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_init.connect
def be_patient(conf: Any, **_: Any) -> None:
    """A request may wait 0.2 s for the broker; a worker lives by it and waits.

    Five times as long as it asks the broker to wait for a message: a worker that stops while an
    answer is lost waits no longer than this for it.
    """
    conf.broker_transport_options = {
        **conf.broker_transport_options,
        "socket_timeout": 5,
        "socket_connect_timeout": 5,
        "max_retries": None,
    }


class ForgetfulQoS(QoS):
    """A task whose end the broker does not hear of (it stalls for longer than we wait) gives its
    place back all the same: else the worker, which holds one, would never take another. The
    broker hands that task out again, which every task of ours bears."""

    def ack(self, delivery_tag: str) -> None:
        try:
            super().ack(delivery_tag)
        except Exception:
            VirtualQoS.ack(self, delivery_tag)
            raise


Channel.QoS = ForgetfulQoS


_WORKER = os.getpid()


@worker_process_init.connect
def die_with_the_worker(**_: Any) -> None:
    """Celery asks the kernel for it too, but misses a worker killed while this child started."""
    die_with(_WORKER)
