"""What the pages of a pooler's settings show beside the fields: live values, spans, files, and what waits."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.text import slugify

from panel.lib.crypto import SealBroken
from pools.forms.setting_fields import EMPTY
from pools.inventory import pooler_settings_validation
from pools.models import Pool, Pooler, PoolerFile
from pools.poolers import KINDS, pem, settings_schema
from pools.poolers.settings_schema import Scope, Setting, Type


@dataclass(frozen=True)
class Row:
    """One setting with its field (None: only shown), what the pooler has now, and what waits for a restart."""

    setting: Setting
    bound: BoundField | None
    live: str | None
    waits: bool
    empty: BoundField | None = None  # says that there is none on purpose, where that may be
    since: str = ""  # the release that brought it, where an older one is supported

    @property
    def now(self) -> str | None:
        """What the pooler has, as people write it; None where that is not known."""
        return (
            None
            if self.live is None
            else settings_schema.spoken(self.setting, settings_schema.readable(self.setting, self.live))
        )

    @property
    def default(self) -> str:
        """What it has by itself, as people write it."""
        return settings_schema.spoken(self.setting, self.setting.default)

    @property
    def is_changed(self) -> bool:
        """Whether the panel gives it."""
        return any(field.initial for field in (self.bound, self.empty) if field)

    @property
    def span(self) -> str:
        """The numbers it takes."""
        return settings_schema.span(self.setting)

    @property
    def words(self) -> str:
        """What a search finds it by."""
        return f"{self.setting.name} {self.setting.title} {self.setting.help}".lower()


@dataclass(frozen=True)
class Group:
    """A card of the page."""

    name: str
    rows: list[Row]

    @property
    def slug(self) -> str:
        """Its anchor."""
        return slugify(self.name)


@dataclass(frozen=True)
class Given:
    """A file that was given, as far as it may be shown; `text` only of what holds no secret."""

    setting: Setting
    file: PoolerFile | None
    certificate: pem.Certificate | None = None
    fingerprint: str = ""
    text: str = ""
    broken: bool = False

    @property
    def given_at(self) -> datetime | None:
        """When."""
        return self.file.updated_at if self.file else None


def groups(pooler: Pooler, form: forms.Form, live: Mapping[str, str]) -> list[Group]:
    """The cards of the program's settings, in the catalogue's order."""
    found = settings_schema.shown(
        KINDS[pooler.kind].catalogue, Scope.PROGRAM, pooler_settings_validation.release_of(pooler)
    )
    strays = pooler_settings_validation.strays(pooler, Scope.PROGRAM, pooler.settings)
    settings = [*strays, *(setting for setting in found if setting.type != Type.FILE)]
    waiting = {one["name"] for one in pooler.needs_restart}
    found_groups: dict[str, Group] = {}
    for one in settings:
        field, empty = (form[name] if name in form.fields else None for name in (one.name, EMPTY + one.name))
        row = Row(one, field, live.get(one.name), one.name in waiting, empty, _since(pooler, one))
        found_groups.setdefault(one.group, Group(one.group, [])).rows.append(row)
    return list(found_groups.values())


def _since(pooler: Pooler, setting: Setting) -> str:
    """Empty of what every supported release knows, as nearly all is: there it would tell nobody anything."""
    kind = KINDS[pooler.kind]
    first = settings_schema.first_release(kind.catalogue, setting)
    return ".".join(map(str, first)) if first > kind.version_of("") else ""


def given_files(pooler: Pooler) -> list[Given]:
    """Every file its release takes, with what is known of the one that was given; private keys are never in it."""
    stored = {one.setting: one for one in pooler.given_files.select_related("author")}
    return [
        given(setting, stored.get(name)) for name, setting in pooler_settings_validation.files_offered(pooler).items()
    ]


def given(setting: Setting, file: PoolerFile | None) -> Given:
    """What may be shown of a file: of a key its public half's fingerprint, of a certificate whose it is."""
    if file is None:
        return Given(setting, None)
    try:
        content = file.content
    except SealBroken:
        return Given(setting, file, broken=True)
    if "PRIVATE KEY-----" in content:
        return Given(setting, file, fingerprint=pem.key_fingerprint(content))
    if "-----BEGIN CERTIFICATE-----" in content:
        certificate = pem.described(content)
        return Given(setting, file, certificate, certificate.fingerprint)
    secret = "passwd" in content.lower() or "secret" in content.lower()  # of LDAP or RADIUS, in a rule
    return Given(setting, file, text="" if secret else content)


def users(pooler: Pooler) -> list[dict[str, Any]]:
    """The users that have limits: `name` and `limits`, pairs of the setting's record and its value."""
    known = pooler_settings_validation.offered(pooler, Scope.USER)
    return [
        {"name": user, "limits": [(known.get(name), name, value) for name, value in sorted(limits.items())]}
        for user, limits in sorted(pooler.user_settings.items())
    ]


def pool_rows(pool: Pool) -> list[tuple[Setting | None, str, Any]]:
    """The further settings that a pool has: the record (None: of another release), name and value."""
    known = pooler_settings_validation.offered(pool.pooler, Scope.POOL)
    return [(known.get(name), name, value) for name, value in sorted(pool.settings.items())]
