"""What the log says of a request that was refused, and what no line of it may say."""

from __future__ import annotations

import logging
import re

# Addresses that are keys: of feeds and mails, and those that open an account.
# Also where somebody has misspelt what stands before the key.
_KEYS = re.compile(r"(?i)(/(?:feeds|unsubscribe|confirm-email|reset/+key)/)[/ ]*[^/?\s'\"]+")


class KeylessFormatter(logging.Formatter):
    """Leaves the keys out of the addresses in a line, and in its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        return _KEYS.sub(r"\1***", super().format(record))


def one_line(record: logging.LogRecord) -> bool:
    """A filter: whoever sends nonsense gets one line, the traceback is for faults of ours."""
    if getattr(record, "status_code", 500) < 500:
        record.exc_info = None
    return True
