"""The mailbox page: what the site wrote, for whoever tries it on their own machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.mail import EmailMultiAlternatives
from django.test import Client, override_settings
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts import mail
from accounts.models import Mail
from accounts.tasks import send_mails
from tests import world

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _mailbox() -> Iterator[None]:
    with override_settings(MAILBOX=True, EMAIL_URL=""):
        yield


def write(number: int = 1, text: str = "Good day", html: str = "<p>Good day</p>") -> Mail:
    to = f"ada{number}@example.org"
    message = EmailMultiAlternatives(f"Hello {number}", text, to=[to])
    if html:
        message.attach_alternative(html, "text/html")
    return mail.write(message, key=f"test:{number}", next_try=timezone.now())


def page(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def test_it_lists_the_newest_first(client: Client) -> None:
    write(1)
    send_mails()
    write(2)
    text = page(client, "/mailbox/")
    assert (
        text.index("Hello 2") < text.index("waits") < text.index("Hello 1") < text.index("sent at")
    )
    assert "ada1@example.org" in text


def test_it_says_what_to_do_when_empty(client: Client) -> None:
    assert "No mail yet" in page(client, "/mailbox/")


def test_it_goes_on_where_a_page_ends(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    rows = [write(number) for number in range(51)]
    with django_assert_num_queries(1):
        text = page(client, "/mailbox/")
    assert "Hello 1<" in text
    assert "Hello 0<" not in text
    assert f"?before={rows[1].pk}" in text
    older = page(client, f"/mailbox/?before={rows[1].pk}")
    assert "Hello 0<" in older
    assert "Older mails" not in older


@pytest.mark.parametrize("before", ["", "x", "-1", "1e3", "٣", "9" * 30, "0"])
def test_it_survives_any_place_to_go_on_from(client: Client, before: str) -> None:
    write()
    assert client.get("/mailbox/", {"before": before}).status_code == 200


def test_a_mail_is_shown_whole(client: Client) -> None:
    row = write(text="Go to http://127.0.0.1:8000/games/ now.\n<script>alert(1)</script>")
    text = page(client, f"/mailbox/{row.pk}/")
    assert 'href="http://127.0.0.1:8000/games/"' in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<dt>Message-ID</dt>" in text
    assert "<dt>Auto-Submitted</dt><dd>auto-generated</dd>" in text
    assert f'<iframe class="mail-html" sandbox="" src="/mailbox/{row.pk}/html/"' in text
    assert "style=" not in text


def test_its_html_stays_in_its_frame(client: Client) -> None:
    row = write(html='<p style="color:red">Hi</p><script>alert(1)</script>')
    response = client.get(f"/mailbox/{row.pk}/html/")
    assert '<p style="color:red">Hi</p>' in response.content.decode()
    assert response["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
    )
    assert response["X-Frame-Options"] == "SAMEORIGIN"


def test_a_mail_without_html_has_no_frame(client: Client) -> None:
    row = write(html="")
    assert "<iframe" not in page(client, f"/mailbox/{row.pk}/")
    assert client.get(f"/mailbox/{row.pk}/html/").content == b""


@pytest.mark.parametrize("message", [b"", b"\xff\xfe\x00", b"Content-Type: text/x\r\n\r\nhm"])
def test_it_survives_a_mail_that_is_none(client: Client, message: bytes) -> None:
    row = write()
    Mail.objects.filter(pk=row.pk).update(message=message)
    assert client.get(f"/mailbox/{row.pk}/").status_code == 200
    assert client.get(f"/mailbox/{row.pk}/html/").status_code == 200


def test_the_mails_are_everybody_s(client: Client) -> None:
    row = write()
    client.force_login(world.person("bob"))
    assert page(client, f"/mailbox/{row.pk}/")


PATHS = ["/mailbox/", "/mailbox/{pk}/", "/mailbox/{pk}/html/"]


@pytest.mark.parametrize("path", PATHS)
def test_it_is_there_only_where_the_runner_says_so(client: Client, path: str) -> None:
    row = write()
    with override_settings(MAILBOX=False):
        assert client.get(path.format(pk=row.pk)).status_code == 404


@pytest.mark.parametrize("path", PATHS)
def test_it_is_only_read(client: Client, path: str) -> None:
    row = write()
    answer: Any = client.post(path.format(pk=row.pk))
    assert answer.status_code == 405


@pytest.mark.parametrize("pk", [0, 99, 10**17, 10**18 - 1, 10**30])
def test_there_is_no_mail_of_that_number(client: Client, pk: int) -> None:
    assert client.get(f"/mailbox/{pk}/").status_code == 404
    assert client.get(f"/mailbox/{pk}/html/").status_code == 404


def test_it_is_kept_by_no_cache(client: Client) -> None:
    assert "no-store" in client.get("/mailbox/")["Cache-Control"]
