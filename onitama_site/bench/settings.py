"""The production settings, with the bare view's address added."""

from __future__ import annotations

from onitama_site.settings import *  # noqa: F403

ROOT_URLCONF = "onitama_site.bench.urls"
