"""The rules of Onitama, and nothing else: only the standard library is imported below here."""

from __future__ import annotations
