"""Where pgbouncer.ini reads the panel's settings, and which lines of the operator's are read after them.

Of a setting that is written twice PgBouncer takes the last one. The panel's are read at the end of [pgbouncer], below
included files too, as long as none of these leaves the section or can't be read from here: what PgBouncer reads there
it can't be known to read in that section.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from pools.poolers.pgbouncer import global_settings, render, values
from pools.poolers.pgbouncer.operators_config import Reading
from pools.poolers.settings_schema import Version


@dataclass(frozen=True)
class Place:
    """pgbouncer.ini with the line that reads the panel's settings, if it has a place for it, and what it then reads."""

    main: str
    reading: Reading
    version: Version

    @property
    def problem(self) -> str:
        """Why there is none; empty where there is one."""
        if render.SETTINGS_INCLUDE.search(self.main):
            return ""
        return _(
            "pgbouncer.ini has no [pgbouncer] section of its own, at whose end settings could be included: write one, "
            "and include other files inside it"
        )

    def set_again(self, wanted: Mapping[str, str]) -> list[str]:
        """Return a sentence for each of the operator's lines that sets these settings (name → value) to others."""
        found = (self.reading.set_again(name) for name, value in wanted.items() if not self._has_value(name, value))
        return [text for text in found if text]

    def _has_value(self, name: str, value: str) -> bool:
        """Return whether what stands below the panel's settings says the same."""
        setting, late = global_settings.setting_of(name, self.version), self.reading.after_panels
        return values.same(setting, late[name].value if name in late else setting.default, value)


def find(
    main: str, folder: str, reading: Reading, ours: Mapping[str, str], names: Collection[str], version: Version
) -> Place:
    """Add the line, or move it below what would set any of `names` again; `ours` are the texts of the panel's files."""
    kept = render.with_settings_include(main, folder, reading.goes_on)
    found = reading.with_main(kept, ours)
    if any(map(found.set_again, names)):
        kept = render.with_settings_include(render.without_settings_include(main), folder, reading.goes_on)
        found = reading.with_main(kept, ours)
    return Place(kept, found, version)
