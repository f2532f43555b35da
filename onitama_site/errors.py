"""The pages for requests that went wrong."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import get_template


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "400.html", 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "403.html", 403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "404.html", 404)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    answer = _page(request, "403_csrf.html", 403)
    if "HX-Request" in request.headers:
        # The page on the screen is as old as its token: htmx loads it again.
        answer.headers["HX-Refresh"] = "true"
    return answer


def server_error(request: HttpRequest) -> HttpResponse:
    # Without the request: whatever just failed may be what a session or a user is read from.
    return HttpResponseServerError(get_template("500.html").render())


def _page(request: HttpRequest, template: str, status: int) -> HttpResponse:
    # A request refused before the middleware knew its reader gets the logged-out page.
    known = request if hasattr(request, "user") and hasattr(request, "_messages") else None
    return HttpResponse(get_template(template).render(None, known), status=status)
