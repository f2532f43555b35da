"""The project: settings, addresses, the Celery application and the runner."""

from __future__ import annotations

from onitama_site.celery import app as celery_app

__all__ = ["celery_app"]
