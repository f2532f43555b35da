"""The shape of what a browser sends about a game; what it means there is for others to say."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from games.onitama.cards import CARDS
from games.onitama.position import Action, BadText, Move, Pass, parse_square

# More plies than any game has; keeps foreign numbers small.
MOST_PLIES = 100_000


class SquareField(forms.CharField):
    """A square from a1 to e5, as its number; None when nothing was sent."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None
        try:
            return parse_square(text)
        except BadText:
            raise forms.ValidationError(_("A square lies between a1 and e5.")) from None


class PlyForm(forms.Form):
    """Which ply a deed answers."""

    ply = forms.IntegerField(min_value=1, max_value=MOST_PLIES)


class MoveForm(PlyForm):
    """A card and two squares, or a card alone: a move or a pass."""

    card = forms.ChoiceField(choices=[(name, name) for name in CARDS])
    to = SquareField(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The word is Python's own, so it cannot be declared above.
        self.fields["from"] = SquareField(required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors and (data["from"] is None) != (data["to"] is None):
            raise forms.ValidationError(_("A move needs two squares, a pass none."))
        return data

    @property
    def action(self) -> Action:
        data = self.cleaned_data
        if data["from"] is None:
            return Pass(data["card"])
        return Move(data["card"], data["from"], data["to"])


class ChoiceForm(MoveForm):
    """What is picked so far; a part that is nonsense counts as not picked."""

    ply = forms.IntegerField(min_value=1, max_value=MOST_PLIES, required=False)
    ask = forms.ChoiceField(choices=[("resign", ""), ("abort", "")], required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["card"].required = False

    def clean(self) -> dict[str, Any]:
        return self.cleaned_data

    @property
    def picked(self) -> dict[str, Any]:
        """ply, card, from, to and ask, each as far as it makes sense."""
        self.is_valid()
        return self.cleaned_data


class NewestForm(forms.Form):
    """The newest notice that a page listed."""

    newest = forms.IntegerField(min_value=1, max_value=2**63 - 1)
