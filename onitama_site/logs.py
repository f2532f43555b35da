"""What the log says of a request that was refused."""

from __future__ import annotations

import logging


def one_line(record: logging.LogRecord) -> bool:
    """A filter: whoever sends nonsense gets one line, the traceback is for faults of ours."""
    if getattr(record, "status_code", 500) < 500:
        record.exc_info = None
    return True
