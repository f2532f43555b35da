"""Judges a month's log by a small model of time and notices, made from the product's text alone.

It imports nothing of the site, and asks its rows nothing before the end. Each rule names the
sentence that it takes for true."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from tests.month_log import DAY, HOUR, MINUTE, Books, Event, Habit, Span

NEVER = datetime.max.replace(tzinfo=UTC)
OTHER = {"b": "r", "r": "b"}
Line = tuple[datetime, int, int, frozenset[tuple[int, int]]]

# “a game out of time ends within a minute”; the same is asked of each announcement.
LATEST = MINUTE
# “7 days at the start, 2 days more on each month's first at 00:00 UTC, at most 21 days”;
# “at most 7 days per game”; told “again when 24 away hours remain for the game”.
HELD_AT_START, EARNED, HELD_AT_MOST, IN_A_GAME, TOLD_AGAIN = 168, 48, 504, 168, 24
# “Retries after 1, 5, 15, 60 minutes”.
RETRIES = (1, 5, 15, 60)
# “hard bounces stop mail after three”.
BOUNCES = 3
CHALLENGE_OPEN = 14 * DAY


@dataclass
class Way:
    """A telling's way through one channel."""

    due: datetime
    # Earlier than due where the text leaves it open when it goes.
    may: datetime
    tries: int = 0
    # Why nothing is left to do: “sent”, or why it is not.
    done: str = ""


@dataclass(eq=False)
class Telling:
    """Something that a player is to be told."""

    player: str
    key: str
    kind: str
    number: int
    game: int = 0
    ply: int = 0
    challenge: int = 0
    seen: bool = False
    # Said anew by another, or not so any more.
    gone: bool = False
    ways: dict[str, Way] = field(default_factory=dict)


@dataclass
class Player:
    habit: Habit
    zone: ZoneInfo
    # “At the player's local hour”: each instant, with its day.
    digests: list[tuple[datetime, date]]
    navigated: datetime | None = None
    # When the last turn was mailed: “one until I come back”.
    mailed: datetime | None = None
    hours: int = HELD_AT_START
    credited: datetime = NEVER
    ledger: list[Line] = field(default_factory=list)
    lost: list[datetime] = field(default_factory=list)
    bounces: int = 0
    muted: set[str] = field(default_factory=set)


@dataclass
class Match:
    """A game, as far as time and notices know it."""

    number: int
    names: dict[str, str]
    first: str
    control: tuple[timedelta | None, timedelta | None, timedelta | None]
    turn: str
    banks: dict[str, timedelta | None]
    plies: int = 0
    began: datetime = NEVER
    deadline: datetime | None = None
    over: str = ""
    winner: str = ""
    offer: str = ""
    offers: int = 0
    # Away hours by side; and those of the ply that is awaited.
    used: dict[str, int] = field(default_factory=lambda: {"b": 0, "r": 0})
    shifts: int = 0
    few: bool = False
    # Reminders up to this instant have had their time.
    reminded: datetime = NEVER
    outage: int = 0
    spared: bool = False

    @property
    def mover(self) -> str:
        return self.names[self.turn]

    @property
    def other(self) -> str:
        return self.names[OTHER[self.turn]]


@dataclass
class Asked:
    """A challenge."""

    challenger: str
    challenged: str
    expires: datetime
    open: bool = True


class Oracle:
    """Walks through the log; `complaints` says what was not as the text says."""

    def __init__(self, habits: tuple[Habit, ...], span: Span, log: list[Event], books: Books):
        self.span, self.log, self.books = span, log, books
        self.players = {habit.name: _player(habit, span) for habit in habits}
        self.matches: dict[int, Match] = {}
        self.asked: dict[int, Asked] = {}
        self.tellings: dict[tuple[str, str], Telling] = {}
        self.waiting: dict[str, list[Telling]] = {"mail": [], "push": []}
        self.by_game: dict[tuple[str, int], list[Telling]] = defaultdict(list)
        self.complaints: list[str] = []
        # Games that are out of time, with the deadline that passed, until somebody ends them.
        self.owed: dict[int, datetime] = {}
        # Since when the site was away, until its first sweep.
        self.away_since: datetime | None = None
        self.outages = iter(books.outages)
        self.sent: list[Event] = []
        self.counted: Counter[str] = Counter()

    def judge(self) -> list[str]:
        deeds: dict[str, Callable[[Event], None]] = {
            "begun": self._begun,
            "open": self._opened,
            "sweep": self._swept,
            "ended": self._ended,
            "clean": self._cleaned,
            "down": self._went_down,
            "up": lambda event: None,
            "challenge": self._challenged,
            "declined": self._declined,
            "cannot": self._could_not,
            "unsubscribed": self._unsubscribed,
            **dict.fromkeys(("ply", "offer", "decline", "end", "refused"), self._deed),
        }
        place = 0
        while place < len(self.log):
            event = self.log[place]
            place += 1
            if event.what == "deliver":
                arrived = []
                while place < len(self.log) and self.log[place].what in ("mail", "push"):
                    arrived.append(self.log[place])
                    place += 1
                self._delivered(event.at, arrived)
            else:
                deeds[event.what](event)
        self._compare_books()
        return self.complaints

    def _complain(self, at: datetime, about: object, what: str) -> None:
        self.complaints.append(f"{at:%m-%d %H:%M:%S} {about}: {what}")

    # --- telling ----------------------------------------------------------------------------

    def _tell(
        self,
        name: str,
        kind: str,
        key: str,
        at: datetime,
        *,
        match: Match | None = None,
        ply: int = 0,
        challenge: int = 0,
        opponent: str = "",
    ) -> None:
        """“A notice is a row written in the transaction of the event, unique by (player, key)”;
        with an opponent it waits for whoever may be looking."""
        player = self.players.get(name)
        if player is None or (name, key) in self.tellings:
            return
        game = match.number if match else 0
        it = Telling(name, key, kind, len(self.tellings), game, ply, challenge)
        self.tellings[name, key] = it
        self.by_game[name, game].append(it)
        least, most = self._patience(player, opponent, at) if opponent else (0, 0)
        for way, has in (("mail", player.habit.address != "none"), ("push", player.habit.device)):
            if has:
                it.ways[way] = Way(at + most * MINUTE, at + least * MINUTE)
                self.waiting[way].append(it)

    def _patience(self, player: Player, opponent: str, at: datetime) -> tuple[int, int]:
        """“Ten minutes against the computer; two minutes when the player loaded a page in the
        last five; else none”. The site knows pages to the minute: between four and five either
        is right."""
        if opponent not in self.players:
            return 10, 10
        since = at - player.navigated if player.navigated else DAY
        if since < 4 * MINUTE:
            return 2, 2
        return (0, 2) if since < 5 * MINUTE else (0, 0)

    def _tell_over(self, match: Match, at: datetime, by: str) -> None:
        """“Both are told”; of a deed not whoever did it."""
        for name in match.names.values():
            if name != by:
                opponent = next(other for other in match.names.values() if other != name)
                key = f"over:g{match.number}"
                self._tell(name, "over", key, at, match=match, opponent=opponent)

    # --- deeds ------------------------------------------------------------------------------

    def _begun(self, event: Event) -> None:
        more = event.more
        names = {"b": more["blue"], "r": more["red"]}
        banks = {"b": more["control"][0], "r": more["control"][0]}
        match = Match(event.game, names, more["first"], more["control"], more["first"], banks)
        self.matches[event.game] = match
        self._begin_turn(match, event.at)
        if pk := more["challenge"]:
            asked = self.asked[pk]
            if self._is_absent(asked.challenger) or self._is_absent(asked.challenged):
                self._complain(event.at, f"c{pk}", "accepted, but one is absent")
            asked.open = False
            key = f"challenge:c{pk}:accepted"
            self._tell(asked.challenger, "challenge", key, event.at, match=match, challenge=pk)

    def _begin_turn(self, match: Match, at: datetime) -> None:
        """“While I am to move my bank runs”; the turn is told."""
        bank = match.banks[match.turn]
        match.began = match.reminded = at
        match.deadline = at + bank if bank is not None else None
        match.outage = match.shifts = 0
        match.few = False
        ply = match.plies + 1
        key = f"turn:g{match.number}:p{ply}"
        self._tell(match.mover, "turn", key, at, match=match, ply=ply, opponent=match.other)

    def _deed(self, event: Event) -> None:
        """“Every deed on a game first settles it as of now”."""
        match, at = self.matches[event.game], event.at
        if not match.over and match.deadline and match.deadline <= self._until(at):
            self._settle(match.mover, at, only=match)
        if event.what == "refused":
            if not match.over:
                self._complain(at, f"g{match.number}", "a deed was refused, but the game runs")
            return
        if match.over:
            self._complain(at, f"g{match.number}", "a deed counted after the game was over")
            return
        # “Seen is a navigation to the game, or a post in it, after the ply.”
        self._see(event.player, match.number)
        match event.what:
            case "ply":
                self._ply(match, event)
            case "offer":
                self._offer(match, event)
            case "decline":
                match.offer = ""
            case "end":
                self._end(match, event.more["how"], event.more["winner"], at, by=event.player)

    def _ply(self, match: Match, event: Event) -> None:
        """“After the move it gains `increment`, never over `cap`”; “bank left: at least 0”."""
        _bank, increment, cap = match.control
        if match.deadline and increment is not None and cap is not None:
            left = match.deadline - event.at
            match.spared |= left <= timedelta()
            match.banks[match.turn] = min(max(left, timedelta()) + increment, cap)
        match.plies += 1
        if match.offer == OTHER[match.turn]:
            match.offer = ""
        if event.more["how"]:
            how, winner = event.more["how"], event.more["winner"]
            self._end(match, how, winner, event.at, by=event.player)
            return
        match.turn = OTHER[match.turn]
        self._begin_turn(match, event.at)

    def _offer(self, match: Match, event: Event) -> None:
        """“Either player may offer”; “the computer declines”."""
        match.offers += 1
        if match.other in self.players:
            match.offer = match.turn
            key = f"draw:g{match.number}:o{match.offers}"
            self._tell(match.other, "draw", key, event.at, match=match, opponent=event.player)

    def _end(self, match: Match, how: str, winner: str, at: datetime, by: str = "") -> None:
        match.over, match.winner, match.offer, match.deadline = how, winner, "", None
        self._tell_over(match, at, by)

    def _opened(self, event: Event) -> None:
        """“Come back is any navigation.”"""
        path = event.more["path"]
        self.players[event.player].navigated = event.at
        if event.game:
            self._see(event.player, event.game)
        # What is told on a page is seen there: the games that wait, a challenge.
        for it in self.by_game[event.player, 0]:
            listed = it.kind == "digest" and path == "/games/"
            it.seen |= listed or path == f"/challenges/{it.challenge}/"

    def _see(self, name: str, game: int) -> None:
        for it in self.by_game[name, game]:
            it.seen = True

    def _unsubscribed(self, event: Event) -> None:
        self.players[event.player].muted.add(event.more["kind"])

    # --- challenges -------------------------------------------------------------------------

    def _challenged(self, event: Event) -> None:
        pk, other = event.more["challenge"], event.more["other"]
        self.asked[pk] = Asked(event.player, other, event.at + CHALLENGE_OPEN)
        self._tell(other, "challenge", f"challenge:c{pk}:received", event.at, challenge=pk)

    def _declined(self, event: Event) -> None:
        pk = event.more["challenge"]
        asked = self.asked[pk]
        asked.open = False
        key = f"challenge:c{pk}:declined"
        self._tell(asked.challenger, "challenge", key, event.at, challenge=pk)

    def _could_not(self, event: Event) -> None:
        asked = self.asked[event.more["challenge"]]
        if not (self._is_absent(asked.challenger) or self._is_absent(asked.challenged)):
            about = f"c{event.more['challenge']}"
            self._complain(event.at, about, "could not be accepted, but nobody is absent")

    def _is_absent(self, name: str) -> bool:
        """“After two games lost on time with no navigation between or since”."""
        player = self.players[name]
        back = player.navigated
        return sum(1 for at in player.lost if back is None or at > back) >= 2

    # --- time -------------------------------------------------------------------------------

    def _went_down(self, event: Event) -> None:
        self.away_since = event.at

    def _until(self, at: datetime) -> datetime:
        """“While the heartbeat is over ten minutes old, no deed flags or takes an hour: a
        deadline later than the heartbeat counts as not reached”."""
        away = self.away_since
        return away if away and at - away > 10 * MINUTE else at

    def _swept(self, event: Event) -> None:
        at = event.at
        for number, deadline in list(self.owed.items()):
            if at - deadline > LATEST:
                self._complain(at, f"g{number}", f"not ended a minute after {deadline}")
                del self.owed[number]
        if self.away_since and at - self.away_since > 10 * MINUTE:
            self._make_good(self.away_since, at)
        self.away_since = None
        out = [m for m in self.matches.values() if m.deadline and m.deadline <= at]
        for match in sorted(out, key=lambda match: match.deadline or NEVER):
            if match.deadline and match.deadline <= at:
                self._settle(match.mover, at)
        for match in self.matches.values():
            self._remind(match, at)
        for name in self.players:
            self._digest(name, at)

    def _settle(self, name: str, at: datetime, only: Match | None = None) -> None:
        """“When a clock would run out, an hour is taken and every game of theirs due within that
        hour is put off by it”; where there is none, the flag falls."""
        until = self._until(at)
        mine = [m for m in self.matches.values() if m.deadline and m.mover == name]
        without: list[Match] = []
        while due := [m for m in mine if m not in without and m.deadline and m.deadline <= until]:
            first = min(due, key=lambda match: (match.deadline, match.number))
            if not self._take_hour(name, first, mine, at):
                without.append(first)
        for match in without:
            if only in (None, match):
                self._flag(match, at)

    def _take_hour(self, name: str, first: Match, mine: list[Match], at: datetime) -> bool:
        player, due = self.players[name], first.deadline
        assert due is not None
        self._credit(player, due)
        if not self._may_use(player, first) or self._held(player, due) < 1:
            return False
        player.hours -= 1
        served = [
            m
            for m in mine
            if m.deadline and due <= m.deadline < due + HOUR and self._may_use(player, m)
        ]
        shifts = frozenset((m.number, m.plies + 1) for m in served)
        player.ledger.append((due, -1, player.hours, shifts))
        for match in served:
            self._put_off(player, match, at)
        return True

    def _may_use(self, player: Player, match: Match) -> bool:
        """“It can be switched off. Never against the computer”, “at most 7 days per game”."""
        person = match.other in self.players
        return player.habit.away and person and match.used[match.turn] < IN_A_GAME

    def _put_off(self, player: Player, match: Match, at: datetime) -> None:
        """“Told once per ply, at the first hour, and again when 24 away hours remain for the
        game”; reminders already sent for the ply don't go again because of it."""
        assert match.deadline is not None
        match.deadline += HOUR
        match.used[match.turn] += 1
        match.shifts += 1
        match.reminded = NEVER
        left = min(player.hours, IN_A_GAME - match.used[match.turn])
        ply = match.plies + 1
        if match.shifts == 1:
            # What the first says of so few hours left need not be said again.
            match.few = left <= TOLD_AGAIN
            key = f"away:g{match.number}:p{ply}"
            for name, opponent in ((match.mover, match.other), (match.other, match.mover)):
                self._tell(name, "away", key, at, match=match, ply=ply, opponent=opponent)
        elif left <= TOLD_AGAIN and not match.few:
            key = f"reminder:g{match.number}:p{ply}:away{TOLD_AGAIN}"
            self._tell(match.mover, "reminder", key, at, match=match, ply=ply)

    def _held(self, player: Player, at: datetime) -> int:
        """Hours that a month gave are of no use before it."""
        return player.hours - sum(line[1] for line in player.ledger if line[1] > 0 and line[0] > at)

    def _credit(self, player: Player, at: datetime) -> None:
        """“2 days more on each month's first at 00:00 UTC, at most 21 days”."""
        while player.credited <= at:
            earned = min(EARNED, HELD_AT_MOST - player.hours)
            player.hours += earned
            if earned:
                player.ledger.append((player.credited, earned, player.hours, frozenset()))
            player.credited = _next_month(player.credited)

    def _cleaned(self, event: Event) -> None:
        for player in self.players.values():
            self._credit(player, event.at)

    def _flag(self, match: Match, at: datetime) -> None:
        """“The win, or an aborted unrated game is a preference”; “a game in which the player out
        of time never moved is aborted”."""
        assert match.deadline is not None
        self.owed[match.number] = match.deadline
        self.counted["flags"] += 1
        loser, winner = match.turn, OTHER[match.turn]
        moved = match.plies >= (1 if loser == match.first else 2)
        wants = self.players[match.other].habit.on_time
        if not moved or wants == "abort":
            self._end(match, "aborted", "", at)
            return
        self._end(match, "time", winner, at)
        name = match.names[loser]
        self.players[name].lost.append(at)
        if self._is_absent(name):
            self.counted["absences"] += 1
            self._tell_waiting(name, at)

    def _tell_waiting(self, name: str, at: datetime) -> None:
        """“Challenges to and from the player stay open but can't be accepted until they navigate;
        both are told why”."""
        for pk, asked in self.asked.items():
            between = (asked.challenger, asked.challenged)
            if name in between and self._is_open(asked, at):
                other = next(player for player in between if player != name)
                self._tell(other, "challenge", f"challenge:c{pk}:waits", at, challenge=pk)

    def _ended(self, event: Event) -> None:
        """“No game flagged early or more than a minute late”."""
        match, at = self.matches[event.game], event.at
        deadline = self.owed.pop(event.game, None)
        how, winner = event.more["how"], event.more["winner"]
        if deadline is None:
            self._complain(at, f"g{event.game}", f"ended ({how}), deadline {match.deadline}")
            self._end(match, how, winner, at)
        elif (how, winner) != (match.over, match.winner):
            self._complain(at, f"g{event.game}", f"ended as {how}, not {match.over}")
        if self.span.down <= at <= self.span.up + HOUR:
            self._complain(at, f"g{event.game}", "ended on time by the outage")

    def _make_good(self, began: datetime, ended: datetime) -> None:
        """“Deadlines inside the gap or in the hour after it move to now + the gap, at least an
        hour and at most a day; players are told once”; “reminders due for a moved deadline go
        again”."""
        number = next(self.outages, 0)
        gap = min(max(ended - began, HOUR), DAY)
        concerned: list[Match] = []
        for match in self.matches.values():
            if match.deadline and began < match.deadline <= ended + HOUR:
                match.deadline = max(match.deadline, ended + gap)
                match.outage, match.reminded = number, match.began
                concerned.append(match)
                self.counted["moved"] += 1
                for it in self.by_game[match.mover, match.number]:
                    it.gone |= it.kind == "reminder"
            elif match.spared:
                concerned.append(match)
                self.counted["spared"] += 1
        for match in concerned:
            match.spared = False
            for name in match.names.values():
                self._tell(name, "outage", f"outage:o{number}", ended)

    def _remind(self, match: Match, at: datetime) -> None:
        """At the player's own hours; “a reminder due less than two hours after the ply began is
        not written; after an outage only the nearest missed one goes”."""
        if match.deadline is None or match.reminded >= at:
            return
        due = [
            hours
            for hours in self.players[match.mover].habit.reminders
            if match.began + 2 * HOUR <= match.deadline - hours * HOUR
            and match.reminded < match.deadline - hours * HOUR <= at
        ]
        match.reminded = at
        if due:
            ply = match.plies + 1
            key = f"reminder:g{match.number}:p{ply}:{min(due)}h"
            key += f":o{match.outage}" if match.outage else ""
            self._tell(match.mover, "reminder", key, at, match=match, ply=ply)

    def _digest(self, name: str, at: datetime) -> None:
        """“Daily digest at the player's hour”; “skipped when nothing waits”."""
        player, day = self.players[name], None
        while player.digests and player.digests[0][0] <= at:
            _instant, day = player.digests.pop(0)
        if day is None or not self._anything_waits(name, at):
            return
        for it in self.by_game[name, 0]:
            it.gone |= it.kind == "digest"
        self._tell(name, "digest", f"digest:{day.isoformat()}", at)

    def _anything_waits(self, name: str, at: datetime) -> bool:
        return bool(self._my_turns(name) or self._my_challenges(name, at))

    def _my_turns(self, name: str) -> list[Match]:
        """“Least time first”."""
        mine = [m for m in self.matches.values() if not m.over and m.mover == name]
        return sorted(mine, key=lambda match: (match.deadline or NEVER, match.began))

    def _my_challenges(self, name: str, at: datetime) -> list[int]:
        return [
            pk
            for pk, asked in self.asked.items()
            if asked.challenged == name and self._is_open(asked, at)
        ]

    def _is_open(self, asked: Asked, at: datetime) -> bool:
        return asked.open and at < asked.expires

    # --- what goes out ----------------------------------------------------------------------

    def _delivered(self, at: datetime, arrived: list[Event]) -> None:
        for way in ("mail", "push"):
            self._went(way, at, [event for event in arrived if event.what == way])

    def _went(self, channel: str, at: datetime, arrived: list[Event]) -> None:
        must, may, ones = self._expected(channel, at)
        came = Counter((event.player, event.more["key"]) for event in arrived)
        for name, choice in ones.items():
            # Of turns due at the same instant any may be the one.
            chosen = next((it for it in choice if (name, it.key) in came), choice[0])
            must.append(chosen)
        for it in must:
            if not came[it.player, it.key]:
                self._complain(at, f"{it.player} {it.key}", f"no {channel} when due")
                it.ways[channel].done = "missed"
        right = {(it.player, it.key) for it in (*must, *may)}
        for event in arrived:
            self._arrived(channel, event, right, came)
        for choice in ones.values():
            for it in choice:
                it.ways[channel].done = it.ways[channel].done or "one until back"
        self.waiting[channel] = [it for it in self.waiting[channel] if not it.ways[channel].done]

    def _expected(
        self, channel: str, at: datetime
    ) -> tuple[list[Telling], list[Telling], dict[str, list[Telling]]]:
        """What must go now, what may, and the turns of which one must go to each player."""
        must: list[Telling] = []
        may: list[Telling] = []
        ones: dict[str, list[Telling]] = {}
        now = [it for it in self.waiting[channel] if it.ways[channel].may <= at]
        for it in sorted(now, key=lambda it: (it.ways[channel].due, it.number)):
            way, player = it.ways[channel], self.players[it.player]
            is_due = way.due <= at
            if why := self._hindrance(it, channel, at):
                way.done = why if is_due else ""
            elif self._is_unsettled(self.matches.get(it.game), at):
                way.due = at + LATEST
                may.append(it)
            elif end := self._quiet_end(it, at):
                way.due = way.may = end
            elif channel == "mail" and it.kind == "turn" and player.habit.mode == "back":
                self._one_until_back(it, at, may, ones)
            elif is_due and not self._is_one_too_many(channel, player, must):
                must.append(it)
            else:
                may.append(it)
        return must, may, ones

    def _is_one_too_many(self, channel: str, player: Player, must: list[Telling]) -> bool:
        """Of mails due at the same instant the third refusal stops the rest."""
        if channel != "mail" or player.habit.address != "broken":
            return False
        tried = sum(1 for it in must if it.player == player.habit.name)
        return player.bounces + tried >= BOUNCES

    def _one_until_back(
        self, it: Telling, at: datetime, may: list[Telling], ones: dict[str, list[Telling]]
    ) -> None:
        """“One until I come back”: the first that is due."""
        player, way = self.players[it.player], it.ways["mail"]
        waits = player.mailed and (not player.navigated or player.navigated < player.mailed)
        before = ones.get(it.player)
        if waits or (before and before[0].ways["mail"].due < way.due):
            way.done = "one until back" if way.due <= at else ""
        elif way.due <= at:
            ones.setdefault(it.player, []).append(it)
        else:
            may.append(it)

    def _hindrance(self, it: Telling, channel: str, at: datetime) -> str:
        """“Before each try the notice is looked at again (still their turn? still wanted? not
        seen?)”."""
        player = self.players[it.player]
        if it.seen:
            return "seen"
        if it.gone or not self._is_true(it, at):
            return "no longer true"
        if channel == "push":
            return ""
        if player.bounces >= BOUNCES:
            return "address refuses mail"
        if it.kind in player.muted:
            return "not wanted"
        # “Mail mode for turns”; “reminders go in every mode”.
        return "digest only" if it.kind == "turn" and player.habit.mode == "digest" else ""

    def _is_true(self, it: Telling, at: datetime) -> bool:
        match, asked = self.matches.get(it.game), self.asked.get(it.challenge)
        if it.kind in ("turn", "reminder", "away"):
            assert match is not None
            return not match.over and match.plies + 1 == it.ply
        if it.kind == "draw":
            return match is not None and bool(match.offer)
        if it.key.endswith(":received"):
            return asked is not None and self._is_open(asked, at)
        if it.key.endswith(":waits"):
            assert asked is not None
            absent = self._is_absent(asked.challenger) or self._is_absent(asked.challenged)
            return absent and self._is_open(asked, at)
        return it.kind != "digest" or self._anything_waits(it.player, at)

    def _is_unsettled(self, match: Match | None, at: datetime) -> bool:
        """Out of time: whether it is lost the next sweep says, for which what is told may wait."""
        if match is None or match.deadline is None or match.deadline > at:
            return False
        player = self.players[match.mover]
        own = self._held(player, match.deadline) if self._may_use(player, match) else 0
        left = min(own, IN_A_GAME - match.used[match.turn])
        return match.deadline + left * HOUR <= at

    def _quiet_end(self, it: Telling, at: datetime) -> datetime | None:
        """“Quiet hours in the player's zone hold everything back, unless the deadline falls
        inside them or within two hours after”."""
        player, match = self.players[it.player], self.matches.get(it.game)
        end = _end_of_quiet(player, at)
        mine = match and match.mover == it.player
        urgent = end and mine and match and match.deadline and match.deadline <= end + 2 * HOUR
        return None if urgent else end

    def _arrived(
        self,
        channel: str,
        event: Event,
        right: set[tuple[str, str]],
        came: Counter[tuple[str, str]],
    ) -> None:
        key, at = (event.player, event.more["key"]), event.at
        about = " ".join(key)
        it = self.tellings.get(key)
        if it is None or channel not in it.ways:
            self._complain(at, about, f"a {channel} of what nobody was to be told")
            return
        way, player = it.ways[channel], self.players[event.player]
        if way.done == "sent" or came[key] > 1:
            self._complain(at, about, f"a {channel} twice")
        elif key not in right:
            held = "held back by quiet hours" if _end_of_quiet(player, at) else "not due"
            self._complain(at, about, f"a {channel}, but {way.done or held} until {way.due}")
        away = self.span.down <= way.due < self.span.up
        if at - (self.span.up if away else way.due) > LATEST:
            self._complain(at, about, f"a {channel} too late, due {way.due}")
        if channel == "mail" and player.bounces >= BOUNCES:
            self._complain(at, about, "a mail to an address that refused three")
        code = event.more.get("code", 250)
        if code == 250:
            way.done, player.bounces = "sent", 0 if channel == "mail" else player.bounces
            self.sent.append(event)
            self.counted[f"{channel} {it.kind}"] += 1
            if channel == "mail":
                player.mailed = at if it.kind == "turn" else player.mailed
                self._read(it, event)
        elif code >= 500:
            way.done, player.bounces = "refused", player.bounces + 1
            self.counted["bounces"] += 1
        else:
            way.tries += 1
            way.due = way.may = at + RETRIES[min(way.tries, len(RETRIES)) - 1] * MINUTE

    def _read(self, it: Telling, event: Event) -> None:
        """What the mail says, where it says it in words that can be found."""
        text, about = event.more["text"], f"{it.player} {it.key}"
        match = self.matches.get(it.game)
        if match and f"/games/{match.number}/" not in text:
            self._complain(event.at, about, "a mail without a link to its game")
        deadline = match.deadline if match and it.kind in ("turn", "reminder", "away") else None
        if deadline and f"{deadline:%Y-%m-%d %H:%M} UTC" not in text:
            self._complain(event.at, about, f"a mail without the deadline {deadline}")
        if match and it.kind == "over":
            seat = next(side for side, name in match.names.items() if name == it.player)
            said = "won" if match.winner == seat else "lost" if match.winner else "a"
            if not re.search(rf"You have {said} |is {said} draw|was aborted", text):
                self._complain(event.at, about, f"a mail that does not say {said}")
        if it.kind == "digest":
            self._read_digest(it, event, about)

    def _read_digest(self, it: Telling, event: Event, about: str) -> None:
        text = event.more["text"]
        listed = [int(pk) for pk in re.findall(r"/games/(\d+)/", text)]
        mine = [match.number for match in self._my_turns(it.player)][:20]
        if listed != mine:
            self._complain(event.at, about, f"a digest that lists {listed}, not {mine}")
        asked = {int(pk) for pk in re.findall(r"/challenges/(\d+)/", text)}
        if asked != set(self._my_challenges(it.player, event.at)[:20]):
            self._complain(event.at, about, f"a digest that lists the challenges {asked}")

    # --- the end ----------------------------------------------------------------------------

    def _compare_books(self) -> None:
        end, books = self.span.end, self.books
        for channel, waiting in self.waiting.items():
            for it in waiting:
                if it.ways[channel].due <= end:
                    self._complain(end, f"{it.player} {it.key}", f"never a {channel}")
        for name, key in self.tellings.keys() - books.notices:
            self._complain(end, f"{name} {key}", "nobody told")
        for name, key in books.notices - self.tellings.keys():
            self._complain(end, f"{name} {key}", "told, but it was not so")
        for name, player in self.players.items():
            self._compare_ledger(name, player)
        for match in self.matches.values():
            self._compare_game(match)
        for number, deadline in self.owed.items():
            self._complain(end, f"g{number}", f"not ended after {deadline}")
        for unsent in books.unsent:
            self._complain(end, unsent, "due and not sent")
        if books.sent != len(self.sent):
            self._complain(end, "mails", f"{books.sent} count as sent, {len(self.sent)} went")
        self._compare_heads()

    def _compare_ledger(self, name: str, player: Player) -> None:
        """The sum is what is held, each line follows from the one before, and all are right."""
        written, end = self.books.ledger.get(name, []), self.span.end
        balance = HELD_AT_START
        for at, hours, after, _shifts in written:
            balance += hours
            if after != balance:
                self._complain(at, name, f"the ledger says {after} hours, not {balance}")
        if balance != self.books.held[name]:
            self._complain(end, name, f"holds {self.books.held[name]} hours, not {balance}")
        self.counted["hours"] += sum(1 for line in written if line[1] < 0)
        self.counted["shifts"] += sum(len(line[3]) for line in written)
        for line in _unlike(written, player.ledger):
            self._complain(end, name, f"the ledger: {line}")

    def _compare_game(self, match: Match) -> None:
        how, winner, deadline = self.books.games[match.number]
        if (how, winner) != (match.over, match.winner) or deadline != match.deadline:
            mine = (match.over, match.winner, match.deadline)
            self._complain(
                self.span.end, f"g{match.number}", f"{how, winner, deadline}, not {mine}"
            )

    def _compare_heads(self) -> None:
        """“No delivery twice”; “one Subject per game, so that a game is one thread”."""
        names = Counter(event.more["id"] for event in self.sent if event.what == "mail")
        for name, times in names.items():
            if times > 1:
                self._complain(self.span.end, name, f"{times} mails of that Message-ID")
        subjects: dict[tuple[str, int], set[str]] = defaultdict(set)
        for event in self.sent:
            it = self.tellings[event.player, event.more["key"]]
            if event.what == "mail" and it.game:
                subjects[it.player, it.game].add(event.more["subject"])
        for thread, said in subjects.items():
            if len(said) > 1:
                self._complain(self.span.end, thread, f"several subjects: {said}")


# --- clocks -----------------------------------------------------------------------------------


def _player(habit: Habit, span: Span) -> Player:
    zone = ZoneInfo(habit.zone)
    digests = list(_digests(zone, habit.digest, span)) if habit.digest is not None else []
    return Player(habit, zone, digests, credited=_next_month(span.start))


def _digests(zone: ZoneInfo, hour: int, span: Span) -> Iterator[tuple[datetime, date]]:
    """On each of their days the first quarter of an hour at which it is that hour or later: right
    on days that have it twice, or not at all."""
    at, last = span.start - 2 * DAY, None
    while at <= span.end:
        local = at.astimezone(zone)
        if local.hour >= hour and local.date() != last:
            last = local.date()
            if at > span.start:
                yield at, last
        at += 15 * MINUTE


def _end_of_quiet(player: Player, at: datetime) -> datetime | None:
    """The first whole minute from now on outside the quiet hours; None outside them."""
    if player.habit.quiet is None:
        return None
    begins, ends = player.habit.quiet
    until = at
    while True:
        clock = until.astimezone(player.zone).time()
        inside = begins <= clock < ends if begins <= ends else not ends <= clock < begins
        if not inside:
            return until if until > at else None
        until = until.replace(second=0, microsecond=0) + MINUTE


def _next_month(at: datetime) -> datetime:
    year, month = divmod(at.year * 12 + at.month, 12)
    return datetime(year, month + 1, 1, tzinfo=UTC)


def _unlike(written: list[Line], expected: list[Line]) -> list[str]:
    found = [f"{line[0]:%m-%d %H:%M:%S} {line[1]:+d} of {set(line[3])}" for line in written]
    mine = [f"{line[0]:%m-%d %H:%M:%S} {line[1]:+d} of {set(line[3])}" for line in expected]
    wrong, missing = Counter(found) - Counter(mine), Counter(mine) - Counter(found)
    return [f"{line} is wrong" for line in wrong] + [f"{line} is missing" for line in missing]
