"""Nobody learns, from any answer or from how long it takes, whether an address has an account."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from statistics import median
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from accounts.views import RESET_SECONDS
from tests import hashers, mails, world

pytestmark = pytest.mark.django_db

# The addresses a stranger asks about. All must look alike.
HOLDERS = ("nobody", "unconfirmed", "confirmed", "both")
_numbers = count()


def address(holders: str) -> str:
    """A new address with those holders."""
    number = next(_numbers)
    held = f"held{number}@example.org"
    if holders in {"confirmed", "both"}:
        _hold(f"confirmed{number}", held, confirmed=True)
    if holders in {"unconfirmed", "both"}:
        _hold(f"unconfirmed{number}", held, confirmed=False)
    return held


def _hold(name: str, held: str, *, confirmed: bool) -> None:
    user = world.person(name, confirmed=confirmed)
    EmailAddress.objects.filter(user=user).update(email=held)
    User.objects.filter(pk=user.pk).update(email=held, password=_hash())


@cache
def _hash() -> str:
    """A hash that takes its time, as those of the site do."""
    return Argon2PasswordHasher().encode("the password of the holder", "a salt of some length")


def seen(client: Client, response: Any, held: str) -> list[Any]:
    """What a stranger gets to see: the answer, and the page it leads to."""
    pages = [response]
    if response.status_code == 302:
        pages.append(client.get(response["Location"]))
    return [(page.status_code, _headers(page), _body(page, held)) for page in pages]


def _headers(page: Any) -> dict[str, str]:
    changing = {"Expires", "Content-Length", "Content-Security-Policy"}
    return {name: value for name, value in page.items() if name not in changing}


def _body(page: Any, held: str) -> str:
    text = page.content.decode().replace(held, "ADDRESS")
    text = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "TOKEN", text)
    return re.sub(r"stranger\d+", "STRANGER", text)


def sign_up(client: Client, held: str) -> Any:
    fields = {
        "username": f"stranger{next(_numbers)}",
        "email": held,
        "password1": world.PASSWORD,
        "next": "/accounts/email/",
    }
    return client.post("/accounts/signup/", fields)


def log_in(client: Client, login: str, password: str = world.PASSWORD) -> Any:
    fields = {"login": login, "password": password, "next": "/accounts/email/"}
    return client.post("/accounts/login/", fields)


def ask_for_reset(client: Client, held: str) -> Any:
    return client.post("/accounts/password/reset/", {"email": held})


def change_address(client: Client, held: str) -> Any:
    return client.post("/accounts/email/", {"email": held, "action_add": "1"})


@pytest.fixture(autouse=True)
def _no_limits() -> Iterator[None]:
    """Limits count each address alike; here they would only end the test."""
    with override_settings(ACCOUNT_RATE_LIMITS=False):
        yield


def all_the_same(look: Callable[[str], list[Any]]) -> bool:
    first, *others = [look(address(holders)) for holders in HOLDERS]
    for other in others:
        assert other == first
    return True


# --- what is to be seen ---------------------------------------------------------------------


def test_signing_up_tells_nothing() -> None:
    def look(held: str) -> list[Any]:
        client = Client()
        return seen(client, sign_up(client, held), held)

    assert all_the_same(look)


def test_signing_up_as_a_guest_tells_nothing() -> None:
    def look(held: str) -> list[Any]:
        client = Client()
        client.force_login(world.guest(f"guest-{next(_numbers):08x}"))
        return seen(client, sign_up(client, held), held)

    assert all_the_same(look)


def test_the_pages_of_the_new_account_tell_nothing() -> None:
    def look(held: str) -> list[Any]:
        client = Client()
        sign_up(client, held)
        again = client.post("/accounts/email/", {"email": held, "action_send": "1"})
        return [
            *seen(client, client.get("/accounts/email/"), held),
            *seen(client, again, held),
            *seen(client, change_address(client, held), held),
        ]

    assert all_the_same(look)


def test_logging_in_to_the_new_account_by_its_address_tells_nothing() -> None:
    def look(held: str) -> list[Any]:
        client = Client()
        sign_up(client, held)
        client.post("/accounts/logout/")
        found = seen(client, log_in(client, held), held)
        assert "_auth_user_id" in client.session
        return found

    assert all_the_same(look)


def test_a_log_in_that_fails_tells_nothing() -> None:
    def look(held: str) -> list[Any]:
        client = Client()
        return seen(client, log_in(client, held, "a password for nothing"), held)

    assert all_the_same(look)


def test_asking_for_a_new_password_tells_nothing() -> None:
    def look(held: str) -> list[Any]:
        client = Client()
        found = seen(client, ask_for_reset(client, held), held)
        assert len(mails.letters(held)) == 1
        return found

    assert all_the_same(look)


def test_changing_ones_address_tells_nothing() -> None:
    def look(held: str) -> list[Any]:
        client = Client()
        client.force_login(world.person(f"stranger{next(_numbers)}"))
        found = seen(client, change_address(client, held), held)
        assert len(mails.letters(held)) == 1
        return found

    assert all_the_same(look)


@override_settings(ACCOUNT_RATE_LIMITS={"signup": "99/m/ip"})
def test_a_second_sign_up_soon_after_tells_nothing() -> None:
    """Only one mail goes to an address in three minutes; the page says the same."""
    held = address("nobody")
    first, second = Client(), Client()
    assert seen(first, sign_up(first, held), held) == seen(second, sign_up(second, held), held)
    assert len(mails.letters(held)) == 1


def test_who_has_the_address_is_told_by_mail_alone() -> None:
    held = address("confirmed")
    sign_up(Client(), held)
    message = mails.letter(held)
    assert message["Subject"] == "Onitama: you have an account"
    assert "you are confirmed" in mails.text(message)
    assert not mails.links(message, "confirm-email")


# --- how long it takes ----------------------------------------------------------------------


def work(monkeypatch: pytest.MonkeyPatch, deed: Callable[[], Any]) -> tuple[int, int]:
    """How many hashes and how many queries a deed takes."""
    hashes = 0

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            nonlocal hashes
            hashes += 1
            return method(*args)

        return counted

    with monkeypatch.context() as patch, CaptureQueriesContext(connection) as queries:
        for method in ("encode", "verify"):
            patch.setattr(hashers.Quick, method, counting(getattr(hashers.Quick, method)))
        deed()
    return hashes, len(queries)


def test_a_log_in_that_fails_takes_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(held: str) -> list[Any]:
        return [work(monkeypatch, lambda: log_in(Client(), held, "not the password"))]

    assert all_the_same(look)
    assert look(address("nobody"))[0][0] == 2


def test_logging_in_to_the_new_account_takes_the_same_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look(held: str) -> list[Any]:
        sign_up(Client(), held)
        return [work(monkeypatch, lambda: log_in(Client(), held))]

    assert all_the_same(look)


def test_signing_up_takes_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(held: str) -> list[Any]:
        return [work(monkeypatch, lambda: sign_up(Client(), held))]

    assert all_the_same(look)


def test_changing_ones_address_takes_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(held: str) -> list[Any]:
        client = Client()
        client.force_login(world.person(f"stranger{next(_numbers)}"))
        return [work(monkeypatch, lambda: change_address(client, held))]

    assert all_the_same(look)


def measured(
    clock: Callable[[], float], deed: Callable[[str], Any], rounds: int = 3
) -> dict[str, list[float]]:
    """For each kind of address, all measured in turn; the first round warms up."""
    times: dict[str, list[float]] = {holders: [] for holders in HOLDERS}
    for _ in range(rounds + 1):
        for holders in HOLDERS:
            held = address(holders)
            began = clock()
            deed(held)
            times[holders].append(clock() - began)
    return {holders: taken[1:] for holders, taken in times.items()}


def medians(clock: Callable[[], float], deed: Callable[[str], Any]) -> dict[str, float]:
    return {holders: median(taken) for holders, taken in measured(clock, deed).items()}


def within(factor: float, taken: dict[str, float]) -> bool:
    assert max(taken.values()) < factor * min(taken.values()), taken
    return True


# A hash more or less is a factor of nearly two. The clock is the processor's: what else this
# machine does meanwhile is not measured.
@pytest.mark.once
@override_settings(PASSWORD_HASHERS=hashers.REAL)
def test_a_log_in_that_fails_takes_the_same_time() -> None:
    def deed(held: str) -> None:
        log_in(Client(), held, "not the password")

    assert within(1.35, medians(time.process_time, deed))


@pytest.mark.once
@override_settings(PASSWORD_HASHERS=hashers.REAL)
def test_signing_up_takes_the_same_time() -> None:
    def deed(held: str) -> None:
        sign_up(Client(), held)

    assert within(1.35, medians(time.process_time, deed))


@pytest.mark.once
def test_asking_for_a_new_password_takes_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the work differs, so the answer waits for a time that is longer than any."""

    def deed(held: str) -> None:
        ask_for_reset(Client(), held)

    # The quickest of a few: a busy machine lengthens some answers, and shortens none.
    taken = measured(time.perf_counter, deed, rounds=6)
    quickest = {holders: min(times) for holders, times in taken.items()}
    assert min(quickest.values()) >= RESET_SECONDS
    assert within(1.3, quickest)
    monkeypatch.setattr("accounts.views.RESET_SECONDS", 0)
    assert max(medians(time.process_time, deed).values()) < RESET_SECONDS / 2
