"""What a browser sends to begin a game: against the computer, or by a challenge."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _

from accounts import names
from accounts.models import User
from games import strengths, wording
from games.belts import BELTS, belt
from games.clock import PRESETS, TimeControl
from games.models import Challenge, Deck, Level, Side

_control = lazy(wording.control, str)

_COLOURS = [("", _("Either")), (Side.BLUE, _("Blue")), (Side.RED, _("Red"))]
_WHO_SEES = [
    ("", _("Public: anybody may look on, and find it later")),
    ("private", _("Private: only the two of you can see it")),
]


class Defaulted(forms.ChoiceField):
    """One of a few, drawn as tiles; what is not sent is the initial choice."""

    widget = forms.RadioSelect

    def __init__(self, *, initial: str, **kwargs: Any) -> None:
        super().__init__(required=False, initial=initial, **kwargs)

    def clean(self, value: Any) -> Any:
        return super().clean(value) or self.initial


class BeltField(Defaulted):
    """The eight belts, each drawn with what is said of it."""

    drawn_by = "games/_belts.html"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=[(each.name, each) for each in BELTS], **kwargs)

    @property
    def measured(self) -> bool:
        return bool(strengths.elo())


class StartForm(forms.Form):
    """What both ways to begin a game ask."""

    colour = Defaulted(
        label=_("Your side"),
        choices=_COLOURS,
        initial="",
        help_text=_("The stamp on the side card says who moves first, whatever the side."),
    )
    deck = Defaulted(label=_("Cards"), choices=Deck.choices, initial=Deck.BASE)


class ComputerForm(StartForm):
    level = BeltField(
        label=_("Opponent"),
        initial=Level.WHITE,
        help_text=_(
            "New to the game? Begin with the white belt, and take the next one when you have won"
            " twice running. If you win now and then among friends, begin with green."
        ),
    )

    field_order = ["level", "colour", "deck"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # The other form stands on the same page.
        super().__init__(*args, **kwargs | {"auto_id": "computer_%s"})


class ChallengeForm(StartForm):
    opponent = forms.CharField(
        label=_("Who"),
        max_length=20,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
        help_text=_("The player’s name here. They are told by mail and have 14 days to answer."),
    )
    control = Defaulted(
        label=_("Time"),
        choices=[(key, _control(preset)) for key, preset in PRESETS.items()],
        initial=next(iter(PRESETS)),
        help_text=_(
            "Your time runs only while it is your move. With “3 days + 1 day a move” you begin with"
            " three days and gain one for every move, up to five."
        ),
    )
    private = Defaulted(label=_("Who can see it"), choices=_WHO_SEES, initial="")
    # The opponent of whom the page has said that they are away.
    warned = forms.CharField(required=False, widget=forms.HiddenInput)

    field_order = ["warned", "opponent", "control", "colour", "deck", "private"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"auto_id": "challenge_%s"})

    def clean_opponent(self) -> User:
        name = self.cleaned_data["opponent"]
        player: User | None = User.objects.named(names.meant(name)).first()
        if player is None:
            raise forms.ValidationError(
                _("There is no player called %(name)s."), params={"name": name}
            )
        if player.is_engine:
            raise forms.ValidationError(
                _("%(name)s is a level of the computer: choose it under “Against the computer”.")
                if belt(player.username)
                else _("%(name)s is an old level of the computer, which begins no more games."),
                params={"name": player.shown_name},
            )
        return player

    def clean_control(self) -> TimeControl:
        return PRESETS[self.cleaned_data["control"]]

    def clean_private(self) -> bool:
        return bool(self.cleaned_data["private"])


class DeclineForm(forms.Form):
    reason = forms.ChoiceField(label=_("Reason"), choices=Challenge.Reason.choices, required=False)
