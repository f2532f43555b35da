"""The door gunicorn comes through."""

from __future__ import annotations

import os
from importlib import import_module

import django
from django.conf import settings

from onitama_site.handler import Handler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "onitama_site.settings")

django.setup(set_prefix=False)
application = Handler()
# The pages too: else each process loads them when it is first asked for one.
import_module(settings.ROOT_URLCONF)
