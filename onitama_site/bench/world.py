"""The players and games that the load is put upon, and the requests it is made of."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from games import play
from games.clock import PRESETS
from games.models import Game
from games.onitama.position import Action, Move

HOST = "127.0.0.1:8000"
PLIES = 16
# More than any machine we know answers.
MOVES_A_SECOND = 800
RUNNING = 30
# Any 32 letters: the cookie and the field need only agree.
TOKEN = "benchmarkbenchmarkbenchmarkbench"  # noqa: S105 - guards nothing

Source = Callable[[], bytes | None]


@dataclass(frozen=True)
class Reader:
    player: User
    session: str

    def request(self, method: str, path: str, fields: dict[str, str] | None = None) -> bytes:
        """The request as htmx sends it, byte for byte but for the headers nobody reads."""
        body = urlencode(fields or {}).encode()
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: {HOST}",
            f"Cookie: sessionid={self.session}; csrftoken={TOKEN}",
        ]
        if method == "POST":
            head += [
                f"X-CSRFToken: {TOKEN}",
                f"Origin: http://{HOST}",
                "HX-Request: true",
                "Content-Type: application/x-www-form-urlencoded",
                f"Content-Length: {len(body)}",
            ]
        return "\r\n".join([*head, "", ""]).encode() + body


def log_in(name: str) -> Reader:
    player = User.objects.create_user(name, f"{name}@bench.example")
    session = SessionStore()
    session[SESSION_KEY] = str(player.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = player.get_session_auth_hash()
    session.save()
    return Reader(player, str(session.session_key))


def begin(blue: Reader, red: Reader) -> Game:
    with transaction.atomic():
        return play.start(
            blue.player,
            red.player,
            deck="base",
            control=PRESETS["3+1"],
            private=False,
            now=timezone.now(),
        )


def line_of(game: Game, rng: random.Random) -> list[Action]:
    """A random line that ends nobody's game, at most PLIES long."""
    position, line = game.current, list[Action]()
    while len(line) < PLIES:
        legal = position.legal_moves()
        quiet = [action for action in legal if action not in position.winning(legal)]
        if not quiet:
            break
        line.append(rng.choice(quiet))
        position = position.after(line[-1])
    return line


def moves(games: Iterator[Game], blue: Reader, red: Reader, seed: int) -> Source:
    """Moves in one game after another, each by its mover and with its own ply."""
    rng = random.Random(seed)  # noqa: S311 - a load, not a secret

    def requests() -> Iterator[bytes]:
        for game in games:
            mover, other = (blue, red) if game.turn == "b" else (red, blue)
            for ply, action in enumerate(line_of(game, rng), start=1):
                yield mover.request("POST", reverse("move", args=[game.pk]), _form(ply, action))
                mover, other = other, mover

    stream = requests()
    return lambda: next(stream, None)


def _form(ply: int, action: Action) -> dict[str, str]:
    form = {"ply": str(ply), "card": action.card}
    if isinstance(action, Move):
        text = str(action).partition(":")[2]
        form |= {"from": text[:2], "to": text[2:]}
    return form


def again(request: bytes) -> Source:
    return lambda: request
