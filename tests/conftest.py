"""Fixtures for every test: two players, static files, a browser if there is one, real servers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import override_settings

from accounts.models import User
from games.models import Game, Level
from tests import world
from tests.servers import ROOT, PostOffice, Site, clean_environment

PLAIN = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}


@pytest.fixture(scope="session", autouse=True)
def _uncollected_static_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """In this process only: the servers of the process tests collect the files and serve them."""
    root = tmp_path_factory.mktemp("static")
    storages = {**settings.STORAGES, "staticfiles": PLAIN}
    with override_settings(STORAGES=storages, STATIC_ROOT=root):
        yield


@pytest.fixture(scope="session", autouse=True)
def _mails_are_rows(django_test_environment: None) -> Iterator[None]:
    """Django's test runner would catch them before they are written."""
    with override_settings(EMAIL_BACKEND="accounts.mail.RowBackend"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _quick_passwords() -> Iterator[None]:
    """Where the time a hash takes matters, a test sets tests.hashers.REAL."""
    with override_settings(PASSWORD_HASHERS=["tests.hashers.Quick"]):
        yield


FLUSHED = pytest.StashKey[bool]()


@pytest.fixture(autouse=True)
def _levels_stay(request: pytest.FixtureRequest) -> None:
    """The flush after a test with transactions of its own takes the migrations' rows too; those
    without come after it where one process of the suite takes over what another has left.

    serialized_rollback would bring them back, but cannot follow a test that does without it.
    """
    marker = request.node.get_closest_marker("django_db")
    if not marker:
        return
    flushes = bool(marker.kwargs.get("transaction"))
    if flushes or request.config.stash.get(FLUSHED, False):
        request.getfixturevalue("transactional_db" if flushes else "db")
        request.config.stash[FLUSHED] = True
        names = (*Level.values, *world.OLD_LEVELS)
        levels = [User(username=name, kind=User.Kind.ENGINE) for name in names]
        User.objects.bulk_create(levels, ignore_conflicts=True)


@pytest.fixture
def alice() -> User:
    return world.person("alice")


@pytest.fixture
def bob() -> User:
    return world.person("bob")


@pytest.fixture
def game(alice: User, bob: User) -> Game:
    """Alice, Blue, is to move."""
    return world.running(alice, bob)


@pytest.fixture
def mailbox() -> Iterator[None]:
    """Mails arrive there, as on a machine without a mail server."""
    with override_settings(MAILBOX=True, EMAIL_URL=""):
        yield


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a chromium, else the test is skipped, or fails under REQUIRE_BROWSER=1."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path:
        return path
    reason = "no chromium here: install one or set CHROMIUM to its path"
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def collected_static_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `collectstatic` makes, for the real servers of all tests."""
    data = tmp_path_factory.mktemp("collected")
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--no-input", "-v", "0"],
        cwd=ROOT,
        env=clean_environment(data),
        check=True,
    )
    return data / "static"


@pytest.fixture
def make_site(
    tmp_path: Path,
    collected_static_files: Path,
    transactional_db: None,
) -> Iterator[Callable[..., Site]]:
    """Makes the site's processes, given more variables, over the test's database."""
    sites: list[Site] = []
    # No rows of a model, so flushing leaves it: limits that an earlier test has used up.
    cache.clear()

    def make(**variables: str) -> Site:
        site = Site(tmp_path, collected_static_files, **variables)
        sites.append(site)
        return site

    yield make
    for site in sites:
        site.close()


@pytest.fixture
def post_office() -> Iterator[PostOffice]:
    """A mail server that takes every mail until it is told otherwise."""
    office = PostOffice()
    office.open()
    yield office
    office.close()
