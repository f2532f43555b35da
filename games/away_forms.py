"""What a browser sends about being away."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

# An announcement further ahead is a slip of the keyboard.
FURTHEST = timedelta(days=366)


class AwayForm(forms.Form):
    away_on = forms.BooleanField(
        label=_("Use my away time"),
        required=False,
        help_text=_(
            "Switched off, you lose on time as soon as a clock of yours runs out; your hours are"
            " kept for later."
        ),
    )
    away_until = forms.DateField(
        label=_("Away until"),
        required=False,
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date", "autocomplete": "off"}),
        help_text=_(
            "Your last day away. Opponents see it, and so does whoever is about to challenge you;"
            " no deadline changes by it. Leave it empty when you are here."
        ),
        error_messages={"invalid": _("Write the date as year, month and day: 2026-12-31.")},
    )

    def __init__(self, today: date, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.today = today

    def clean_away_until(self) -> date | None:
        until: date | None = self.cleaned_data["away_until"]
        if until and until < self.today:
            raise forms.ValidationError(_("That day is over. Choose today or a later one."))
        if until and until > self.today + FURTHEST:
            raise forms.ValidationError(_("That is more than a year ahead."))
        return until
