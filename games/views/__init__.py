"""The pages and partials, one module per family of pages."""

from __future__ import annotations
