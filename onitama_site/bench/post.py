"""A mail server that takes every mail at once and counts: `python -m` this PORT TALLY.

Asked to end, it writes how many mails it took, and to how many recipients, into the file TALLY.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections import Counter
from pathlib import Path

from aiosmtpd.smtp import SMTP, Envelope, Session


class Post:
    """A handler of aiosmtpd, which names its methods."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.taken.update(envelope.rcpt_tos)
        return "250 OK"


async def serve(port: int, tally: Path) -> None:
    post, stop = Post(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    server = await loop.create_server(lambda: SMTP(post), "127.0.0.1", port)
    async with server:
        await stop.wait()
    counted = {"mails": post.taken.total(), "recipients": len(post.taken)}
    tally.write_text(json.dumps(counted))


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2])))
