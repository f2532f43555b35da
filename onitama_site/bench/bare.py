"""The least a Django view can do: full middleware, a session read, one row written."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from games.models import Outage


def bare(request: HttpRequest) -> HttpResponse:
    request.session.get("nothing")
    now = timezone.now()
    Outage.objects.create(began=now, ended=now)
    return HttpResponse("ok")
