"""The door gunicorn comes through."""

from __future__ import annotations

import os

import django

from onitama_site.handler import Handler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "onitama_site.settings")

django.setup(set_prefix=False)
application = Handler()
