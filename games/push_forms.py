"""What a browser sends of its push subscription; whether we post there is for games.push to say."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

_PRIME = 2**256 - 2**224 + 2**192 + 2**96 - 1
_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B


class KeyField(forms.RegexField):
    """So many bytes as base64url without padding, as browsers write keys."""

    def __init__(self, length: int) -> None:
        self.length = length
        super().__init__(rf"\A[A-Za-z0-9_-]{{{(length * 4 + 2) // 3}}}\Z", strip=False)


class PointField(KeyField):
    """A public key: a point of the curve P-256, uncompressed."""

    def __init__(self) -> None:
        super().__init__(65)

    def validate(self, value: Any) -> None:
        super().validate(value)
        self.run_validators(value)
        if not _on_curve(urlsafe_b64decode(value + "=")):
            raise forms.ValidationError(_("This is no key."))


def _on_curve(point: bytes) -> bool:
    x, y = int.from_bytes(point[1:33]), int.from_bytes(point[33:])
    return point[0] == 4 and max(x, y) < _PRIME and (y * y - x * x * x + 3 * x - _B) % _PRIME == 0


class PushDeviceForm(forms.Form):
    """The parts of a PushSubscription, by the names that browsers give them."""

    endpoint = forms.CharField(max_length=1000, strip=False)
    p256dh = PointField()
    auth = KeyField(16)
