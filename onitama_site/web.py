"""gunicorn's settings, in production and in `make play`: `gunicorn -c python:onitama_site.web`."""

from __future__ import annotations

import os
from typing import Any

from onitama_site.environment import number
from onitama_site.logs import KeylessFormatter
from onitama_site.tied import die_with

wsgi_app = "onitama_site.wsgi"
bind = f"127.0.0.1:{os.environ.get('PORT') or 8000}"
worker_class = "gthread"
workers = int(number("WEB_CONCURRENCY", 2, least=1, most=64))
threads = 4
# Loaded once, before the workers part: half the time to start, and memory that they share.
preload_app = True
graceful_timeout = 10
control_socket_disable = True
loglevel = "warning"
# Whether a proxy is to be believed is decided in one place, by TRUSTED_PROXY_COUNT.
forwarded_allow_ips = ""
secure_scheme_headers: dict[str, str] = {}


def on_starting(server: Any) -> None:
    """What gunicorn itself says of a request keeps keys to itself, too."""
    for handler in server.log.error_log.handlers:
        handler.setFormatter(KeylessFormatter(server.log.error_fmt, server.log.datefmt))


on_reload = on_starting


def post_fork(server: Any, worker: Any) -> None:
    """A worker stuck in a request would not notice that its master is gone."""
    die_with(server.pid)
