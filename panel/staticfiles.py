"""Static files: only those that pages use are collected, and each has a hash of its content in its name.

Browsers may cache a hashed name for ever, and after an upgrade no page loads an old style or script.
"""

import logging
from collections.abc import Iterable
from fnmatch import fnmatch

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage
from django.core.files.storage import Storage
from whitenoise.storage import CompressedManifestStaticFilesStorage

# The panel's own, and of the libraries (40 MB) what base.html, pages with charts and the API documentation load.
USED = (
    "css/*",
    "js/*",
    "img/*.svg",  # not the README's screenshot
    "vendor/tabler/css/tabler.min.css",
    "vendor/chartjs/chart.umd.js",
    "django_htmx/htmx-2.min.js",
    "django_htmx/django-htmx.js",
    "drf_spectacular_sidecar/swagger-ui-dist/*.css",
    "drf_spectacular_sidecar/swagger-ui-dist/*.js",
    "drf_spectacular_sidecar/swagger-ui-dist/*.png",
)
log = logging.getLogger(__name__)
Found = Iterable[tuple[str, Storage]]


def used(found: Found) -> Found:
    """Yield those of a finder's pairs (path, storage) that pages load."""
    for path, storage in found:
        prefix = getattr(storage, "prefix", None)
        name = f"{prefix}/{path}" if prefix else path
        if any(fnmatch(name, pattern) for pattern in USED):
            yield path, storage


class Folders(finders.FileSystemFinder):
    """Finds the used files of STATICFILES_DIRS."""

    def list(self, ignore_patterns: Iterable[str] | None) -> Found:
        return used(super().list(ignore_patterns))


class Apps(finders.AppDirectoriesFinder):
    """Finds the used files of installed apps."""

    def list(self, ignore_patterns: Iterable[str] | None) -> Found:
        return used(super().list(ignore_patterns))


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
