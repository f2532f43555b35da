"""What a browser sends as a player's preferences."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import time
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from games.models import Kind

# Not places, or places under a name they had long ago: they are listed elsewhere.
_OLD_NAMES = frozenset(("Brazil", "Canada", "Chile", "Etc", "Mexico", "US"))

Zones = list[tuple[str, list[tuple[str, str]]]]


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    # Reads a directory tree, so not for every request.
    return frozenset(available_timezones())


def zones() -> Zones:
    """Every time zone that is named after a place, by continent; before them UTC."""
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in sorted(_known()):
        region, _slash, place = name.partition("/")
        if place and region not in _OLD_NAMES:
            places[region].append((name, place.replace("_", " ").replace("/", ", ")))
    return [("", [("UTC", "UTC")]), *sorted(places.items())]


class ZoneField(forms.ChoiceField):
    """Any zone there is, listed or not."""

    def valid_value(self, value: Any) -> bool:
        return value in _known()


# Product rules for reminders: how many, and how long before the deadline in hours.
MOST_REMINDERS, LONGEST_REMINDER = 5, 14 * 24
# In the order of the columns, and of what games.notices.channels() gives of each kind.
CHANNELS: dict[str, str | Promise] = {"site": _("Bell"), "mail": _("Mail"), "push": _("Push")}
# The computer's opponents: no clock, no challenges, no offers.
GUEST_KINDS = (Kind.TURN, Kind.OVER)
MODES_EXPLAINED: dict[str, str | Promise] = {
    User.MailMode.EVERY: _("A mail for each turn, unless you see it before the mail has gone."),
    User.MailMode.UNTIL_BACK: _("After one mail, none until you have opened a page of the site."),
    User.MailMode.DIGEST: _(
        "No mail about a single turn; once a day, all games that wait. Choose the hour below."
    ),
}


class HoursField(forms.Field):
    """Some numbers of hours as people write them: `24, 4`, `24 h 4 h`, `2 d; 4`."""

    widget = forms.TextInput(attrs={"maxlength": "60", "autocomplete": "off"})

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[int]:
        text = re.sub(r"\s+(?=[hd]\b)", "", str(value or "")[:200].lower())
        hours = {self._hours(word) for word in re.split(r"[,;\s]+", text) if word}
        if len(hours) > MOST_REMINDERS:
            raise forms.ValidationError(
                _("Up to %(n)d reminders."), code="many", params={"n": MOST_REMINDERS}
            )
        return sorted(hours, reverse=True)

    @staticmethod
    def _hours(word: str) -> int:
        number, unit = (word[:-1], word[-1]) if word[-1] in "hd" else (word, "h")
        if not number.isdecimal():
            raise forms.ValidationError(_("Give numbers of hours, such as 24, 4."), code="invalid")
        # No number that matters has more digits, and long ones take long to read.
        hours = int(number[-6:]) if len(number.lstrip("0")) <= 6 else LONGEST_REMINDER + 1
        hours *= 24 if unit == "d" else 1
        if not 1 <= hours <= LONGEST_REMINDER:
            raise forms.ValidationError(
                _("Each from 1 to %(most)d hours before the deadline."),
                code="range",
                params={"most": LONGEST_REMINDER},
            )
        return hours


class Way(NamedTuple):
    """One box of the table: a kind of notice through one channel."""

    channel: str
    label: str | Promise
    wanted: bool


def _hours_of_a_day() -> list[tuple[str, str | Promise]]:
    return [("", _("No digest")), *((str(hour), f"{time(hour):%H:%M}") for hour in range(24))]


def _kinds() -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(choices=Kind.choices, required=False)


def _clock(label: Any) -> forms.TimeField:
    widget = forms.TimeInput(format="%H:%M", attrs={"type": "time"})
    return forms.TimeField(label=label, required=False, widget=widget)


class PreferencesForm(forms.Form):
    site, mail, push = _kinds(), _kinds(), _kinds()
    mail_mode = forms.ChoiceField(
        label=_("Mails about my turn"), choices=User.MailMode.choices, widget=forms.RadioSelect
    )
    reminder_hours = HoursField(
        label=_("Reminders"),
        required=False,
        help_text=_(
            "Hours before a deadline of yours, up to five, whatever the mails about your turn;"
            " empty: none."
        ),
    )
    time_zone = ZoneField(label=_("Time zone"), choices=zones)
    digest_hour = forms.TypedChoiceField(
        label=_("Daily digest"),
        choices=_hours_of_a_day,
        coerce=int,
        empty_value=None,
        required=False,
        help_text=_("All games that wait for you, least time first; none when nothing waits."),
    )
    quiet_from = _clock(_("from"))
    quiet_until = _clock(_("until"))
    confirm_moves = forms.BooleanField(
        label=_("Confirm moves"),
        required=False,
        help_text=_("A move is sent only by one more press, which guards against slips."),
    )
    out_of_time = forms.ChoiceField(
        label=_("When an opponent runs out of time"),
        choices=User.OutOfTime.choices,
        widget=forms.RadioSelect,
        help_text=_(
            "A game that is aborted counts for nobody, and stays visible. Where whoever ran out of"
            " time had never moved, it is always aborted."
        ),
    )
    language = forms.ChoiceField(
        label=_("Language of my mails"), choices=lambda: settings.LANGUAGES
    )

    # What nothing of a guest's games brings about.
    PEOPLE_ONLY = (
        *("mail", "mail_mode", "reminder_hours", "digest_hour", "quiet_from", "quiet_until"),
        *("out_of_time", "language"),
    )

    def __init__(self, player: User, *args: Any, push: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._list(player.time_zone)
        self.kinds = [Kind(kind) for kind in (Kind if player.is_person else GUEST_KINDS)]
        gone = set() if player.is_person else set(self.PEOPLE_ONLY)
        gone |= set() if push and player.is_person else {"push"}
        gone |= set() if len(settings.LANGUAGES) > 1 else {"language"}
        for name in gone:
            del self.fields[name]

    def _list(self, own: str) -> None:
        """The player's own zone is offered even where the others of its sort are not."""
        field, listed = self.fields["time_zone"], zones()
        names = {name for _region, places in listed for name, _place in places}
        if isinstance(field, ZoneField) and own not in names:
            field.choices = [("", [(own, own)]), *listed]

    def channels(self) -> dict[str, str | Promise]:
        return {name: label for name, label in CHANNELS.items() if name in self.fields}

    def ways(self) -> Iterator[tuple[Kind, list[Way]]]:
        """The rows of the table: each kind, with its box under each channel."""
        ticked = {name: set(self[name].value() or ()) for name in self.channels()}
        for kind in self.kinds:
            yield (
                kind,
                [Way(name, label, kind in ticked[name]) for name, label in self.channels().items()],
            )

    def modes(self) -> Iterator[tuple[Any, str | Promise]]:
        """The radio buttons of the mail mode, each with what it means."""
        for button in self["mail_mode"]:
            yield button, MODES_EXPLAINED[button.data["value"]]

    def clean(self) -> dict[str, Any]:
        said = super().clean() or self.cleaned_data
        mails = said.get("mail", [])
        only_digest = said.get("mail_mode") == User.MailMode.DIGEST
        if only_digest and Kind.TURN in mails and Kind.DIGEST not in mails:
            self.add_error(
                "mail_mode",
                _("The digest needs its mail: tick “My daily digest” under Mail above."),
            )
        quiet = said.get("quiet_from"), said.get("quiet_until")
        if {"quiet_from", "quiet_until"} & self.errors.keys():
            return said
        if None in quiet and quiet != (None, None):
            empty = "quiet_from" if quiet[0] is None else "quiet_until"
            self.add_error(empty, _("Give both ends, or neither."))
        elif quiet[0] == quiet[1] is not None:
            self.add_error("quiet_until", _("Give two different times, or none."))
        return said
