"""A simulated month: players with habits, a clock that steps to whatever is due, and a log.

What players do goes through the site's own doors: pages through Django's client, deeds through
games.play and games.challenges, time through games.sweep, mails through games.deliveries to a
stand-in for the SMTP server. The log says what they did and what arrived, and nothing that the
site's rows say; tests.month_oracle judges it.
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, time
from email import message_from_bytes
from email.message import Message
from functools import partial
from random import Random
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.db import connection
from django.test import Client, override_settings

from accounts.models import User
from games import challenges, deliveries, digests, engine_room, play, push, push_service, sweep
from games.clock import PRESETS
from games.models import (
    AwayEntry,
    AwayShift,
    Challenge,
    Delivery,
    Game,
    Heartbeat,
    Notice,
    Outage,
    Seat,
)
from games.onitama.position import Action, Move
from tests import push_service as push_tests
from tests.month_log import DAY, HOUR, MINUTE, SECOND, Books, Event, Habit, Span
from tests.world import person

# The sweep and the mail worker come round so often.
ROUND = 15 * SECOND


# --- what stands in for the outside ---------------------------------------------------------


class Wire:
    """Looks like smtplib.SMTP to the sender; says to each mail what its recipient's habit is."""

    sock = object()

    def __init__(self, month: Month) -> None:
        self.month = month
        self.to = ""

    def mail(self, sender: str) -> tuple[int, bytes]:
        return 250, b"2.1.0 OK"

    def rcpt(self, to: str) -> tuple[int, bytes]:
        self.to = to
        if self.month.habit_at(to).address == "broken":
            return self.month.arrived(to, None, 550), b"5.1.1 no such mailbox"
        return 250, b"2.1.5 OK"

    def data(self, text: bytes) -> tuple[int, bytes]:
        message = message_from_bytes(text)
        grey = self.month.habit_at(self.to).address == "grey"
        if grey and message["Message-ID"] not in self.month.put_off:
            self.month.put_off.add(message["Message-ID"])
            return self.month.arrived(self.to, message, 451), b"4.7.1 greylisted"
        return self.month.arrived(self.to, message, 250), b"2.0.0 OK"

    def rset(self) -> None:
        """Nothing."""

    def quit(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


# --- the month ------------------------------------------------------------------------------


class Month:
    """Runs it: `log` and `books` are what came of it."""

    def __init__(
        self, habits: tuple[Habit, ...], span: Span, seed: int, patch: pytest.MonkeyPatch
    ) -> None:
        self.habits = {habit.name: habit for habit in habits}
        self.span = span
        self.dice = Random(seed)
        self.patch = patch
        self.log: list[Event] = []
        self.put_off: set[str] = set()
        self._plans: list[tuple[datetime, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self._players: dict[str, User] = {}
        self._clients: dict[str, Client] = {}
        self._owing: dict[int, int] = {}
        self._over: set[int] = set()
        self._muted: set[str] = set()
        self._sending = ""
        self._beaten = span.start
        self._heartbeat = span.start

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)

    def run(self) -> None:
        with self._outside(), time_machine.travel(self.span.start, tick=False) as clock:
            self._begin()
            while self._step(clock):
                pass
            clock.move_to(self.span.end, tick=False)
            self._round()
            self.books = self._close()

    @contextmanager
    def _outside(self) -> Iterator[None]:
        """Chance from the seed alone, and nothing that leaves this process."""
        chance = Random(self.dice.random())
        self.patch.setattr("games.play.SystemRandom", lambda: chance)
        self.patch.setattr("games.challenges.SystemRandom", lambda: chance)
        self.patch.setattr("secrets.randbits", chance.getrandbits)
        self.patch.setattr("accounts.mail._connect", lambda: Wire(self))
        # Here it is for _nudge() to say which of them are lost.
        self.patch.setattr("accounts.nudge.Nudge.__call__", lambda _nudge: None)
        self._watch_mails()
        self._watch_pushes()
        keys = {
            "VAPID_PRIVATE_KEY": push_tests.KEY,
            "VAPID_CONTACT": "mailto:warden@onitama.example",
            "PUSH_HOSTS": ["push.example"],
        }
        with override_settings(EMAIL_URL="smtp://mail.example", MAILBOX=False, **keys):
            yield

    def _watch_mails(self) -> None:
        """Which notice it is that goes over the wire."""
        from accounts.mail import Postman

        deliver = Postman.deliver

        def watched(postman: Postman, row: Any) -> None:
            self._sending = row.key.removeprefix("notice:")
            deliver(postman, row)

        self.patch.setattr(Postman, "deliver", watched)

    def _watch_pushes(self) -> None:
        send = push.send

        def watched(delivery: Delivery, notice: Notice, *, now: datetime) -> None:
            send(delivery, notice, now=now)
            self._note("push", notice.player.username, notice=str(notice.pk))

        self.patch.setattr("games.push.send", watched)
        taken = push_service.Answer(201, "", "")
        self.patch.setattr("games.push_service.post", lambda *_args, **_more: taken)

    def habit_at(self, address: str) -> Habit:
        return self.habits[address.partition("@")[0]]

    def arrived(self, to: str, message: Message | None, code: int) -> int:
        """A mail that the stand-in for the server answered so."""
        more: dict[str, Any] = {"notice": self._sending, "code": code}
        if message is not None:
            more |= {"id": message["Message-ID"], "subject": message["Subject"]}
            more |= {"text": _text(message), "unsubscribe": message["List-Unsubscribe"]}
        self._note("mail", self.habit_at(to).name, **more)
        return code

    def _note(self, what: str, player: str = "", game: int = 0, **more: Any) -> None:
        self.log.append(Event(self.now, what, player, game, more))

    # --- time -------------------------------------------------------------------------------

    def _plan(self, at: datetime, deed: Callable[[], None]) -> None:
        heapq.heappush(self._plans, (at, next(self._number), deed))

    def _step(self, clock: time_machine.Traveller) -> bool:
        """To the next thing that players do, or that is due; False: the month is over."""
        at, _number, deed = self._plans[0]
        due = self._due()
        beat = max(self._grid(due), self._beaten + ROUND) if due else self.span.end
        if self.span.down < beat < self.span.up:
            beat = self._grid(self.span.up)
        if min(at, beat) >= self.span.end:
            return False
        if beat <= at:
            clock.move_to(beat, tick=False)
            self._round()
            return True
        heapq.heappop(self._plans)
        if self.span.down < at < self.span.up:
            back = self.span.up + MINUTE if deed == self._hour else self._back()
            self._plan(back, deed)
        else:
            clock.move_to(at, tick=False)
            self._keep_heartbeat()
            deed()
        return True

    def _back(self) -> datetime:
        """When somebody who found the site away comes again; some before its first sweep."""
        soon = self.dice.random() < 0.1
        return self.span.up + SECOND * self.dice.randint(*((1, 9) if soon else (60, 30_000)))

    def _grid(self, at: datetime) -> datetime:
        """The first of the rounds that comes then or later."""
        return self.span.start + math.ceil((at - self.span.start) / ROUND) * ROUND

    def _due(self) -> datetime | None:
        with connection.cursor() as cursor:
            cursor.execute(_DUE)
            (at,) = cursor.fetchone()
        if isinstance(at, str):
            at = datetime.fromisoformat(at).replace(tzinfo=UTC)
        return at  # type: ignore[no-any-return]  # as the database's driver gives it

    def _keep_heartbeat(self) -> None:
        """As the sweeps that found nothing to do would have left it; none while the site is away,
        nor until the first one after that."""
        last = self.span.start + (self.now - self.span.start) // ROUND * ROUND
        if self._beaten <= self.span.down < last:
            last = self.span.down
        if last - self._heartbeat > 5 * MINUTE:
            Heartbeat.objects.update(at=last)
            self._heartbeat = last

    def _round(self) -> None:
        """What comes round every quarter of a minute, where it finds something."""
        self._keep_heartbeat()
        self._beaten = self._heartbeat = self.now
        self._note("sweep")
        nudged = sweep.sweep(self.now)
        for pk in list(self._owing):
            self._note_answer(pk)
        self._note_endings()
        for pk in nudged:
            if self.dice.random() < 0.9:
                self._engine(pk)
        self._deliver()

    def _hour(self) -> None:
        self._plan(self.now + HOUR, self._hour)
        self._note("clean")
        sweep.clean_up(self.now)
        self._round()

    def _deliver(self) -> None:
        self._note("deliver")
        due = self._due()
        if due and due <= self.now:
            deliveries.deliver_due(seconds=600)
            self._mute()

    def _nudge(self) -> None:
        """After a deed; where the nudge is lost, the next round finds what is due."""
        if self.dice.random() < 0.95:
            self._deliver()

    def _note_endings(self) -> None:
        """Games that ended without anybody's deed."""
        ended = Game.objects.filter(ended=self.now).order_by("pk")
        for pk, how, winner in ended.values_list("pk", "termination", "winner"):
            if pk not in self._over:
                self._over.add(pk)
                self._note("ended", game=pk, how=how, winner=winner)

    # --- the beginning and the end ----------------------------------------------------------

    def _begin(self) -> None:
        for habit in self.habits.values():
            self._players[habit.name] = self._made(habit)
            self._plan_visits(habit)
        sweep.beat(self.now)
        self._note("sweep")
        self._plan(self.span.down, self._go_down)
        self._plan(self.span.up, self._go_up)
        self._plan(self.span.start + HOUR, self._hour)
        length = (self.span.begun_by - self.span.start).total_seconds()
        for _ in range(self.span.games):
            # Half of them in the first tenth.
            share = self.dice.random() * self.dice.choice((0.1, 1))
            self._plan(self.span.start + share * length * SECOND, self._match)

    def _go_down(self) -> None:
        self._round()
        self._note("down")

    def _go_up(self) -> None:
        self._note("up")
        self._plan(self._grid(self.now), self._round)
        # Some were waiting for it: they are there before the first sweep.
        for game in Game.objects.running().filter(deadline__lte=self.now).order_by("pk")[:4]:
            habit = self.habits[game.seat(game.turn).player.username]
            self._plan(self.now + 2 * SECOND, partial(self._turn_to, habit, game.pk))

    def _made(self, habit: Habit) -> User:
        user = person(habit.name, confirmed=habit.address != "none", away=habit.away)
        user.time_zone, user.mail_mode, user.digest_hour = habit.zone, habit.mode, habit.digest
        user.quiet_from, user.quiet_until = habit.quiet or (None, None)
        user.reminder_hours, user.out_of_time = list(habit.reminders), habit.on_time
        if habit.until is not None:
            user.away_until = (self.span.start + habit.until * DAY).date()
        user.save()
        digests.plan(user, now=self.now)
        self._clients[habit.name] = Client()
        self._clients[habit.name].force_login(user)
        if habit.device:
            browser = push_tests.Browser(f"https://push.example/{habit.name}")
            push.add(user, **browser.subscription, name="Firefox on Linux", now=self.now)
        return user

    def _plan_visits(self, habit: Habit) -> None:
        zone = ZoneInfo(habit.zone)
        days = (self.span.end - self.span.start).days + 1
        first = self.span.start.astimezone(zone).date()
        for day, hour in itertools.product(range(days), habit.comes):
            if habit.gone[0] <= day < habit.gone[1] or self.dice.random() > habit.chance:
                continue
            local = datetime.combine(first + day * DAY, time(hour), zone)
            at = local.astimezone(UTC) + SECOND * self.dice.randrange(3600)
            if self.span.start < at < self.span.end:
                self._plan(at, partial(self._visit, habit))

    def _close(self) -> Books:
        names = {user.pk: name for name, user in self._players.items()}
        told = Notice.objects.filter(player__in=names)
        keys = {str(pk): key for pk, key in told.values_list("pk", "key")}
        for event in self.log:
            if "notice" in event.more:
                event.more["key"] = keys[event.more["notice"]]
        shifts: dict[int, set[tuple[int, int]]] = {}
        for entry, game, ply in AwayShift.objects.values_list("entry", "game", "ply"):
            shifts.setdefault(entry, set()).add((game, ply))
        ledger: dict[str, list[tuple[datetime, int, int, frozenset[tuple[int, int]]]]] = {}
        for row in AwayEntry.objects.order_by("pk"):
            line = (row.at, row.hours, row.balance, frozenset(shifts.get(row.pk, ())))
            ledger.setdefault(names[row.player_id], []).append(line)
        unsent = Delivery.objects.filter(next_try__lte=self.now).select_related("notice__player")
        return Books(
            notices={(names[pk], key) for pk, key in told.values_list("player", "key")},
            ledger=ledger,
            held=dict(User.objects.filter(pk__in=names).values_list("username", "away_hours")),
            games={
                pk: (how, winner, deadline)
                for pk, how, winner, deadline in Game.objects.values_list(
                    "pk", "termination", "winner", "deadline"
                )
            },
            unsent=[f"{row.notice}" for row in unsent],
            sent=Delivery.objects.filter(sent__isnull=False).count(),
            outages=list(Outage.objects.order_by("pk").values_list("pk", flat=True)),
        )

    # --- what players do --------------------------------------------------------------------

    def _open(self, habit: Habit, path: str, game: int = 0) -> None:
        """A page, as by a link: a navigation."""
        answer = self._clients[habit.name].get(path)
        assert answer.status_code == 200, (path, answer.status_code)
        self._note("open", habit.name, game, path=path)

    def _poll(self, habit: Habit, game: int) -> None:
        """As an open page does it by itself."""
        headers = {"HX-Request": "true", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
        path = f"/games/{game}/board/?version=0"
        assert self._clients[habit.name].get(path, headers=headers).status_code == 200

    def _visit(self, habit: Habit) -> None:
        player, at = self._players[habit.name], self.now
        waiting = list(Seat.objects.to_move(player.pk).order_by("game").values_list("game"))
        games = [pk for (pk,) in waiting if not habit.late or self._has_time_to_lose(pk)]
        if habit.late and not games:
            return
        if habit.navigates and (games or self.dice.random() < 0.1):
            self._open(habit, "/games/" if self.dice.random() < 0.3 else "/rules/")
        elif games:
            self._poll(habit, self.dice.choice(games))
        asked = Challenge.objects.filter(challenged=player, status="open").order_by("pk")
        for row in asked:
            at += SECOND * self.dice.randint(5, 60)
            self._plan(at, partial(self._answer_challenge, habit, row.pk))
        if habit.evenings and self.now.astimezone(ZoneInfo(habit.zone)).hour >= 18:
            self._plan(at, partial(self._play_computer, habit))
        for pk in games:
            at += SECOND * self.dice.randint(5, 120)
            self._plan(at, partial(self._turn_to, habit, pk))

    def _has_time_to_lose(self, pk: int) -> bool:
        """Whether the mover's own time is over, and away time is used."""
        game = Game.objects.get(pk=pk)
        bank = game.seat(game.turn).bank
        return bank is not None and game.turn_began + bank < self.now

    def _turn_to(self, habit: Habit, pk: int) -> None:
        """Look at a game that waited, and do something in it, or not."""
        game, player = Game.objects.get(pk=pk), self._players[habit.name]
        if game.is_over or game.seat(game.turn).player_id != player.pk:
            return
        roll = self.dice.random()
        if habit.navigates and (roll < habit.looks or self.dice.random() < 0.15):
            self._open(habit, f"/games/{pk}/", pk)
        if roll < habit.looks or roll > habit.looks + habit.answers:
            return
        ply, chance = game.plies + 1, self.dice.random()
        offered = game.draw_offer not in ("", game.turn)
        if chance < 0.05:
            deed = play.abort if game.plies < 2 else play.resign
            self._do("end", habit, pk, lambda: deed(pk, player, now=self.now))
        elif offered and chance < 0.6:
            accepted = chance < 0.3
            answer = play.accept_draw if accepted else play.decline_draw
            what = "end" if accepted else "decline"
            self._do(what, habit, pk, lambda: answer(pk, player, ply, now=self.now))
        else:
            if chance > 0.93 and play.can_offer_draw(game, game.seat(game.turn)):
                self._do("offer", habit, pk, lambda: play.offer_draw(pk, player, ply, now=self.now))
            self._move(habit, game)

    def _move(self, habit: Habit, game: Game) -> None:
        position, ply, player = game.current, game.plies + 1, self._players[habit.name]
        legal = position.legal_moves()
        winning = list(position.winning(legal)) if self.dice.random() < 0.75 else []
        action = self.dice.choice(winning or legal)
        if not habit.navigates:
            self._do("ply", habit, game.pk, lambda: self._post(habit, game.pk, ply, action))
        else:
            deed = partial(play.play_move, game.pk, player, ply, action)
            self._do("ply", habit, game.pk, lambda: deed(now=self.now))

    def _post(self, habit: Habit, pk: int, ply: int, action: Action) -> Game:
        """A move made on the board that is open."""
        token, _colon, squares = str(action).partition(":")
        fields = {"ply": str(ply), "card": token}
        if isinstance(action, Move):
            fields |= {"from": squares[:2], "to": squares[2:]}
        headers = {"HX-Request": "true"}
        answer = self._clients[habit.name].post(f"/games/{pk}/move/", fields, headers=headers)
        if answer.status_code == 409:
            raise play.GameOver
        assert answer.status_code == 200, answer.status_code
        return Game.objects.get(pk=pk)

    def _do(self, what: str, habit: Habit, pk: int, deed: Callable[[], Game]) -> None:
        try:
            game = deed()
        except play.GameOver:
            self._note("refused", habit.name, pk)
            self._note_endings()
            self._nudge()
            return
        self._note(what, habit.name, pk, how=game.termination, winner=game.winner)
        if game.is_over:
            self._over.add(pk)
        if game.engine_due:
            self._owing[pk] = game.plies
            if self.dice.random() < 0.9:
                self._plan(self.now + SECOND, partial(self._engine, pk))
        self._nudge()

    # --- the computer -----------------------------------------------------------------------

    def _play_computer(self, habit: Habit) -> None:
        player = self._players[habit.name]
        game = challenges.play_computer(player, "random", colour="", deck="base", now=self.now)
        self._begun(game, None)
        if game.engine_due:
            self._owing[game.pk] = 0
            self._engine(game.pk)
        else:
            self._plan(self.now + MINUTE, partial(self._turn_to, habit, game.pk))
        self._nudge()

    def _engine(self, pk: int) -> None:
        engine_room.move(pk, self.now)
        self._note_answer(pk)

    def _note_answer(self, pk: int) -> None:
        """The computer's move, if it was made, after which its opponent goes on, or leaves it."""
        game = Game.objects.get(pk=pk)
        if game.plies == self._owing.get(pk, game.plies):
            return
        del self._owing[pk]
        engine = next(seat for seat in game.sides if seat.player.is_engine)
        self._note("ply", engine.player.username, pk, how=game.termination, winner=game.winner)
        if game.is_over:
            self._over.add(pk)
        elif self.dice.random() < 0.95:
            habit = self.habits[engine.opponent.username]
            at = self.now + SECOND * self.dice.randint(20, 900)
            self._plan(at, partial(self._turn_to, habit, pk))

    # --- how games begin --------------------------------------------------------------------

    def _match(self) -> None:
        """Somebody who is about challenges somebody, who mostly answers the same day."""
        day = (self.now - self.span.start).days
        about = [h for h in self.habits.values() if not h.gone[0] <= day < h.gone[1]]
        habit = self.dice.choice(about)
        other = self.dice.choice([h for h in self.habits.values() if h != habit])
        try:
            row = challenges.challenge(
                self._players[habit.name],
                self._players[other.name],
                control=PRESETS[self.dice.choice(self.span.controls)],
                colour="",
                deck=self.dice.choice(("base", "base", "all34")),
                private=False,
                now=self.now,
            )
        except challenges.TooMany:
            return
        self._note("challenge", habit.name, challenge=row.pk, other=other.name)
        self._nudge()
        if other in about:
            at = self.now + MINUTE * self.dice.randint(1, 600)
            self._plan(at, partial(self._answer_challenge, other, row.pk))

    def _answer_challenge(self, habit: Habit, pk: int) -> None:
        row, player = Challenge.objects.get(pk=pk), self._players[habit.name]
        if not row.is_open(self.now):
            return
        if habit.navigates and self.dice.random() < 0.4:
            self._open(habit, f"/challenges/{pk}/")
        if self.dice.random() < 0.05:
            challenges.decline(pk, player, "busy", now=self.now)
            self._note("declined", habit.name, challenge=pk)
        else:
            try:
                game = challenges.accept(pk, player, now=self.now)
            except challenges.CannotPlay:
                self._note("cannot", habit.name, challenge=pk)
            else:
                self._begun(game, pk)
        self._nudge()

    def _begun(self, game: Game, challenge: int | None) -> None:
        blue, red = (seat.player.username for seat in game.sides)
        self._note(
            "begun",
            game=game.pk,
            challenge=challenge,
            blue=blue,
            red=red,
            first=game.first,
            control=(game.bank, game.increment, game.cap),
        )

    # --- unsubscribing ----------------------------------------------------------------------

    def _mute(self) -> None:
        """Whoever has had enough of a kind of mail ends it with one click in the first of them."""
        for event in self._latest():
            habit = self.habits[event.player]
            kind = Notice.objects.get(pk=event.more["notice"]).kind if habit.mutes else ""
            if kind and kind == habit.mutes and habit.name not in self._muted:
                self._muted.add(habit.name)
                path = urlsplit(event.more["unsubscribe"].strip("<> \r\n")).path
                self._plan(self.now + 5 * MINUTE, partial(self._unsubscribe, habit, path))

    def _latest(self) -> Iterator[Event]:
        """The mails that were taken since the last delivery began."""
        since = itertools.takewhile(lambda event: event.what != "deliver", reversed(self.log))
        return (e for e in since if e.what == "mail" and e.more["code"] == 250)

    def _unsubscribe(self, habit: Habit, path: str) -> None:
        """As a mail program does it, without a login."""
        answer = Client().post(path, {"List-Unsubscribe": "One-Click"})
        assert answer.status_code == 200
        self._note("unsubscribed", habit.name, kind=habit.mutes)


_DUE = """
SELECT MIN(due) FROM (
    SELECT MIN(deadline) AS due FROM games_game WHERE deadline IS NOT NULL
    UNION ALL SELECT MIN(next_reminder) FROM games_game WHERE next_reminder IS NOT NULL
    UNION ALL SELECT MIN(engine_due) FROM games_game WHERE engine_due IS NOT NULL
    UNION ALL SELECT MIN(next_try) FROM games_delivery WHERE next_try IS NOT NULL
    UNION ALL SELECT MIN(next_digest) FROM accounts_user WHERE next_digest IS NOT NULL
) AS times
"""


def _text(message: Message) -> str:
    """The plain part, its lines run together."""
    part = next(part for part in message.walk() if part.get_content_type() == "text/plain")
    body = part.get_payload(decode=True)
    assert isinstance(body, bytes)
    return re.sub(r"\s+", " ", body.decode())
