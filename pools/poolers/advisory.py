"""Published vulnerabilities of poolers, and the releases that have them."""

import re
from dataclasses import dataclass

from django.utils.functional import Promise

Release = tuple[int, int, int]


@dataclass(frozen=True)
class Advisory:
    """A vulnerability of the releases from `since` on and before `fixed`; `only_if`: a sentence on what it needs.

    `packages`: packages of an older release that contain the fix, by their changelogs.
    """

    cve: str
    fixed: Release
    summary: str | Promise
    only_if: str | Promise = ""
    since: Release = (0, 0, 0)
    packages: tuple[str, ...] = ()

    @property
    def fixed_in(self) -> str:
        """The release as text: `1.24.1`."""
        return ".".join(map(str, self.fixed))

    def concerns(self, release: Release) -> bool:
        """Return whether that release has it, as the project published it."""
        return self.since <= release < self.fixed


def release_of(text: str) -> Release | None:
    """Return (1, 24, 1) for `PgBouncer 1.24.1`; None where the text has no number."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None
