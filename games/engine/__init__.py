"""Chooses the computer's moves. Knows the rules, and nothing of rows, clocks or Django."""

from __future__ import annotations
