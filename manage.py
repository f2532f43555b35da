#!/usr/bin/env python
"""Django's command line for this project."""

from __future__ import annotations

import errno
import os
import sys

from django.core.management import execute_from_command_line

# What a shell tells of a command that was interrupted.
INTERRUPTED = 130


def main() -> int:
    """A reader who leaves, a full disk and a Ctrl-C end a command without a traceback; closed
    streams do not end it."""
    for stream, how in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:
            setattr(sys, stream, open(os.devnull, how))  # noqa: SIM115  # as long as the process
    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as refusal:
        if refusal.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        # What is still to be written would be refused again when Python closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if refusal.errno == errno.ENOSPC:
            sys.stderr.write(f"{refusal.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "onitama_site.settings")
    sys.exit(main())
