"""Web push in a real chromium: enabled by a press, shown by the service worker, opened by a click.

The browser subscribes at a registry of the test's own. What the site sends is taken by a push
service of the test's own, read there, and handed to the browser by its developer tools: the wire
from Google's service into the browser is not ours. No tool can press a notification; the test
sends the service worker that event, with a stand-in for the two deeds that need a real press.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from django.db import connection
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from accounts.models import User
from games.models import PushDevice
from onitama_site import vapid
from tests import world
from tests.browser import FLAGS, PATIENCE, windows
from tests.push_service import KEY, Browser, PushService, Registry
from tests.servers import Site, Visitor, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.processes, pytest.mark.django_db(transaction=True)]

PAGE = "/preferences/devices/"
ENABLE = "Tell me in this browser"
Found = TypeVar("Found")


def aside(query: Callable[[], Found]) -> Found:
    """Ask the database from a thread of its own: playwright's passes for an asynchronous one."""

    def ask() -> Found:
        try:
            return query()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ask).result()


@pytest.fixture
def service() -> Iterator[PushService]:
    service = PushService()
    yield service
    service.close()


@pytest.fixture
def registry() -> Iterator[Registry]:
    registry = Registry()
    yield registry
    registry.close()


@pytest.fixture
def site(make_site: Callable[..., Site], service: PushService) -> Site:
    site = make_site(VAPID_PRIVATE_KEY=KEY, PUSH_HOSTS=service.host)
    site.start_web()
    return site


@contextmanager
def profile(
    chromium: str, directory: Path, site: Site, registry: Registry, visitor: Visitor
) -> Iterator[tuple[BrowserContext, list[str]]]:
    """A browser with a profile on disk: a private window has no push. And what it complains of."""
    expect.set_options(timeout=PATIENCE)
    address = f"http://127.0.0.1:{site.port}"
    complaints: list[str] = []
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            directory, executable_path=chromium, args=[*FLAGS, *registry.flags], base_url=address
        )
        context.set_default_timeout(PATIENCE)
        context.on("console", lambda message: complaints.append(message.text))
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.grant_permissions(["notifications"], origin=address)
        for name, value in visitor.cookies.items():
            context.add_cookies([{"name": name, "value": value, "url": address}])
        try:
            yield context, complaints
        finally:
            context.close()


def says(page: Page, text: str) -> None:
    """This, and of all that the box may say nothing else."""
    visible = page.locator("#push p[data-when]:visible")
    expect(visible).to_have_count(1)
    expect(visible).to_contain_text(text)


def press_enable(page: Page) -> None:
    page.get_by_role("button", name=ENABLE).click()
    says(page, "This browser is on the list.")


def shown(page: Page) -> list[dict[str, Any]]:
    """The notifications that the browser shows for the site."""
    found: list[dict[str, Any]] = page.evaluate(
        """async () => {
          const registration = await navigator.serviceWorker.getRegistration("/");
          const all = await registration.getNotifications();
          return all.map(({ title, body, tag, data }) => ({ title, body, tag, ...data }));
        }"""
    )
    return found


class Tools:
    """The developer tools of a page, which hand a push message to the service worker."""

    def __init__(self, page: Page, site: Site) -> None:
        self._page = page
        self._session = page.context.new_cdp_session(page)
        self._origin = f"http://127.0.0.1:{site.port}"
        registrations: list[dict[str, Any]] = []
        self._session.on(
            "ServiceWorker.workerRegistrationUpdated",
            lambda event: registrations.extend(event["registrations"]),
        )
        self._session.send("ServiceWorker.enable")
        # Events come in while playwright waits.
        while not registrations:
            page.wait_for_timeout(50)
        self._registration = registrations[0]["registrationId"]

    def deliver(self, message: dict[str, str]) -> None:
        """As the push service would, decrypted; returns when it is shown."""
        push = {
            "origin": self._origin,
            "registrationId": self._registration,
            "data": json.dumps(message),
        }
        while message["body"] not in [it["body"] for it in shown(self._page)]:
            # A worker that is about to stop for having nothing to do may miss it.
            self._session.send("ServiceWorker.deliverPushMessage", push)
            self._page.wait_for_timeout(500)


PRESS = """async () => {
  const done = [];
  clients.openWindow = async (path) => void done.push(`open ${path}`);
  WindowClient.prototype.focus = async function () {
    done.push(`focus ${new URL(this.url).pathname}`);
    return this;
  };
  const [notification] = await registration.getNotifications();
  dispatchEvent(new NotificationEvent("notificationclick", { notification }));
  while (!done.length) await new Promise((go) => setTimeout(go, 50));
  return done;
}"""


def press(context: BrowserContext) -> list[str]:
    """Press the only notification: what the service worker does then."""
    done: list[str] = context.service_workers[-1].evaluate(PRESS)
    return done


def test_a_turn_is_shown_by_a_browser_that_was_enabled(
    alice: User,
    site: Site,
    service: PushService,
    registry: Registry,
    chromium: str,
    tmp_path: Path,
) -> None:
    bob = world.person("bob")
    paths = [f"/games/{world.running(bob, alice).pk}/" for _ in range(2)]
    reader = Browser(service.address())
    site.start_worker("mail")
    as_alice, as_bob = site.visitor(alice), site.visitor(bob)
    with profile(chromium, tmp_path / "profile", site, registry, as_alice) as (context, complaints):
        page = context.new_page()
        page.goto(PAGE)
        press_enable(page)
        row = page.locator("[data-endpoint]:not(:has([hidden]))")
        expect(row).to_contain_text("Chrome on Linux · this browser")
        device = aside(alice.push_devices.get)
        assert registry.tokens == ["token-1"] and device.endpoint.endswith("/token-1")

        # From here on the test reads what the browser would.
        aside(lambda: PushDevice.objects.update(**reader.subscription))
        # Who was here just now is told two minutes later.
        aside(lambda: User.objects.update(last_navigation=None))
        move = {"ply": 1, "card": "crab", "from": "a1", "to": "a2"}
        assert as_bob.post(f"{paths[0]}move/", move).status == 303
        [post] = wait_for(lambda: service.posts, 30)
        message = reader.read(post)
        tools = Tools(page, site)
        tools.deliver(message)
        assert shown(page) == [message]
        assert (message["title"], message["url"]) == ("Your game with bob", paths[0])
        assert "It is your turn." in message["body"]

        # A newer one of the same game takes its place; pressed, it opens the game.
        tools.deliver({**message, "body": "Newer"})
        assert [it["body"] for it in shown(page)] == ["Newer"]
        assert press(context) == [f"open {paths[0]}"]
        assert shown(page) == []

        # Where the game is open already, that page comes to the front and is loaded anew.
        board = context.new_page()
        board.goto(paths[0])
        board.evaluate("document.title = 'old'")
        tools.deliver(message)
        assert press(context) == [f"focus {paths[0]}"]
        expect(board).not_to_have_title("old")
        tools.deliver({**message, "url": paths[1], "tag": "game-2"})
        assert press(context) == [f"open {paths[1]}"]
    assert not complaints


def test_it_is_enabled_again_under_a_new_key(
    alice: User, site: Site, registry: Registry, chromium: str, tmp_path: Path
) -> None:
    new = vapid.public_key(vapid.make())
    visitor = site.visitor(alice)
    with profile(chromium, tmp_path / "profile", site, registry, visitor) as (context, complaints):
        page = context.new_page()
        page.goto(PAGE)
        press_enable(page)
        # Pressed again without need, nothing changes: the browser has one subscription.
        page.reload()
        expect(page.get_by_role("button", name=ENABLE)).to_be_hidden()
        page.evaluate("key => { push.dataset.key = key; return look(); }", new)
        says(page, "This browser is not on the list.")
        with page.expect_navigation():
            page.get_by_role("button", name=ENABLE).click()
        endpoints = aside(lambda: list(alice.push_devices.values_list("endpoint", flat=True)))
        assert sorted(it.rpartition("/")[2] for it in endpoints) == ["token-1", "token-2"]
        # Taken off the list, it can be put there again.
        says(page, "This browser is not on the list.")
        looks_twice = "key => { push.dataset.key = key; return Promise.all([look(), look()]); }"
        page.evaluate(looks_twice, new)
        says(page, "This browser is on the list.")
        row = page.locator("[data-endpoint]:not(:has([hidden]))")
        row.get_by_role("button", name="Remove").click()
        expect(row).to_have_count(0)
        expect(page.get_by_role("button", name=ENABLE)).to_be_visible()
    assert not complaints


@pytest.fixture
def opened_page(alice: User, site: Site, chromium: str) -> Iterator[Callable[..., Page]]:
    visitor = site.visitor(alice)
    with windows(chromium, site) as opened:

        def open_page(script: str = "", **options: Any) -> Page:
            page = opened.open(visitor, **options)
            if script:
                page.add_init_script(script)
            page.goto(PAGE)
            return page

        yield open_page


@pytest.mark.parametrize(
    ("script", "options", "said"),
    [
        ("delete window.PushManager", {}, "This browser cannot be told anything"),
        (
            "Object.defineProperty(Notification, 'permission', { value: 'denied' })",
            {},
            "You have forbidden this site",
        ),
        ("", {"java_script_enabled": False}, "allow scripts on this page"),
    ],
    ids=["unable", "denied", "no scripts"],
)
def test_the_page_says_why_it_cannot_be(
    opened_page: Callable[..., Page], script: str, options: dict[str, Any], said: str
) -> None:
    page = opened_page(script, **options)
    says(page, said)
    expect(page.get_by_role("button", name=ENABLE)).to_be_hidden()


def test_permission_is_asked_for_on_the_press_alone(opened_page: Callable[..., Page]) -> None:
    page = opened_page(
        """
        const permission = { get: () => window.answer ?? "default" };
        Object.defineProperty(Notification, "permission", permission);
        Notification.requestPermission = async () => (window.answer = "denied");
        """
    )
    says(page, "This browser is not on the list.")
    assert page.evaluate("window.answer") is None
    page.get_by_role("button", name=ENABLE).click()
    says(page, "You have forbidden this site")
    assert (
        page.evaluate("navigator.serviceWorker.getRegistrations().then((all) => all.length)") == 0
    )


def test_it_says_that_it_failed(opened_page: Callable[..., Page]) -> None:
    page = opened_page(
        """
        PushManager.prototype.subscribe = () => Promise.reject(new Error("no service"));
        Notification.requestPermission = async () => "granted";
        Object.defineProperty(Notification, "permission", { value: "granted" });
        """
    )
    page.get_by_role("button", name=ENABLE).click()
    says(page, "That did not work")
    expect(page.get_by_role("button", name=ENABLE)).to_be_enabled()
