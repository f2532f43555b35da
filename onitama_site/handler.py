"""Django's WSGI handler, with requests that are read in UTF-8 alone."""

from __future__ import annotations

from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters


class Utf8Request(WSGIRequest):
    """A request in UTF-8, as our pages send it, whatever charset its head claims.

    Python has charsets that are no text ("hex", "zlib") or give half characters that no database
    takes ("utf-7"); Django would believe them, and fail before a middleware can see it.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            parsed = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except ValueError:
            parsed = ("", {})
        self.content_type, self.content_params = parsed


class Handler(WSGIHandler):
    request_class = Utf8Request
