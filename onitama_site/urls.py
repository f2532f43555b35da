"""Every address of the site; allauth brings the sign-up family."""

from __future__ import annotations

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.utils.functional import lazy
from django.views.decorators.cache import cache_control
from django.views.generic import RedirectView

# The file's name is known once the files are collected, which is after this is read.
ICON = RedirectView.as_view(url=lazy(static, str)("favicon.svg"))

urlpatterns = [
    path("", include("accounts.urls")),
    path("", include("games.urls")),
    path("accounts/", include("allauth.account.urls")),
    # The staff log in and change passwords where everybody does: there the attempts are counted.
    path("admin/login/", secure_admin_login(admin.site.login)),
    path("admin/password_change/", RedirectView.as_view(pattern_name="account_change_password")),
    path("admin/", admin.site.urls),
    # Where browsers look when a page, such as a record, names no icon.
    path("favicon.ico", cache_control(private=True, max_age=86_400)(ICON), name="favicon"),
]

handler400 = "onitama_site.errors.bad_request"
handler403 = "onitama_site.errors.permission_denied"
handler404 = "onitama_site.errors.page_not_found"
handler500 = "onitama_site.errors.server_error"
