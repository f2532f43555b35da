"""The archive: a player's finished games, by page and by filter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from accounts import names
from accounts.middleware import Request
from accounts.models import User
from games.archive import Filter, Key, finished, page
from games.models import Seat
from games.views.answers import never_stored, reader

KINDS = {
    User.Kind.PERSON: gettext_lazy("people"),
    User.Kind.ENGINE: gettext_lazy("the computer"),
}


class KeyField(forms.CharField):
    """Where a page begins, written by the links of the page before."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        try:
            return Key.parse(text) if text else None
        except ValueError:
            raise forms.ValidationError(
                _("This address is not whole; begin again with the newest games.")
            ) from None


class ArchiveForm(forms.Form):
    """Which finished games, and from where on: the query of the archive's address."""

    result = forms.ChoiceField(
        choices=[("", ""), *Seat.Result.choices],
        required=False,
        error_messages={"invalid_choice": gettext_lazy("A game is won, lost, drawn or aborted.")},
    )
    against = forms.ChoiceField(
        choices=[("", ""), *KINDS.items()],
        required=False,
        error_messages={"invalid_choice": gettext_lazy("An opponent is a person or the computer.")},
    )
    opponent = forms.CharField(max_length=20, required=False, label=gettext_lazy("Opponent"))
    before = KeyField(required=False)
    after = KeyField(required=False)

    def clean_opponent(self) -> User | None:
        name = self.cleaned_data["opponent"]
        if not name:
            return None
        player: User | None = User.objects.named(names.meant(name)).first()
        if player is None:
            raise forms.ValidationError(_("Nobody here is called “%(name)s”.") % {"name": name})
        return player

    @property
    def filter(self) -> Filter:
        data = self.cleaned_data
        return Filter(data["opponent"], data["result"], data["against"])


@dataclass(frozen=True, slots=True)
class Chip:
    """One condition: a link that sets it, or takes it back where it is on."""

    label: str
    on: bool
    query: str


def query(only: Filter, **key: Key | None) -> str:
    """The filter, and a page's key, as the archive's address carries them."""
    fields = {
        "result": only.result,
        "against": only.kind,
        "opponent": only.opponent.username if only.opponent else "",
    }
    pairs = [(name, value) for name, value in fields.items() if value]
    pairs += [(name, str(value)) for name, value in key.items() if value is not None]
    return f"?{urlencode(pairs)}" if pairs else ""


def _chips(only: Filter) -> Iterator[Chip]:
    for result in Seat.Result:
        on = only.result == result
        yield Chip(str(result.label), on, query(replace(only, result="" if on else result.value)))
    for kind, name in KINDS.items():
        on = only.kind == kind
        label = _("against %(kind)s") % {"kind": name}
        yield Chip(label, on, query(replace(only, kind="" if on else kind.value)))


@require_safe
@login_required
@never_stored
def archive(request: Request) -> HttpResponse:
    form = ArchiveForm(request.GET)
    if not form.is_valid():
        context = {"form": form, "chips": list(_chips(Filter()))}
        # A name that nobody has was typed; anything else here was never offered.
        status = 200 if form.errors.keys() == {"opponent"} else 400
        return render(request, "games/archive.html", context, status=status)
    only, player = form.filter, reader(request)
    shown = page(player, only, before=form.cleaned_data["before"], after=form.cleaned_data["after"])
    context = {
        "form": form,
        "only": only,
        "chips": list(_chips(only)),
        "page": shown,
        "newer": shown.newer and query(only, after=shown.newer),
        "older": shown.older and query(only, before=shown.older),
        "count": finished(player, Filter()).count(),
        "matches": finished(player, only).count() if only else None,
        "without_opponent": query(replace(only, opponent=None)),
    }
    return render(request, "games/archive.html", context)
