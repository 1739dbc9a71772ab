"""The documentation under /help/, as script/docs built it; the pages hold no record, so that they need no login."""

import mimetypes
from datetime import UTC, datetime
from pathlib import Path

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.cache import patch_cache_control
from django.views.decorators.http import condition, require_safe

from core.accounts.access import needs
from core.lib import env

SITE = env.SHARE_DIR / "build" / "docs"
MARKDOWN = env.SHARE_DIR / "docs"
KEPT_S = 300  # time for which browsers keep a page


def is_built() -> bool:
    """Test whether the documentation is there."""
    return (SITE / "index.html").is_file()


def file_of(name: str) -> Path | None:
    """Return the file of an address below /help/; None where there is none, or where it lies outside of the site."""
    if "\0" in name:
        return None
    found = (SITE / (name or "index.html")).resolve()
    return found if found.is_relative_to(SITE.resolve()) and found.is_file() else None


def _changed_at(request: HttpRequest, name: str = "") -> datetime | None:
    found = file_of(name)
    return datetime.fromtimestamp(int(found.stat().st_mtime), UTC) if found else None


@login_not_required
@require_safe
@condition(last_modified_func=_changed_at)
@needs("public.read")
def page(request: HttpRequest, name: str = "") -> HttpResponse:
    """Answer a file of the documentation; 404 where there is none, with the command that builds the pages."""
    if (found := file_of(name)) is None:
        return render(request, "panel/help_missing.html", {"is_built": is_built(), "markdown": MARKDOWN}, status=404)
    kind = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    response = HttpResponse(found.read_bytes(), content_type=kind + charset)
    patch_cache_control(response, public=True, max_age=KEPT_S)
    return response


urlpatterns: list[URLPattern] = [
    path("help/", page, name="help"),
    path("help/<path:name>", page, name="help-page"),
]
