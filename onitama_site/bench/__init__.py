"""What `manage.py bench` runs: a server with one bare view more, and the load upon it."""

from __future__ import annotations
