"""Static files: only those that pages use are collected, and each has a hash of its content in its name.

Browsers may cache a hashed name for ever, and after an upgrade no page loads an old style or script.
"""

import logging
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage
from whitenoise.storage import CompressedManifestStaticFilesStorage

# The panel's own, and of the libraries (40 MB) what base.html, pages with charts and the API documentation load.
USED = (
    "css/*",
    "js/*",
    "img/*.svg",
    "vendor/tabler/css/tabler.min.css",
    "vendor/charts.js",
    "django_htmx/htmx-2.min.js",
    "django_htmx/django-htmx.js",
    "drf_spectacular_sidecar/swagger-ui-dist/*.css",
    "drf_spectacular_sidecar/swagger-ui-dist/*.js",
    "drf_spectacular_sidecar/swagger-ui-dist/*.png",
)
# Pages load each of these as one file, joined from these parts in this order.
BUNDLES = {
    "css/pooldeck.css": tuple(
        f"css/pooldeck/{part}.css"
        for part in (
            "tokens",
            "shell",
            "cards",
            "tables",
            "forms",
            "budget",
            "empty",
            "tabs",
            "connection_box",
            "lists",
            "pool_form",
            "pool",
            "dashboard",
            "page_tabs",
            "table_cards",
            "diff",
            "audit",
            "monitoring",
        )
    ),
    "vendor/charts.js": (
        "vendor/chart.js/chart.umd.min.js",
        "vendor/chartjs-plugin-zoom/chartjs-plugin-zoom.min.js",
    ),
}
JOINED = frozenset(part for parts in BUNDLES.values() for part in parts)
log = logging.getLogger(__name__)
Found = Iterable[tuple[str, Storage]]


def used(found: Found) -> Found:
    """Yield those of a finder's pairs (path, storage) that pages load."""
    for path, storage in found:
        prefix = getattr(storage, "prefix", None)
        name = f"{prefix}/{path}" if prefix else path
        if name not in JOINED and any(fnmatch(name, pattern) for pattern in USED):
            yield path, storage


class Folders(finders.FileSystemFinder):
    """Finds the used files of STATICFILES_DIRS."""

    def list(self, ignore_patterns: Iterable[str] | None) -> Found:
        return used(super().list(ignore_patterns))


class Apps(finders.AppDirectoriesFinder):
    """Finds the used files of installed apps."""

    def list(self, ignore_patterns: Iterable[str] | None) -> Found:
        return used(super().list(ignore_patterns))


class _JoinedFileStorage(Storage):
    """Reads a bundle from its parts."""

    def _open(self, name: str, mode: str = "rb") -> "File[bytes]":
        return ContentFile(b"".join(_part(part).read_bytes().rstrip() + b"\n" for part in BUNDLES[name]))

    def path(self, name: str) -> str:
        return name


class Bundles(finders.BaseFinder):
    """The files of `BUNDLES`."""

    def list(self, ignore_patterns: Iterable[str] | None) -> Found:
        """Yield each bundle; opening it raises FileNotFoundError for a part that is not installed."""
        return ((name, _JoinedFileStorage()) for name in BUNDLES)

    def find(self, path: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (its base gives one place or a list)
        """Find nothing: a bundle has no place on the disk before it is collected.

        Nothing is an empty list; Django takes None for a file that was found, and fails to open it.
        """
        return []


def _part(name: str) -> Path:
    found = finders.find(name)
    if not isinstance(found, str):
        raise FileNotFoundError(f"{name} is not installed: run script/up, or npm ci in static")
    return Path(found)


class HashedStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """STATIC_ROOT with hashed names, also inside stylesheets and JavaScript modules, and compressed copies.

    References to source maps are not resolved, since the maps are not collected.
    """

    support_js_module_import_aggregation = True
    patterns = (("*.css", ManifestStaticFilesStorage.patterns[0][1][:2]),)  # url() and @import

    def stored_name(self, name: str) -> str:
        """Return the hashed name; the plain name of a file that is not collected, so that the page still renders.

        That happens where templates are upgraded under a running process, which knows only the files at its start.
        """
        try:
            return str(super().stored_name(name))
        except ValueError as error:
            log.warning("%s: run collectstatic and start web again", error)
            return name

    def url(self, name: str, force: bool = False) -> str:
        """Return the address of a file, worked out once: a page names some seventy, most of them the file of icons."""
        known: str | None = self._addresses.get((name, force))
        if known is None:
            known = str(super().url(name, force))
            if name in self.hashed_files and not settings.DEBUG:
                self._addresses[name, force] = known
        return known

    @cached_property
    def _addresses(self) -> dict[tuple[str, bool], str]:
        return {}

    def post_process(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 (as its base)
        """Collect the files, whose addresses are others afterwards."""
        self._addresses.clear()
        return super().post_process(*args, **options)
