"""Context of the pages of a pooler's settings: live values, ranges, and what needs a restart."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.text import slugify

from pools.forms.setting_fields import EMPTY
from pools.inventory import pooler_settings_validation
from pools.models import Pool, Pooler
from pools.poolers import KINDS, settings_schema
from pools.poolers.settings_schema import Scope, Setting, Type


@dataclass(frozen=True)
class Row:
    """One setting with its form field (None: read-only), its live value, and whether it needs a restart."""

    setting: Setting
    bound: BoundField | None
    live: str | None
    waits: bool
    empty: BoundField | None = None  # checkbox for a value that is empty on purpose
    since: str = ""  # the first release that has it, if the panel supports older ones

    @property
    def now(self) -> str | None:
        """The live value in readable form; None if it is not known."""
        return (
            None
            if self.live is None
            else settings_schema.displayed(self.setting, settings_schema.readable(self.setting, self.live))
        )

    @property
    def default(self) -> str:

        return settings_schema.displayed(self.setting, self.setting.default)

    @property
    def is_changed(self) -> bool:
        """True if the panel's records set it."""
        return any(field.initial for field in (self.bound, self.empty) if field)

    @property
    def span(self) -> str:

        return settings_schema.span(self.setting)

    @property
    def words(self) -> str:
        """The text that the page's search matches."""
        return f"{self.setting.name} {self.setting.label} {self.setting.help}".lower()


@dataclass(frozen=True)
class Group:
    """Settings of one group: a card of the page."""

    name: str
    rows: list[Row]

    @property
    def slug(self) -> str:

        return slugify(self.name)


def groups(pooler: Pooler, form: forms.Form, live: Mapping[str, str]) -> list[Group]:
    """Return the program's settings in groups, in the catalog's order, after settings of another release."""
    found = settings_schema.shown(
        KINDS[pooler.kind].catalog, Scope.PROGRAM, pooler_settings_validation.release_of(pooler)
    )
    strays = pooler_settings_validation.unknown_settings(pooler, Scope.PROGRAM, pooler.settings)
    settings = [*strays, *(setting for setting in found if setting.type != Type.FILE)]
    waiting = {one["name"] for one in pooler.needs_restart}
    found_groups: dict[str, Group] = {}
    for one in settings:
        field, empty = (form[name] if name in form.fields else None for name in (one.name, EMPTY + one.name))
        row = Row(one, field, live.get(one.name), one.name in waiting, empty, _since(pooler, one))
        found_groups.setdefault(one.group, Group(one.group, [])).rows.append(row)
    return list(found_groups.values())


def _since(pooler: Pooler, setting: Setting) -> str:
    """Return the first release that has a setting; empty if every supported release has it."""
    kind = KINDS[pooler.kind]
    first = settings_schema.first_release(kind.catalog, setting)
    return ".".join(map(str, first)) if first > kind.version_of("") else ""


def users(pooler: Pooler) -> list[dict[str, object]]:
    """Return the users with limits: `name`, and `limits` as (setting or None, name, value)."""
    known = pooler_settings_validation.offered(pooler, Scope.USER)
    return [
        {"name": user, "limits": [(known.get(name), name, value) for name, value in sorted(limits.items())]}
        for user, limits in sorted(pooler.user_settings.items())
    ]


def pool_rows(pool: Pool) -> list[tuple[Setting | None, str, Any]]:
    """Return the further settings of a pool as (setting, name, value); the setting is None if its release has none."""
    known = pooler_settings_validation.offered(pool.pooler, Scope.POOL)
    return [(known.get(name), name, value) for name, value in sorted(pool.settings.items())]
