"""Published weaknesses of poolers, and which releases have them."""

import re
from dataclasses import dataclass

Release = tuple[int, int, int]


@dataclass(frozen=True)
class Advisory:
    """A weakness of the releases from `since` on and before `fixed`; `only_if` says in which set-up it can be used.

    `packages`: packages of an older release that carry the correction, by their changelogs.
    """

    cve: str
    fixed: Release
    summary: str
    only_if: str = ""
    since: Release = (0, 0, 0)
    packages: tuple[str, ...] = ()

    @property
    def fixed_in(self) -> str:
        """The release as people write it."""
        return ".".join(map(str, self.fixed))

    def concerns(self, release: Release) -> bool:
        """Whether that release has it, as its makers published it."""
        return self.since <= release < self.fixed


def release_of(text: str) -> Release | None:
    """(1, 24, 1) of `PgBouncer 1.24.1`; None where the text holds no number."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None
