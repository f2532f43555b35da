"""Random paths, queries, fields and headers, to every address there is: never a 5xx."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from hashlib import sha256
from urllib.parse import quote, urlencode

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern, RoutePattern
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django import Settings

from accounts.models import User
from games import challenges
from games.clock import PRESETS
from games.models import Feed, Subscription
from tests.push_service import switch_on
from tests.world import BLUE_BY_STREAM, against_level, finished, guest, person, running

# The world is built once for a test; its examples leave their traces in it, as visitors do.
IN_A_WORN_WORLD = hypothesis_settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "60")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FIELDS = [
    *("ply", "card", "from", "to", "version", "until", "draw", "confirm", "side", "flip"),
    *("opponent", "level", "colour", "deck", "private", "control", "reason", "name", "kind"),
    *("username", "login", "email", "password", "password1", "password2", "oldpassword", "next"),
    *("result", "after", "before", "page", "cursor", "q", "o", "action", "_selected_action"),
    *("time_zone", "confirm_moves", "turn", "reminder", "over", "List-Unsubscribe", "key"),
    *("endpoint", "p256dh", "auth", "offer"),
]
HEADERS = [
    *("HX-Request", "HX-Target", "HX-Trigger", "HX-Current-URL", "HX-Boosted", "HX-Prompt"),
    *("Host", "Origin", "Referer", "Accept", "Accept-Language", "Content-Type", "User-Agent"),
    *("X-Forwarded-For", "X-Forwarded-Proto", "Purpose", "Sec-Purpose", "Sec-Fetch-Mode"),
    *("If-None-Match", "If-Modified-Since", "Range", "Cookie", "Authorization", "X-Requested-With"),
]
PLAUSIBLE = [
    *(
        "",
        "0",
        "1",
        "2",
        "-1",
        "17",
        "true",
        "on",
        "b",
        "r",
        "base",
        "all34",
        "random",
        "white-belt",
    ),
    *("tiger", "crab", "a1", "b2", "c5", "won", "lost", "person", "engine", "alice", "3+1", "UTC"),
    *(
        "alice@example.org",
        "2026-12-01T00:00:00Z",
        "9" * 40,
        "1e400",
        "NaN",
        "None",
        "../..",
        "%00",
    ),
    *("https://fcm.googleapis.com/x", "BBBB"),
    *("\x00", "\ud7ff", "\u202e", "🀄" * 50, "a" * 5000, "'\"><script>", "a@b\r\nBcc: c@d.org"),
]

anything = st.one_of(st.sampled_from(PLAUSIBLE), st.text(max_size=40))
fields = st.dictionaries(
    st.one_of(st.sampled_from(FIELDS), st.text(max_size=10)), anything, max_size=6
)
# What a server hands on: latin-1 without line ends, which end a header.
header_text = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=60)
headers = st.dictionaries(
    st.sampled_from(HEADERS),
    st.one_of(st.sampled_from(["true", "127.0.0.1", "navigate", "en", "*/*"]), header_text),
    max_size=4,
)


def patterns(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every address with the route that leads to it."""
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from patterns(entry, prefix + str(entry.pattern))
        else:
            yield prefix, entry


ADDRESSES = list(patterns(get_resolver()))


def test_it_finds_every_address() -> None:
    names = {entry.name for _prefix, entry in ADDRESSES}
    assert {"landing", "game", "move", "archive", "account_login", "unsubscribe", "index"} <= names


def argument(draw: st.DrawFn, converter: str, known: dict[str, list[str]], name: str) -> str:
    if converter == "int":
        numbers = [*known["ints"], "0", "99999999", "9" * 19, "9" * 30]
        return draw(st.sampled_from(numbers))
    text = draw(st.one_of(st.sampled_from(known.get(name, known["strs"])), st.text(min_size=1)))
    return quote(text, safe="/" if converter == "path" else "")


@st.composite
def paths(draw: st.DrawFn, known: dict[str, list[str]]) -> str:
    prefix, entry = draw(st.sampled_from(ADDRESSES))
    pattern = entry.pattern
    if isinstance(pattern, RegexPattern):
        tail: str = draw(st.from_regex(re.compile(str(pattern), re.ASCII)))
        return "/" + prefix + quote(tail.strip("\n"))
    assert isinstance(pattern, RoutePattern)

    def fill(match: re.Match[str]) -> str:
        converter, _, name = match[1].rpartition(":")
        return argument(draw, converter or "str", known, name)

    return "/" + re.sub(r"<([^>]+)>", fill, prefix + str(pattern))


@pytest.fixture
def known(settings: Settings) -> dict[str, list[str]]:
    """Some of everything, and the numbers and words that name it."""
    switch_on(settings)
    alice, bob = person("alice"), person("bob")
    admin = User.objects.create_superuser("warden", "warden@example.org", "x")
    visitor = guest()
    games = [
        running(alice, bob),
        running(bob, alice, BLUE_BY_STREAM[:2], private=True),
        finished(alice, bob),
        against_level(visitor),
    ]
    row = challenges.challenge(
        alice,
        bob,
        control=PRESETS["3"],
        colour="",
        deck="all34",
        private=True,
        now=games[0].created,
    )
    token = Subscription.objects.create(player=alice, kind="turn").token
    feeds = [secrets.token_urlsafe(32) for _ in Feed.Form]
    for form, secret in zip(Feed.Form, feeds, strict=True):
        digest = sha256(secret.encode()).hexdigest()
        Feed.objects.create(player=alice, form=form, token_hash=digest, created=alice.date_joined)
    return {
        "ints": [str(game.pk) for game in games] + [str(row.pk), "1"],
        "strs": ["alice", "random", "guest-0a1b2c3d", "nobody", str(admin.pk)],
        "token": [token, *feeds, "x" * 43],
    }


READERS = {"logged-out": "", "player": "alice", "guest": "guest-0a1b2c3d", "admin": "warden"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", READERS.values(), ids=READERS)
def test_it_never_answers_with_a_5xx(name: str, known: dict[str, list[str]]) -> None:
    reader = User.objects.filter(username=name).first()

    @IN_A_WORN_WORLD
    @given(
        path=paths(known),
        query=fields,
        body=fields,
        extra=headers,
        method=st.sampled_from(["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "X"]),
    )
    def check(
        path: str, query: dict[str, str], body: dict[str, str], extra: dict[str, str], method: str
    ) -> None:
        client = Client(raise_request_exception=False)
        if reader:
            # Saved anew: whatever an example did to the account, the next one is its reader again.
            reader.save()
            client.force_login(reader)
        answer = client.generic(
            method,
            path + "?" + urlencode(query, errors="surrogatepass"),
            urlencode(body, errors="surrogatepass"),
            content_type="application/x-www-form-urlencoded",
            headers=extra,
        )
        assert answer.status_code < 500

    check()
