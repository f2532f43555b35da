"""What a browser sends as a player's preferences."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import Any
from zoneinfo import available_timezones

from django import forms
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


class PreferencesForm(forms.Form):
    mails = forms.MultipleChoiceField(
        label=_("Send me a mail when"),
        choices=Kind.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    time_zone = ZoneField(label=_("Time zone"), choices=zones)
    confirm_moves = forms.BooleanField(
        label=_("Confirm moves"),
        required=False,
        help_text=_("A move is sent only by one more press, which guards against slips."),
    )

    def __init__(self, player: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._list(player.time_zone)
        if not player.is_person:
            del self.fields["mails"]

    def _list(self, own: str) -> None:
        """The player's own zone is offered even where the others of its sort are not."""
        field, listed = self.fields["time_zone"], zones()
        names = {name for _region, places in listed for name, _place in places}
        if isinstance(field, ZoneField) and own not in names:
            field.choices = [("", [(own, own)]), *listed]
