"""Fixtures for every test: static files without collecting, a browser if there is one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import override_settings

PLAIN = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}


@pytest.fixture(scope="session", autouse=True)
def _uncollected_static_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """In this process only: the servers of the process tests collect the files and serve them."""
    root = tmp_path_factory.mktemp("static")
    storages = {**settings.STORAGES, "staticfiles": PLAIN}
    with override_settings(STORAGES=storages, STATIC_ROOT=root):
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
