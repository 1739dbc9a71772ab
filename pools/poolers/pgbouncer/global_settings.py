"""PgBouncer's configuration besides its pools: settings of the program, limits of users, and given files."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from django.utils.translation import gettext as _

from core.lib.crypto import SealBroken
from pools.models import Cluster, Pooler, WaitingSetting
from pools.poolers import settings_schema as settings_of
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import values
from pools.poolers.pgbouncer.database_entries import pairs_of, quoted
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.settings_schema import Scope, Setting, Type, Version

SETTINGS = "pooldeck_settings.ini"
HEAD = "; Pooldeck writes this file and replaces it with each apply; settings of your own belong in pgbouncer.ini.\n"
DERIVED = "; ---- What the pools need of the program, beside what was asked for ----\n"
LINE = re.compile(r"^([a-z0-9_]+) =(?: (.*))?$", re.MULTILINE)  # nothing behind the sign is an empty text
GIVEN = {
    "auth_hba_file": "pooldeck_hba.conf",
    "auth_ident_file": "pooldeck_ident.conf",
    "client_tls_ca_file": "pooldeck_client_tls_ca_file.pem",
    "client_tls_cert_file": "pooldeck_client_tls_cert_file.pem",
    "client_tls_key_file": "pooldeck_client_tls_key_file.pem",
    "server_tls_ca_file": "pooldeck_server_tls_ca_file.pem",
    "server_tls_cert_file": "pooldeck_server_tls_cert_file.pem",
    "server_tls_key_file": "pooldeck_server_tls_key_file.pem",
}
ACCESS = "pooldeck_access.conf"  # see access_rules
REFERENCED = (ACCESS, *GIVEN.values())  # files that settings name by their paths
FILES = (*REFERENCED, SETTINGS)
PAIRS = (("client_tls_cert_file", "client_tls_key_file"), ("server_tls_cert_file", "server_tls_key_file"))

Limits = Mapping[str, Mapping[str, str]]
USERS_HEADER = "[users]"
USER_LINE = re.compile(r"^(\S+) =(.*)$", re.MULTILINE)
# cfparser reads no other character in a key (up to 1.24, and unquoted later)
NOT_IN_USER = re.compile(r"[^A-Za-z0-9_.-]")
LONGEST_USER = 63
# 1.18 holds who logs in as themselves to max_user_connections, but no pool's fixed user (both seen)
LIMITS_FIXED_USERS = (1, 24)
STRICT = {"require": 1, "verify-ca": 2, "verify-full": 3}  # the strictness of each sslmode; 0 for the others


@dataclass(frozen=True)
class Spec:
    """The spec of the program. `users` has an empty entry for one who had limits before: see `desired`.

    `files` are the given ones by their names; `derived` are settings that the pools need (`auth_query` before 1.22).
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    users: Limits = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    derived: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> dict[str, str]:
        """All settings in pooldeck_settings.ini."""
        return {**self.settings, **self.derived}

    @property
    def text(self) -> str:
        """The text of pooldeck_settings.ini."""
        requested, derived = ("".join(map(_line, sorted(one.items()))) for one in (self.settings, self.derived))
        return HEAD + requested + (DERIVED + derived if derived else "")

    def with_derived(self, **derived: str) -> "Spec":
        """Return a copy with these derived settings, without empty ones."""
        return replace(self, derived={name: value for name, value in derived.items() if value})


def desired(pooler: Pooler, folder: str, version: Version, before: Limits) -> Spec:
    """Return the requested spec, with files in `folder` as PgBouncer sees it. Raises `Rejected` for settings.

    Users of `before` who lost their limits keep an empty entry: a reload does not undo a limit whose entry is gone
    (pgbouncer/pgbouncer#1594; seen on 1.18 and 1.24), but an entry without keys sets each to its default.
    """
    found = dict(problems(pooler.settings, pooler.user_settings, version))
    if found:
        raise Rejected("; ".join(found.values()), settings=True)
    files, paths = _given(pooler, folder)
    settings = {name: values.text_of(value) for name, value in pooler.settings.items()} | paths
    users = {
        user: {name: values.text_of(value) for name, value in own.items()} for user, own in pooler.user_settings.items()
    }
    return Spec(settings, {user: users.get(user, {}) for user in (*before, *users)}, files)


def problems(
    settings: Mapping[str, object], user_settings: Mapping[str, Mapping[str, object]], version: Version
) -> Iterator[tuple[str, str]]:
    """Yield (name, message) for each setting that this release would refuse or misread, or that locks the panel out."""
    yield from settings_of.problems(CATALOG, Scope.PROGRAM, settings, version)
    for user, own in user_settings.items():
        if message := user_problem(user):
            yield user, message
        for name, message in settings_of.problems(CATALOG, Scope.USER, own, version):
            yield f"{user}.{name}", _("user %(user)s: %(message)s") % {"user": user, "message": message}


def settled(texts: Mapping[str, str], users: Limits) -> Spec:
    """Read the requested spec back from a revision's files, without derived settings: pools derive them anew."""
    text = texts.get(SETTINGS, "").partition(DERIVED)[0]
    files = {name: texts[name] for name in GIVEN.values() if name in texts}
    return Spec(dict(LINE.findall(text)), users, files)


def written(text: str) -> dict[str, str]:
    """Return every setting of a pooldeck_settings.ini."""
    return dict(LINE.findall(text))


def derived_of(text: str) -> dict[str, str]:
    """Return the settings of a pooldeck_settings.ini that its pools needed."""
    return dict(LINE.findall(text.partition(DERIVED)[2]))


def default_of(name: str, version: Version) -> str:
    """Return the default of a program's setting in that release."""
    return setting_of(name, version).default


def faults(rows: Iterable[Mapping[str, object]], wanted: Mapping[str, str], version: Version) -> list[str]:
    """Describe how SHOW CONFIG differs from the file; a setting that waits for a restart is no fault."""
    live = {str(row["key"]): row for row in rows}
    return [
        fault for name, value in wanted.items() if (fault := _fault(live.get(name), setting_of(name, version), value))
    ]


def restarts_needed(
    rows: Iterable[Mapping[str, object]],
    wanted: Mapping[str, str],
    own: Mapping[str, str],
    touched: Iterable[str],
    version: Version,
) -> list[WaitingSetting]:
    """List the settings whose file says what only a start would bring.

    `own` is what the operator's pgbouncer.ini says, `touched` are names that the panel set before: one that is gone
    goes back to the operator's value or the default, but some that have no default keep theirs through a reload
    (auth_dbname, auth_ident_file, the TLS 1.3 ciphers, verbose: src/main.c gives them NULL).
    """
    found: list[WaitingSetting] = []
    for row in rows:
        name, setting = str(row["key"]), setting_of(str(row["key"]), version)
        if name not in wanted and name not in touched:
            continue
        live = settings_of.readable(setting, _text(row["value"]))
        value = wanted.get(name, own.get(name, _text(row.get("default"))))
        if not values.same(setting, live, value):
            found.append({"name": name, "live": live, "wanted": value})
    return found


def user_problem(user: str) -> str:
    """Return why this user can't have an entry; empty when it can."""
    if not user or len(user) > LONGEST_USER or NOT_IN_USER.search(user):
        return _(
            "user %(user)r can't have limits: PgBouncer reads names of the letters a-z A-Z, digits, and _ . - there"
        ) % {"user": user}
    return ""


def users_section(limits: Limits) -> str:
    """Render the [users] section; empty without limits. An entry without keys resets its user to the defaults."""
    lines = [
        f"{user} = {' '.join(f'{name}={quoted(value)}' for name, value in sorted(own.items()))}".rstrip()
        for user, own in sorted(limits.items())
    ]
    return "\n".join([USERS_HEADER, *lines]) + "\n" if lines else ""


def users_of(file: str) -> dict[str, dict[str, str]]:
    """Return user → limits of a pooldeck.ini."""
    section = file.partition(f"\n{USERS_HEADER}\n")[2]
    return {user: pairs_of(pairs) for user, pairs in USER_LINE.findall(section)}


def user_faults(rows: Iterable[Mapping[str, object]], limits: Limits) -> list[str]:
    """List how SHOW USERS differs from the entries; 1.18 to 1.22 show only the mode."""
    live = {str(row["name"]): row for row in rows}
    return [fault for user, own in limits.items() if (fault := _user_fault(live.get(user), user, own))]


def _user_fault(row: Mapping[str, object] | None, user: str, own: Mapping[str, str]) -> str:
    if row is None:
        return _("the pooler has no limits for user %(user)s") % {"user": user} if own else ""
    # PgBouncer 1.24 and later pad numbers with blanks.
    live = {name: str(row[name]).strip() for name in own if name in row}
    for name, value in live.items():
        if value != own[name]:
            params = {"user": user, "name": name, "live": value, "wanted": own[name]}
            return _("the pooler has user %(user)s with %(name)s %(live)s, not %(wanted)s") % params
    return ""


def _fault(row: Mapping[str, object] | None, setting: Setting, value: str) -> str:
    if row is None:
        return _("the pooler does not know the setting %(name)s") % {"name": setting.name}
    live = settings_of.readable(setting, _text(row["value"]))
    if row.get("changeable") == "no" or values.same(setting, live, value):
        return ""
    return _("the pooler has %(name)s %(live)s, not %(value)s") % {
        "name": setting.name,
        "live": live or _("empty"),
        "value": value or _("empty"),
    }


def _given(pooler: Pooler, folder: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the given files by name, and the settings with their paths."""
    try:
        uploads = {one.setting: one.content for one in pooler.given_files.all() if one.setting in GIVEN}
    except SealBroken:
        raise Rejected(
            _("a given file can't be decrypted with the present keys: give it again"), settings=True
        ) from None
    files = {GIVEN[setting]: content.rstrip("\n") + "\n" for setting, content in uploads.items()}
    where = {setting: GIVEN[setting] for setting in uploads}
    for certificate, key in PAIRS:
        if certificate in uploads and key in uploads:
            # one file, so that no crash between two renames leaves a key beside another's certificate
            files[GIVEN[key]] += files.pop(GIVEN[certificate])
            where[certificate] = GIVEN[key]
    return files, {setting: f"{folder}/{name}" for setting, name in where.items()}


def setting_of(name: str, version: Version) -> Setting:
    """Return its record for that release; a text setting where the catalog has none."""
    found = (one for one in settings_of.shown(CATALOG, Scope.PROGRAM, version) if one.name == name)
    return next(found, Setting(name, Scope.PROGRAM, Type.TEXT, "", "", ""))


def unenforced_limits(
    users: Mapping[str, Mapping[str, object]], fixed: Collection[str], version: Version
) -> Iterator[str]:
    """Yield a remark where the release does not hold the fixed users of pools to their limit of connections."""
    limited = {user for user, own in users.items() if "max_user_connections" in own}
    if version < LIMITS_FIXED_USERS and (unheld := sorted(limited.intersection(fixed))):
        text = _(
            "PgBouncer 1.18 was seen not to hold a pool's fixed user, as %(fixed)s, to max_user_connections; 1.24 does"
        )
        yield text % {"fixed": ", ".join(unheld)}


def weaker_tls(clusters: Iterable[Cluster], lines: Mapping[str, str], config: Mapping[str, object]) -> Iterator[str]:
    """Yield a remark for each cluster whose sslmode is stricter than that of the pooler.

    That is what its settings (`lines`) ask for, else what SHOW CONFIG has.
    """
    mode = lines.get("server_tls_sslmode", str(config.get("server_tls_sslmode", "disable")))
    text = _(
        "%(cluster)s asks for sslmode %(sslmode)s, but the pooler's server_tls_sslmode, one for all clusters, "
        "is %(mode)s"
    )
    for cluster in clusters:
        if STRICT.get(cluster.sslmode, 0) > STRICT.get(mode, 0):
            yield text % {"cluster": cluster, "sslmode": cluster.sslmode, "mode": mode}


def _line(pair: tuple[str, str]) -> str:
    return f"{pair[0]} = {pair[1]}".rstrip() + "\n"


def _text(value: object) -> str:
    return "" if value is None else str(value)
