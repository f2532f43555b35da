"""The web process stays small: what the engine computes with is never loaded there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from games import strengths
from tests import world
from tests.servers import ROOT, clean_environment, database_url

NOWHERE = "redis://127.0.0.1:1/0"
# Asks each page as gunicorn would, begins a game, and says what of the engine came with it all.
SCRIPT = """
import sys
from io import BytesIO
from onitama_site.wsgi import application

def ask(method, path):
    said = []
    environ = {
        "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000", "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(), "wsgi.errors": sys.stderr, "HTTP_HOST": "127.0.0.1:8000",
        "HTTP_COOKIE": "csrftoken=" + 32 * "a", "HTTP_X_CSRFTOKEN": 32 * "a",
    }
    list(application(environ, lambda status, headers, info=None: said.append(status)))
    return said[-1][:3]

for path in sys.argv[1:]:
    assert ask("GET", path) == "200", path
assert ask("POST", "/games/computer/") == "303"
heavy = ("numba", "numpy", "llvmlite", "games.engine.", "games.tasks")
print(*sorted(name for name in sys.modules if f"{name}.".startswith(heavy)))
"""


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
def test_pages_are_served_without_numba_and_the_engine(
    tmp_path: Path, collected_static_files: Path
) -> None:
    alice, bob = world.person("alice"), world.person("bob")
    game, over = world.against_level(alice), world.finished(alice, bob)
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "static").symlink_to(collected_static_files)
    assert strengths.elo(), "a belt's page would show no strength"
    players = ["/players/random/", "/players/white-belt/", "/players/grandmaster/"]
    pages = [f"/games/{game.pk}/", f"/games/{over.pk}/ply/1/", *players, "/games/new/"]
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, "/", "/rules/", *pages],
        cwd=ROOT,
        env=clean_environment(data, DATABASE_URL=database_url(), REDIS_URL=NOWHERE),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == ""
    # The nudge after the deed went as far as the broker would have been.
    assert "was not nudged" in ran.stderr
