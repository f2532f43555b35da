"""Every page at a real browser: axe finds nothing, no console complains, none scrolls sideways."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from axe_playwright_python.sync_playwright import Axe
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import Model
from django.http import HttpRequest
from django.test import Client
from django.urls import URLResolver, get_resolver, resolve
from django.utils import timezone
from playwright.sync_api import Page, Response, expect

from accounts.models import Mail, User
from games import challenges, notices, play, push
from games.models import (
    AwayEntry,
    AwayShift,
    Challenge,
    Delivery,
    Heartbeat,
    Kind,
    Outage,
    PushDevice,
)
from games.onitama.cards import Deal
from tests import mails, world
from tests.browser import Windows, windows
from tests.push_service import KEY
from tests.servers import Site, Visitor

WIDE, NARROW, NARROWEST = 1280, 390, 360
HEIGHT = 900
AXE = Axe().axe_script
# The preload is for rules about sound and film, which no page has; to name each element by a
# selector takes a quarter of the time.
RUN_AXE = """
(more) => axe.run({preload: false, selectors: false, resultTypes: ["violations"], ...more})
    .then((found) => found.violations)
"""
# A dark page differs by its colours alone, a narrow one by all else.
COLOURS = ["color-contrast", "link-in-text-block"]
RULES: dict[tuple[Literal["light", "dark"], int], dict[str, Any]] = {
    ("light", WIDE): {},
    ("dark", WIDE): {"runOnly": COLOURS},
    ("light", NARROW): {"rules": {rule: {"enabled": False} for rule in COLOURS}},
}
# Addresses that are no page: what a form posts to, a file, a part of a page, a frame.
NO_PAGES = {
    *("move", "resign", "abort", "offer_draw", "accept_draw", "decline_draw"),
    *("play_computer", "accept_challenge", "decline_challenge", "withdraw_challenge"),
    *("record", "board", "mail_html", "favicon", "feed_turns", "feed_deadlines", "remove_feed"),
    *("add_push_device", "remove_push_device", "service_worker"),
    # Of the admin; the first two of these are not reached, ours stand before them.
    *("admin:login", "admin:password_change", "admin:logout"),
    *("admin:autocomplete", "admin:jsi18n", "admin:view_on_site"),
    # Of the bell and the preferences.
    *("count", "see_all", "send_test"),
}
# Of allauth, for ways to log in that are off: they lead elsewhere.
OFF = {
    "account_request_reauthentication_code",
    "account_confirm_reauthentication_code",
    "account_confirm_login_code",
}
# Both cards of Blue, who begins, reach b2 from c1.
BOTH: Deal = ("mantis", "elephant", "tiger", "crab", "ox")
People = dict[str, User]


@dataclass(frozen=True)
class Look:
    """A page as somebody sees it: `said` is to be found there, after `do` if that is given."""

    path: str
    who: str = ""
    said: str = ""
    status: int = 200
    do: Callable[[Page], None] | None = None

    def __str__(self) -> str:
        return f"{self.path} ({self.who or 'nobody'}: {self.said})"


def press(name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("main").get_by_role("button", name=name).last.click()


def unfold(where: str) -> Callable[[Page], None]:
    return lambda page: page.locator(f"{where} summary").first.click()


@pytest.fixture
def people() -> People:
    named = {name: world.person(name) for name in ("bob", "charlie", "eve", "frida")}
    named["alice"] = world.person("alice", password=world.PASSWORD)
    named["dora"] = world.person("dora", confirmed=False)
    named["guest"] = world.guest()
    named["chief"] = world.person("chief", password=world.PASSWORD)
    User.objects.filter(pk=named["chief"].pk).update(is_staff=True, is_superuser=True)
    User.objects.filter(pk=named["eve"].pk).update(confirm_moves=False)
    return named


# --- the pages, by family -------------------------------------------------------------------------


def of_games(people: People) -> Iterator[Look]:
    alice, bob, eve, guest = (people[name] for name in ("alice", "bob", "eve", "guest"))
    mine = f"/games/{world.running(alice, bob).pk}/"
    yield Look(mine, "alice", "Choose a card or a piece.")
    yield Look(mine, "alice", "Offer a draw", do=unfold(".more"))
    yield Look(mine, "alice", "My page", do=unfold(".menu"))
    yield Look(f"{mine}?card=crab", "alice", "Choose the piece that Crab moves.")
    yield Look(f"{mine}?from=b1", "alice", "Choose where the piece on b1 goes.")
    yield Look(f"{mine}?card=crab&from=b1&to=b2", "alice", "Press once more to send it.")
    yield Look(f"{mine}?ask=resign", "alice", "Resign this game?")
    yield Look(f"{mine}?ask=abort", "alice", "Abort this game?")
    yield Look(mine, "bob", "Waiting for alice")
    yield Look(mine, "charlie", "Blue to move")
    yield Look(mine, "", "Blue to move")
    both = f"/games/{world.running(alice, bob, deal=BOTH).pk}/?from=c1&to=b2"
    yield Look(both, "alice", "Which card?")
    at_once = f"/games/{world.running(eve, bob, deal=BOTH).pk}/"
    yield Look(f"{at_once}?from=c1", "eve", "Choose where the piece on c1 goes.")
    yield Look(f"{at_once}?from=c1&to=b2", "eve", "Which card?")
    captures = world.running(alice, bob, world.BLUE_BY_STONE[:2])
    yield Look(f"/games/{captures.pk}/?from=b2&to=b4", "alice", "takes the master on b4")
    yield from _passes(alice, bob)
    yield from _offers(alice, bob)
    private = world.running(alice, bob, private=True)
    yield Look(f"/games/{private.pk}/", "alice", "private")
    computer = world.against_level(guest, actions=("crab:b1b2",))
    yield Look(f"/games/{computer.pk}/", "guest", "The computer answers within seconds.")
    late = world.running(alice, bob, ("crab:b1b2",), now=timezone.now() - timedelta(days=11))
    yield Look(f"/games/{late.pk}/", "alice", "Out of time")


def _passes(alice: User, bob: User) -> Iterator[Look]:
    row = world.running(alice, bob, world.FORCED_PASS[:-1], deal=world.PASS_DEAL)
    card = row.current.hand(row.current.turn)[0]
    yield Look(f"/games/{row.pk}/", "alice", "You must pass")
    yield Look(f"/games/{row.pk}/?card={card}", "alice", "goes to the side")


def _offers(alice: User, bob: User) -> Iterator[Look]:
    row = world.running(alice, bob)
    play.offer_draw(row.pk, bob, 1, now=timezone.now())
    yield Look(f"/games/{row.pk}/", "alice", "bob offers a draw")
    yield Look(f"/games/{row.pk}/?from=b1&to=b2", "alice", "bob offers a draw")
    yield Look(f"/games/{row.pk}/", "bob", "You have offered a draw")


def of_finished_games(people: People) -> Iterator[Look]:
    alice, bob = people["alice"], people["bob"]
    over = world.finished(alice, bob)
    game = f"/games/{over.pk}/"
    for who, said in (("alice", "You won"), ("bob", "You lost"), ("charlie", "Blue won")):
        yield Look(game, who, said)
    repeated = world.finished(alice, bob, world.REPETITION)
    yield Look(f"/games/{repeated.pk}/", "alice", "for the third time")
    aborted = play.abort(world.running(alice, bob).pk, bob, now=timezone.now())
    yield Look(f"/games/{aborted.pk}/", "alice", "Game aborted")
    lost = world.against_level(people["guest"])
    play.resign(lost.pk, people["guest"], now=timezone.now())
    yield Look(f"/games/{lost.pk}/", "guest", "Play again")

    yield Look(f"{game}ply/0/", "alice", "Ply 0 of 5")
    yield Look(f"{game}ply/3/", "bob", "Ply 3 of 5")
    yield Look(f"{game}ply/5/?side=r", "", "Blue won")
    running = world.running(alice, bob, world.BLUE_BY_STREAM[:2])
    yield Look(f"/games/{running.pk}/ply/1/", "charlie", "To the running game")

    yield Look("/archive/", "charlie", "No game of yours is finished yet.")
    yield Look("/archive/", "bob", "Stream")
    yield Look("/archive/?result=lost", "bob", "chosen; press to show all")
    yield Look("/archive/?opponent=alice", "bob", "against alice")
    yield Look("/archive/?against=engine", "bob", "No game matches.")
    yield Look("/archive/?opponent=zoe", "bob", "zoe")
    world.copies(world.finished(alice, people["eve"]), 30)
    yield Look("/archive/", "eve", "Older")
    yield Look("/archive/", "eve", "Newer", do=lambda page: page.click("#next"))


def of_lists(people: People) -> Iterator[Look]:
    alice, bob = people["alice"], people["bob"]
    now = timezone.now()
    soon = now - timedelta(days=2, hours=22)
    world.running(alice, bob, now=soon)
    world.running(alice, bob, world.BLUE_BY_STONE[:2], private=True)
    world.against_level(alice)
    offered = world.running(alice, bob)
    play.offer_draw(offered.pk, bob, 1, now=now)
    for actions in (("crab:b1b2",), ("crab:d1d2",)):
        world.running(alice, bob, actions)
    world.finished(alice, bob)
    world.finished(bob, alice)
    ask(alice, people["charlie"])
    ask(bob, alice)
    yield Look("/games/", "alice", "challenges you")
    yield Look("/games/", "alice", "Decline the challenge", do=unfold(".challenges"))
    yield Look("/games/", "eve", "No game of yours is running.")
    yield Look("/games/", "guest", "You play as a guest")
    yield Look("/games/", "dora", "your address is not confirmed yet")
    for who in ("alice", "guest", ""):
        yield Look("/games/new/", who, "Against the computer")
    yield Look("/games/new/?opponent=bob", "alice", "Challenge a player")
    yield Look("/games/new/", "eve", "no player called zoe", 422, challenge_nobody)
    yield Look("/players/alice/", "alice", "Plays here since")
    yield Look("/players/bob/", "alice", "Challenge")
    yield Look("/players/white-belt/", "", "Has just learned the moves")
    yield Look("/players/two-ply/", "", "An old level of the computer")
    yield Look(f"/players/{people['guest'].username}/", "", "A guest")
    yield Look("/preferences/", "alice", "They go to alice@example.org.")
    yield Look("/preferences/", "dora", "your address is not confirmed")
    yield Look("/preferences/", "guest", "A guest is told nothing by mail.")
    yield Look("/preferences/", "eve", "Saved.", do=press("Save"))
    feeds = "/preferences/feeds/"
    yield Look(feeds, "guest", "A guest has no feeds.")
    yield Look(feeds, "alice", "Make an address")
    yield Look(feeds, "alice", "it is shown this once", do=press("Make an address"))
    yield Look(feeds, "alice", "Your address was made:")
    devices = "/preferences/devices/"
    where = "https://fcm.googleapis.com/fcm/send/x"
    push.add(bob, where, p256dh="x", auth="x", name="Firefox on Linux", now=now)
    yield Look(devices, "guest", "A guest’s browser tells nothing.")
    yield Look(devices, "bob", "On the list")
    nothing = "form => form.submit()"
    yield Look(
        devices,
        "alice",
        "That is no subscription",
        422,
        lambda page: page.locator("#push form").evaluate(nothing),
    )
    away = "/preferences/away/"
    yield Look(away, "guest", "there no clock runs")
    yield Look(away, "alice", "What everybody begins with")
    yield Look(away, "alice", "Saved.", do=press("Save"))
    token = world.subscription(bob, Kind.TURN).token
    yield Look(f"/unsubscribe/{token}/", "", "No more mails of this kind?")
    yield Look(f"/unsubscribe/{token}/", "", "No more of these mails", do=press("Send me no more"))
    yield Look("/", "", "Five cards. No dice.")
    yield Look("/rules/", "", "Every card")
    yield Look("/rules/", "alice", "Every card")
    yield from _told(people)


def _told(people: People) -> Iterator[Look]:
    """What the bell says, and what there is to say of mails."""
    alice, frida, now = people["alice"], people["frida"], timezone.now()
    notices.tell(alice, Kind.OUTAGE, "outage:o1", now=now)
    Delivery.objects.get(notice__key="outage:o1").mark_refused(now, "550 5.1.1 no such mailbox")
    yield Look("/preferences/", "alice", "refused: 550 5.1.1 no such mailbox")
    yield Look("/preferences/", "alice", "A test mail is on its way", do=press("Send me a test"))
    yield Look("/preferences/", "alice", "Give both ends", 422, leave_quiet_hours_open)
    yield Look("/notices/", "alice", "Mark all as read")
    yield Look("/notices/", "alice", "Seen lately", do=press("Mark all as read"))
    yield Look("/notices/", "frida", "When an opponent moves")
    yield Look("/notices/", "guest", "You have seen everything.")
    User.objects.filter(pk=frida.pk).update(bounces=3)
    yield Look("/games/", "frida", "has refused our last mails")
    yield Look("/preferences/", "frida", "none goes there any more")


def of_absence(people: People) -> Iterator[Look]:
    """Players who are away: by their hours, by what they announced, or without a word."""
    alice, bob, charlie, now = people["alice"], people["bob"], people["charlie"], timezone.now()
    began = now - timedelta(days=4, minutes=30)
    User.objects.filter(pk=bob.pk).update(away_until=(now + timedelta(days=9)).date())
    mine, theirs = (
        world.running(*players, world.BLUE_BY_STONE[:2], now=began)
        for players in ((alice, bob), (bob, alice))
    )
    for game in (mine, theirs):
        play.settle(game.pk, now)
    yield Look(f"/games/{mine.pk}/", "alice", "Your time ran out.")
    yield Look(f"/games/{theirs.pk}/", "alice", "Time ran out for bob")
    yield Look("/players/bob/", "alice", "Away until")
    yield Look("/games/new/?opponent=bob", "alice", "Send it all the same?")
    yield Look("/preferences/away/", "alice", f"Game {mine.pk} against bob")
    User.objects.filter(pk=charlie.pk).update(away_on=False)
    asked = ask(charlie, alice)
    for _ in range(2):
        lost = world.running(charlie, bob, world.BLUE_BY_STONE[:2], now=began)
        play.settle(lost.pk, now)
    yield Look(f"/challenges/{asked.pk}/", "alice", "once charlie is back")
    yield Look("/games/", "alice", "It waits: charlie has lost two games")


def leave_quiet_hours_open(page: Page) -> None:
    page.get_by_label("from", exact=True).fill("22:00")
    press("Save")(page)


def challenge_nobody(page: Page) -> None:
    page.get_by_label("Who", exact=True).fill("zoe")
    press("Send the challenge")(page)


def ask(challenger: User, challenged: User, colour: str = "") -> Challenge:
    return challenges.challenge(
        challenger,
        challenged,
        control=world.CONTROL,
        colour=colour,
        deck="all34",
        private=bool(colour),
        now=timezone.now(),
    )


def of_challenges(people: People) -> Iterator[Look]:
    alice, bob, now = people["alice"], people["bob"], timezone.now()
    path = "/challenges/{}/".format
    expired = ask(bob, people["eve"]).pk
    challenges.expire(now + timedelta(days=15))
    yield Look(path(expired), "bob", "it has expired")
    accepted = ask(alice, bob).pk
    challenges.accept(accepted, bob, now=now)
    yield Look(path(accepted), "alice", "To the game")
    declined = ask(alice, bob).pk
    challenges.decline(declined, bob, "busy", now=now)
    yield Look(path(declined), "alice", "It was declined.")
    withdrawn = ask(alice, bob).pk
    challenges.withdraw(withdrawn, alice, now=now)
    yield Look(path(withdrawn), "bob", "It was withdrawn.")
    waits = ask(alice, bob, "r").pk
    yield Look(path(waits), "alice", "Withdraw")
    yield Look(path(waits), "bob", "Accept and deal the cards")
    yield Look(path(waits), "bob", "Decline the challenge", do=unfold(".answers"))


def of_accounts(people: People) -> Iterator[Look]:
    alice, bob, frida = (people[name] for name in ("alice", "bob", "frida"))
    accounts = "/accounts/"
    yield Look(f"{accounts}signup/", "", "Already a player?")
    yield Look(f"{accounts}signup/", "guest", "You keep the games you have begun.")
    yield Look(f"{accounts}signup/", "", "This name is taken.", do=sign_up_as_somebody)
    yield Look(f"{accounts}login/", "", "New here?")
    yield Look(f"{accounts}login/", "guest", "move to your account")
    yield Look(f"{accounts}login/", "", "do not belong together", do=log_in_wrongly)
    yield Look(f"{accounts}logout/", "alice", "Log out of this browser?")
    yield Look(f"{accounts}logout/", "guest", "You are a guest")
    yield Look(f"{accounts}inactive/", "", "This account is closed")
    yield Look(f"{accounts}reauthenticate/", "alice", "Is it you?")
    yield Look(f"{accounts}confirm-email/", "", "We have sent you a mail.")
    yield Look(f"{accounts}email/", "alice", "It is confirmed.")
    yield Look(f"{accounts}email/", "dora", "It is not confirmed yet")
    EmailAddress.objects.create(user=bob, email="bob@example.net", verified=False)
    yield Look(f"{accounts}email/", "bob", "You want to change it")
    yield Look(f"{accounts}password/change/", "alice", "Change your password")
    yield Look(f"{accounts}password/set/", "charlie", "Choose a password")
    yield Look(f"{accounts}password/reset/", "", "Forgotten password")
    yield Look(f"{accounts}password/reset/done/", "", "A mail is on its way")
    Client().post(f"{accounts}password/reset/", {"email": frida.email})
    link = mails.path(mails.letter(frida.email), "/password/reset/key/")
    yield Look(link, "", "Save the new password")
    yield Look(f"{accounts}password/reset/key/1-set-password/", "guest", "no longer valid")
    yield Look(f"{accounts}password/reset/key/done/", "", "Your new password is saved")
    for address, said in ((frida.email, "Confirm"), (alice.email, "")):
        key = EmailConfirmationHMAC(EmailAddress.objects.get(email=address)).key
        yield Look(f"{accounts}confirm-email/{key}/", "", said)
    yield Look(f"{accounts}confirm-email/nonsense/", "", "no longer valid")


def sign_up_as_somebody(page: Page) -> None:
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Email address").fill("alice@example.net")
    page.get_by_label("Password").fill(world.PASSWORD)
    press("Sign up and play")(page)


def log_in_wrongly(page: Page) -> None:
    page.get_by_label("Name or email address").fill("nobody")
    page.get_by_label("Password").fill("wrong")
    press("Log in")(page)


def of_mailbox(people: People) -> Iterator[Look]:
    Client().post("/accounts/password/reset/", {"email": people["alice"].email})
    Client().post("/accounts/password/reset/", {"email": people["bob"].email})
    whole, wiped = (Mail.objects.get(recipient=people[name].email) for name in ("alice", "bob"))
    Mail.objects.filter(pk=wiped.pk).update(message=b"Subject: gone\n\n", failed=timezone.now())
    yield Look("/mailbox/", "", "Onitama: choose a new password")
    yield Look("/mailbox/?before=1", "", "No mail yet.")
    yield Look(f"/mailbox/{whole.pk}/", "", "The same as HTML")
    yield Look(f"/mailbox/{wiped.pk}/", "alice", "This mail is gone")


def of_errors(people: People) -> Iterator[Look]:
    game = f"/games/{world.running(people['alice'], people['bob']).pk}/"
    yield Look("/nothing/", "", "There is nothing at this address", 404)
    yield Look("/nothing/", "alice", "There is nothing at this address", 404)
    yield Look("/rules/?a=%00", "alice", "That request makes no sense to us", 400)
    resign = post_elsewhere(f"{game}resign/")
    yield Look(game, "charlie", "That is not yours to do", 403, resign)
    yield Look(game, "alice", "This page was open for too long", 403, post_without_token)
    yield Look("/", "", "Too many guests", 429, begin_too_often)
    yield Look("/accounts/login/", "", "Too much at once", 429, try_too_often)


def post_elsewhere(path: str) -> Callable[[Page], None]:
    """The form of the menu sent to an address that this reader's pages never name."""
    script = "(form, path) => { form.action = path; form.submit(); }"
    return lambda page: page.locator(".menu form").evaluate(script, path)


def post_without_token(page: Page) -> None:
    page.locator(".menu form").evaluate("form => { form.firstChild.remove(); form.submit(); }")


def begin_too_often(page: Page) -> None:
    """Ten guests an hour may begin at one IP address."""
    for _ in range(10):
        visitor = Visitor(int(page.url.split(":")[2].strip("/")))
        assert visitor.post("/games/computer/").status == 303
    press("Play the computer now")(page)


def try_too_often(page: Page) -> None:
    visitor = Visitor(int(page.url.split(":")[2].split("/")[0]))
    while visitor.post("/accounts/login/").status != 429:
        pass
    log_in_wrongly(page)


def of_admin(people: People) -> Iterator[Look]:
    """Where the staff begin, and each list, with rows, searched and filtered."""
    yield Look("/admin/", "", "New here?")
    yield Look("/admin/", "alice", "That is not yours to do", 403)
    yield Look("/admin/", "chief", "None available")
    yield Look("/admin/games/", "chief", "Heartbeats")
    world.copies(world.finished(people["alice"], people["bob"]), 60)
    for row, query in rows_of_admin(people):
        path = admin_path(row)
        yield Look(path, "chief", str(row._meta.verbose_name))
        if query:
            yield Look(f"{path}?{query}", "chief", "Clear all filters")
    yield Look("/admin/games/game/?p=2", "chief", "62 games")
    yield Look("/admin/games/game/?q=zoe", "chief", "0 games")
    yield Look("/admin/accounts/user/?q=zoe&o=1.-2", "chief", "0 users")
    yield Look("/admin/accounts/user/?_to_field=id&_popup=1", "chief", "Select user")
    yield Look("/admin/games/game/999/", "chief", "doesn’t exist")


def of_admin_rows(people: People) -> Iterator[Look]:
    for row, _query in rows_of_admin(people):
        path = f"{admin_path(row)}{row.pk}/"
        yield Look(f"{path}change/", "chief", str(row))
        yield Look(f"{path}history/", "chief", "doesn’t have a change history")


def rows_of_admin(people: People) -> Iterator[tuple[Model, str]]:
    """A row of each model that the staff look at, and a query to which its list has an answer."""
    alice, bob, now = people["alice"], people["bob"], timezone.now()
    game = world.running(alice, bob, world.REPETITION[:5])
    Client().post("/accounts/password/reset/", {"email": alice.email})
    told = Delivery.objects.filter(notice__player=bob).latest("pk")
    yield game, "q=ali&status__exact=running"
    asked = Challenge.objects.filter(challenger=bob, challenged=alice, status="open").first()
    yield asked or ask(bob, alice), "q=ali&status__exact=open"
    yield told.notice, "q=bob&kind__exact=turn"
    yield told, "q=bob&failed__isempty=1"
    yield world.subscription(alice, Kind.TURN), "q=ali&kind__exact=turn"
    browser = {"player": alice, "name": "Firefox on Linux", "created": now}
    yield PushDevice.objects.update_or_create(browser, endpoint="https://x.example/1")[0], ""
    entry = AwayEntry.objects.create(player=alice, at=now, reason="taken", hours=-1, balance=167)
    AwayShift.objects.create(entry=entry, game=game, ply=6)
    yield entry, f"q={game.pk}&reason__exact=taken"
    yield Heartbeat.objects.update_or_create(defaults={"at": now})[0], ""
    yield Outage.objects.create(began=now - timedelta(hours=3), ended=now), ""
    yield alice, "q=ali&kind__exact=person"
    yield Mail.objects.filter(recipient=alice.email).latest("pk"), "q=alice&sent__isempty=1"
    yield EmailAddress.objects.get(email=alice.email), "q=ali&verified__exact=1"
    yield Group.objects.get_or_create(name="helpers")[0], ""


def admin_path(row: Model) -> str:
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/"


def of_admin_changes(people: People) -> Iterator[Look]:
    alice, bob = people["alice"], people["bob"]
    users, groups = admin_path(alice), admin_path(Group())
    world.running(alice, bob)
    group = Group.objects.create(name="umpires")
    yield Look(f"{users}add/", "chief", "Add user")
    yield Look(f"{users}add/", "chief", "Please correct", do=press("Save"))
    yield Look(f"{users}{alice.pk}/password/", "chief", "Enter a new password")
    yield Look(f"{users}{bob.pk}/password/", "chief", "enable")
    yield Look(f"{users}{alice.pk}/delete/", "chief", "would result in deleting")
    yield Look(users, "chief", "would result in deleting", do=delete_all)
    yield Look(f"{groups}add/", "chief", "Add group")
    yield Look(f"{groups}add/?_popup=1", "chief", "Add group")
    yield Look(f"{groups}add/", "chief", "Please correct", do=press("Save"))
    yield Look(f"{groups}{group.pk}/delete/", "chief", "Are you sure")
    yield Look(groups, "chief", "Are you sure", do=delete_all)
    address = EmailAddress.objects.get(email=alice.email)
    yield Look(f"{admin_path(address)}add/", "chief", "Add email address")
    yield Look(f"{admin_path(address)}{address.pk}/delete/", "chief", "Are you sure")
    yield Look("/admin/password_change/", "chief", "Change your password")
    yield Look("/admin/password_change/done/", "chief", "Your password was changed")
    save = press("Save and continue")
    yield Look(f"{users}{alice.pk}/change/", "chief", "was changed", do=save)
    yield Look(f"{users}{alice.pk}/history/", "chief", "No fields changed")
    yield Look("/admin/", "chief", "Changed:")
    yield Look("/admin/", "chief", "Log in again", do=log_out_of_admin)


def log_out_of_admin(page: Page) -> None:
    page.get_by_role("button", name="Log out").click()


def delete_all(page: Page) -> None:
    page.check("#action-toggle")
    page.select_option("select[name=action]", "delete_selected")
    press("Go")(page)


FAMILIES: dict[str, Callable[[People], Iterator[Look]]] = {
    "games": of_games,
    "finished games": of_finished_games,
    "lists": of_lists,
    "absence": of_absence,
    "challenges": of_challenges,
    "accounts": of_accounts,
    "mailbox": of_mailbox,
    "errors": of_errors,
    "admin": of_admin,
    "admin rows": of_admin_rows,
    "admin changes": of_admin_changes,
}
# Each lot has a site and a browser of its own, which takes as long as ten looks.
TOGETHER = (
    ("lists",),
    ("games", "finished games"),
    ("accounts", "mailbox", "errors"),
    ("challenges", "absence"),
    ("admin",),
    ("admin rows",),
    ("admin changes",),
)


# --- the tests ----------------------------------------------------------------------------------


@pytest.mark.once
@pytest.mark.django_db
def test_every_page_is_looked_at(people: People) -> None:
    """A page that is added without a look at it fails this one."""
    assert sorted(itertools.chain(*TOGETHER)) == sorted(FAMILIES)
    looks = [look for family in FAMILIES.values() for look in family(people)]
    paths = {look.path.split("?")[0] for look in looks if look.status != 404}
    seen = {match.view_name for match in map(resolve, paths) if match.url_name}
    assert seen == set(names()) - NO_PAGES - OFF - set(refused_to_all())


def names(resolver: URLResolver | None = None, space: str = "") -> Iterator[str]:
    for entry in (resolver or get_resolver()).url_patterns:
        if isinstance(entry, URLResolver):
            yield from names(entry, f"{entry.namespace}:" if entry.namespace else space)
        elif entry.name:
            yield space + entry.name


def refused_to_all() -> Iterator[str]:
    """What the admin has addresses for, and lets nobody do: its pages are a 403."""
    request = HttpRequest()
    request.user = User(is_superuser=True)
    for model, its_admin in admin.site._registry.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        if not its_admin.has_add_permission(request):
            yield f"{name}_add"
        if not its_admin.has_delete_permission(request):
            yield f"{name}_delete"


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("families", TOGETHER, ids="-".join)
def test_every_page_is_fit_to_be_read(
    families: tuple[str, ...], people: People, make_site: Callable[..., Site], chromium: str
) -> None:
    looks = [look for family in families for look in FAMILIES[family](people)]
    site = make_site(ONITAMA_MAILBOX="1", VAPID_PRIVATE_KEY=KEY)
    site.start_web()
    readers = {look.who for look in looks}
    visitors = {name: site.visitor(people[name] if name else None) for name in readers}
    with windows(chromium, site) as opened:
        pages = {name: opened.open(it, reduced_motion="reduce") for name, it in visitors.items()}
        problems = [p for look in looks for p in problems_of(look, pages[look.who], opened)]
    assert not problems, "\n".join(problems)


@pytest.mark.browser
@pytest.mark.processes
@pytest.mark.django_db(transaction=True)
def test_so_is_the_page_that_says_it_broke(
    tmp_path: Path, make_site: Callable[..., Site], chromium: str
) -> None:
    site = make_site()
    site.environment["DATABASE_URL"] = f"sqlite:///{tmp_path / 'without-tables'}"
    site.start_web()
    look = Look("/games/1/", "", "Something broke on our side", 500)
    with windows(chromium, site) as opened:
        problems = list(problems_of(look, opened.open(reduced_motion="reduce"), opened))
    assert not problems, "\n".join(problems)


def problems_of(look: Look, page: Page, opened: Windows) -> Iterator[str]:
    page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    page.emulate_media(color_scheme="light")
    assert visit(page, look) == look.status
    if look.status >= 400:
        opened.forgive(f"status of {look.status}")
    page.evaluate(AXE)
    for (scheme, width), rules in RULES.items():
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": HEIGHT})
        for violation in page.evaluate(RUN_AXE, rules):
            nodes = "; ".join(str(node["html"]) for node in violation["nodes"])
            yield f"{look}, {scheme}, {width}: {violation['help']}: {nodes}"
    page.set_viewport_size({"width": NARROWEST, "height": HEIGHT})
    width = page.evaluate("document.scrollingElement.scrollWidth")
    if width > NARROWEST:
        yield f"{look} is {width} wide on a screen of {NARROWEST}"


def visit(page: Page, look: Look) -> int:
    """The status of the page that is shown in the end."""
    statuses: list[int] = []

    def note(answer: Response) -> None:
        if answer.request.is_navigation_request() and answer.frame == page.main_frame:
            statuses.append(answer.status)

    page.on("response", note)
    page.goto(look.path)
    if look.do:
        look.do(page)
    expect(page.locator("body")).to_contain_text(look.said)
    page.remove_listener("response", note)
    return statuses[-1]
