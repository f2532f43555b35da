"""What the environment may say, and that nonsense stops the start-up in one line."""

from __future__ import annotations

import os
import runpy
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from onitama_site import environment, vapid

SETTINGS = Path(environment.__file__).with_name("settings.py")
KEY = vapid.make()
PUBLIC = {"SITE_URL": "https://onitama.example", "EMAIL_URL": "smtp://mail.example:25"}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory of its own, and none of the settings from outside."""
    for name in ("DATABASE_URL", "EMAIL_URL", "ONITAMA_MAILBOX", "SITE_URL", "TEST_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("MAIL_FROM", "PUSH_HOSTS", "VAPID_CONTACT", "VAPID_PRIVATE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ONITAMA_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def read(monkeypatch: pytest.MonkeyPatch, **variables: str) -> dict[str, Any]:
    """The settings under these variables; Django's own, already loaded, stay as they are."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return runpy.run_path(str(SETTINGS))


def test_it_needs_no_variable(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(monkeypatch)
    assert found["DEBUG"] is False
    assert found["SITE_URL"] == "http://127.0.0.1:8000"
    assert found["DATABASES"]["default"]["NAME"] == str(data / "onitama.sqlite3")
    assert found["MAILBOX"] is False


def test_it_keeps_its_state_to_itself(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read(monkeypatch)["SECRET_KEY"]
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "secret_key").stat().st_mode) == 0o600
    assert read(monkeypatch)["SECRET_KEY"] == first
    assert len(first) >= 50


def test_it_takes_a_given_secret(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, SECRET_KEY="given")["SECRET_KEY"] == "given"
    assert not (data / "secret_key").exists()


@pytest.mark.usefixtures("data")
def test_it_demands_https_of_a_public_site(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(monkeypatch, **PUBLIC)
    assert found["ALLOWED_HOSTS"] == ["onitama.example"]
    for name in ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT"):
        assert found[name] is True
    assert found["SECURE_HSTS_SECONDS"] > 0


@pytest.mark.usefixtures("data")
def test_it_reads_the_addresses_of_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(
        monkeypatch,
        DATABASE_URL="postgres://me:pw@db.example:5433/games",
        REDIS_URL="redis://:pw@queue.example:6380/2",
        EMAIL_URL="smtp+tls://me:pw@mail.example:587",
    )
    database = found["DATABASES"]["default"]
    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert (database["HOST"], database["PORT"], database["NAME"]) == ("db.example", 5433, "games")
    assert found["CELERY_BROKER_URL"] == "redis://:pw@queue.example:6380/2"
    assert (found["EMAIL_HOST"], found["EMAIL_PORT"]) == ("mail.example", 587)
    assert found["EMAIL_USE_TLS"] is True


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    "variables",
    [
        {"ALLOWED_HOSTS": "onitama.example"},
        {"ALLOWED_HOSTS": "127.0.0.1, *"},
        {"ALLOWED_HOSTS": ".localhost"},
        PUBLIC,
    ],
)
def test_the_mailbox_is_for_loopback_only(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    with pytest.raises(ImproperlyConfigured, match="ONITAMA_MAILBOX"):
        read(monkeypatch, ONITAMA_MAILBOX="1", **variables)


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("host", ["http://127.0.0.1:8123", "http://localhost:8123", "http://[::1]"])
def test_the_mailbox_is_shown_on_loopback(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    assert read(monkeypatch, ONITAMA_MAILBOX="1", SITE_URL=host)["MAILBOX"] is True


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SITE_URL", "onitama.example"),
        ("SITE_URL", "ftp://onitama.example"),
        ("SITE_URL", "https://onitama.example/games"),
        ("SITE_URL", "https://onitama.example:port"),
        ("DATABASE_URL", "mysql://db.example/games"),
        ("DATABASE_URL", "games"),
        ("ALLOWED_HOSTS", "https://www.onitama.example"),
        ("REDIS_URL", "broker.example"),
        ("MAIL_FROM", "Onitama"),
        ("MAIL_FROM", "Onitama <onitama>"),
        ("EMAIL_URL", "pigeon://mail.example"),
        ("ONITAMA_MAILBOX", "yes"),
        ("TRUSTED_PROXY_COUNT", "many"),
        ("TRUSTED_PROXY_COUNT", "-1"),
        ("MAIL_LEASE", "0"),
        ("ENGINE_TIME_LIMIT", "nan"),
        ("ENGINE_WORKERS", "0"),
        ("ENGINE_COMPILE", "later"),
        ("TABLES_LIMIT_MB", "-1"),
        ("SWEEP_SECONDS", "3600"),
        ("VISIBILITY_TIMEOUT", "1e9"),
        ("VAPID_PRIVATE_KEY", "key"),
        ("VAPID_PRIVATE_KEY", "A" * 43),
        ("VAPID_PRIVATE_KEY", "_" * 43),
        ("PUSH_HOSTS", "*"),
        ("PUSH_HOSTS", "*.com/x"),
        ("PUSH_HOSTS", "https://push.example.org"),
    ],
)
def test_it_refuses_nonsense(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=name) as caught:
        read(monkeypatch, **{name: value})
    assert "\n" not in str(caught.value)


def test_it_refuses_a_web_server_without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_CONCURRENCY", "0")
    with pytest.raises(ImproperlyConfigured, match="WEB_CONCURRENCY must lie between 1 and 64"):
        runpy.run_path(str(SETTINGS.with_name("web.py")))


@pytest.mark.usefixtures("data")
def test_push_is_off_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of no use then, so nothing is asked of it.
    found = read(monkeypatch, VAPID_CONTACT="nobody")
    assert (found["VAPID_PRIVATE_KEY"], found["VAPID_PUBLIC_KEY"]) == ("", "")


@pytest.mark.usefixtures("data")
def test_push_is_on_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(monkeypatch, VAPID_PRIVATE_KEY=KEY, PUSH_HOSTS="Push.example.org, *.example.net")
    assert found["VAPID_PUBLIC_KEY"] == vapid.public_key(KEY)
    assert found["VAPID_CONTACT"] == "mailto:onitama@127.0.0.1"
    assert found["PUSH_HOSTS"][-2:] == ["push.example.org", "*.example.net"]
    found = read(monkeypatch, MAIL_FROM="Games <games@onitama.example>")
    assert found["VAPID_CONTACT"] == "mailto:games@onitama.example"
    found = read(monkeypatch, VAPID_CONTACT="https://onitama.example/about")
    assert found["VAPID_CONTACT"] == "https://onitama.example/about"
    for nonsense in ("games@onitama.example", "mailto:games", "http://onitama.example"):
        with pytest.raises(ImproperlyConfigured, match="VAPID_CONTACT"):
            read(monkeypatch, VAPID_CONTACT=nonsense)


@pytest.mark.usefixtures("data")
def test_it_refuses_a_public_site_without_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL"):
        read(monkeypatch, SITE_URL="https://onitama.example")


def test_it_refuses_a_data_directory_it_cannot_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match="ONITAMA_DATA"):
        read(monkeypatch, ONITAMA_DATA=str(tmp_path / "file" / "data"))


def test_many_processes_make_one_secret(data: Path) -> None:
    code = "from onitama_site.settings import SECRET_KEY; print(SECRET_KEY)"
    command = [sys.executable, "-c", code]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ, cwd=SETTINGS.parents[1])
        for _ in range(4)
    ]
    keys = {process.communicate()[0] for process in processes}
    assert len(keys) == 1
    assert keys == {(data / "secret_key").read_bytes() + b"\n"}
