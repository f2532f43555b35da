"""Every address of the site; allauth brings the sign-up family."""

from __future__ import annotations

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("accounts.urls")),
    path("", include("games.urls")),
    path("accounts/", include("allauth.account.urls")),
    # The staff log in where everybody does: there the attempts are counted.
    path("admin/login/", secure_admin_login(admin.site.login)),
    path("admin/", admin.site.urls),
]

handler400 = "onitama_site.errors.bad_request"
handler403 = "onitama_site.errors.permission_denied"
handler404 = "onitama_site.errors.page_not_found"
handler500 = "onitama_site.errors.server_error"
