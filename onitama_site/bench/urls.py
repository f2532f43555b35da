"""Every address of the site, and the bare view that the others are measured against."""

from __future__ import annotations

from django.urls import path

from onitama_site import urls
from onitama_site.bench.bare import bare

urlpatterns = [path("bare/", bare), *urls.urlpatterns]
