"""Reads what people changed by hand in the panel's files of a PgBouncer back into pools, settings and passwords."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from pools.poolers.adoption import Adoption
from pools.poolers.pgbouncer import global_settings, releases, render, sharing, userlist
from pools.poolers.pgbouncer.global_settings import DERIVED, SETTINGS
from pools.poolers.pgbouncer.render import DATABASES, MAIN, USERLIST
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.settings_schema import Scope

Texts = Mapping[str, str]
Pairs = dict[str, str]

ENTRY = re.compile(r"\s*([A-Za-z0-9_.*-]+)\s*=\s*(.*?)\s*")
PAIR = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^']|'')*)'|([^\s']\S*))")
POOL = re.compile(r"; pool ([0-9a-f-]{36})(?:, taken over)?\s*")
SETTING = re.compile(r"\s*([a-z0-9_]+)\s*=\s*(.*?)\s*")
FIELDS = {"dbname": "database", "user": "user", "pool_size": "size", "pool_mode": "mode"}
OF_CLUSTER = ("host", "port")
BY_THE_PANEL = ("auth_user", "auth_query")
PLAIN_FILES = {global_settings.GIVEN[setting]: setting for setting in ("auth_hba_file", "auth_ident_file")}


@dataclass(frozen=True)
class Line:
    """An entry as it stands in the file; `pool` is the id that the comment above it names."""

    number: int
    name: str
    pairs: Pairs
    pool: UUID | None = None


def detached(settled: Texts, found: Texts) -> dict[str, str]:
    """Return file → why PgBouncer no longer reads the panel's files."""
    main = found.get(MAIN, "")
    lines = {DATABASES: render.INCLUDE, SETTINGS: render.SETTINGS_INCLUDE}
    lost = [name for name, include in lines.items() if name in settled and not include.search(main)]
    removed = (_("the line that includes %(name)s was removed") % {"name": name} for name in lost)
    return {MAIN: "; ".join(removed)} if lost else {}


def adoption(settled: Texts, found: Texts) -> Adoption:
    """Return the changes of records that the edits in `found` ask for; `settled` is the last applied revision."""
    adopted = Adoption()
    for name, why in detached(settled, found).items():
        adopted.refuse(
            name, 0, _("%(fault)s: restore it, since no pool of the panel is live without it") % {"fault": why}
        )
    if render.ours(DATABASES, found.get(DATABASES, "")) != settled.get(DATABASES, ""):
        _adopt_databases(adopted, settled.get(DATABASES, ""), found.get(DATABASES, ""))
    if found.get(SETTINGS, "") != settled.get(SETTINGS, ""):
        _adopt_settings(adopted, settled.get(SETTINGS, ""), found.get(SETTINGS, ""))
    _adopt_users(adopted, *(render.ours(USERLIST, texts.get(USERLIST, "")) for texts in (settled, found)))
    for name in sharing.panel_main_files(settled):
        if found.get(name, "") != settled[name]:
            adopted.refuse(name, 0, _("it is a copy of pgbouncer.ini: make the change there, and overwrite this one"))
    for name in global_settings.REFERENCED:
        if found.get(name, "") != settled.get(name, ""):
            _adopt_file(adopted, name, found.get(name, ""))
    return adopted


def _adopt_databases(made: Adoption, settled: str, found: str) -> None:
    before = {line.name: line for line in _entries(Adoption(), settled, "databases")}
    ids = {line.pool: line for line in before.values()}
    lines = list(_entries(made, found, "databases"))
    names = {line.name for line in lines}
    for line in lines:
        renamed = ids.get(line.pool) if line.pool else None
        # A line that was put between a pool's comment and its entry is not a new name of the pool.
        old = before.get(line.name) or (renamed if renamed and renamed.name not in names else None)
        if old is None or old.pool is None:
            made.fresh.append(_fields(made, line, {}) | {key: line.pairs.get(key, "") for key in OF_CLUSTER})
        elif changed := _changed(made, old, line):
            made.changed[old.pool] = changed
    here = names | {line.pool for line in lines if line.name not in before}
    made.gone = {old.pool for old in before.values() if old.pool and not {old.name, old.pool} & here}
    users = [{line.name: line.pairs for line in _entries(made, text, "users")} for text in (settled, found)]
    if users[0] != users[1]:
        made.users = {name: own for name, own in users[1].items() if own}


def _entries(made: Adoption, text: str, section: str) -> Iterator[Line]:
    """Yield the entries of one section; refuse unreadable lines."""
    here, pool_id = "", None
    for number, line in enumerate(text.split("\n"), start=1):
        if header := re.fullmatch(r"\s*\[(\w+)\]\s*", line):
            here = header[1]
            if here not in ("databases", "users", "peers"):
                made.refuse(DATABASES, number, _("the panel writes no section [%(here)s] there") % {"here": here})
        elif comment := POOL.fullmatch(line):
            pool_id = UUID(comment[1])
        elif line.strip() and line.lstrip()[0] not in ";#" and here == section:
            if read := _entry(made, number, line, pool_id):
                yield read
            pool_id = None


def _entry(made: Adoption, number: int, line: str, pool_id: UUID | None) -> Line | None:
    found = ENTRY.fullmatch(line)
    if not found or PAIR.sub("", found[2]).strip():
        made.refuse(DATABASES, number, _("it is not an entry of name = key=value pairs"))
        return None
    pairs = {key: bare or inside.replace("''", "'") for key, inside, bare in PAIR.findall(found[2])}
    return Line(number, found[1], pairs, pool_id)


def _changed(made: Adoption, old: Line, new: Line) -> dict[str, object]:
    """Return the fields of a pool that were changed."""
    for key in (*OF_CLUSTER, *BY_THE_PANEL):
        if old.pairs.get(key) != new.pairs.get(key) and not _follows_the_user(key, old, new):
            made.refuse(
                DATABASES,
                new.number,
                _("%(key)s of pool %(name)s comes from its cluster: change it there") % {"key": key, "name": old.name},
            )
    before = _fields(Adoption(), old, {})
    after = _fields(made, new, old.pairs)
    return {name: value for name, value in after.items() if before.get(name) != value}


def _follows_the_user(key: str, old: Line, new: Line) -> bool:
    """Return whether the change follows from a new fixed user, who needs no look-up."""
    return key in BY_THE_PANEL and "user" in new.pairs and "user" not in old.pairs


def _fields(made: Adoption, line: Line, before: Pairs) -> dict[str, object]:
    """Convert an entry to fields of a pool; refuse keys without a field."""
    pairs, fields = line.pairs, {"name": line.name, "database": line.pairs.get("dbname", line.name), "user": ""}
    settings = {_name_of(key): value for key, value in pairs.items() if _name_of(key) in _of_pools()}
    known = {*FIELDS, *OF_CLUSTER, *BY_THE_PANEL, "password", "max_db_connections"}
    for key in pairs.keys() - known:
        if _name_of(key) not in settings:
            made.refuse(
                DATABASES, line.number, _("%(key)s is not a setting that the panel has for a pool") % {"key": key}
            )
    if "pool_size" not in pairs or "pool_mode" not in pairs:
        made.refuse(
            DATABASES,
            line.number,
            _("pool %(name)s needs a pool_size and a pool_mode of its own") % {"name": line.name},
        )
    limit = pairs.get("max_db_connections")
    if limit not in (pairs.get("pool_size"), before.get("max_db_connections")):
        made.refuse(
            DATABASES,
            line.number,
            _("max_db_connections=%(limit)s must equal the pool's size") % {"limit": limit},
        )
    login = pairs.get("user", ""), pairs.get("password", "")
    if all(login) and login != (before.get("user"), before.get("password")):
        made.passwords[login[0]] = login[1]
    typed = {FIELDS[key]: value for key, value in pairs.items() if key in FIELDS}
    return {**fields, **typed, "settings": settings}


def _name_of(key: str) -> str:
    """Return the panel's name of a setting that later releases renamed."""
    return next((name for name, (_, renamed) in releases.RENAMED.items() if renamed == key), key)


def _of_pools() -> set[str]:
    return {setting.name for setting in CATALOG if setting.scope == Scope.POOL} - set(BY_THE_PANEL)


def _adopt_settings(made: Adoption, settled: str, found: str) -> None:
    before, after = ({name: value for _, name, value in _settings(Adoption(), text)} for text in (settled, found))
    derived = global_settings.derived_of(settled)
    for number, name, value in _settings(made, found):
        if name in global_settings.GIVEN and value != before.get(name):
            made.refuse(
                SETTINGS,
                number,
                _("%(name)s is the path of a file: give the file itself, on the settings page") % {"name": name},
            )
        elif name in derived and value != derived[name]:
            made.refuse(SETTINGS, number, _("%(name)s is determined by the pools") % {"name": name})
    lost = [name for name in before if name not in after and (name in global_settings.GIVEN or name in derived)]
    for name in lost:
        made.refuse(SETTINGS, 0, _("%(name)s was removed: remove it on the settings page") % {"name": name})
    made.settings = {
        name: value for name, value in after.items() if name not in global_settings.GIVEN and name not in derived
    }


def _settings(made: Adoption, text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.replace(DERIVED, "\n").split("\n"), start=1):
        if not line.strip() or line.lstrip()[0] in ";#":
            continue
        if found := SETTING.fullmatch(line):
            yield number, found[1], found[2]
        else:
            made.refuse(SETTINGS, number, _("it is not a line of name = value"))


def _adopt_users(made: Adoption, settled: str, found: str) -> None:
    before, after = render.users(settled), render.users(found)
    if line := render.broken_line(found):
        made.refuse(USERLIST, 0, _("line %(line)s below the panel's mark is broken") % {"line": line})
    for user, secret in after.items():
        if user not in before:
            made.refuse(
                USERLIST, 0, _("user %(user)s is not the panel's: write it above the panel's mark") % {"user": user}
            )
        elif secret != before[user] and userlist.is_verifier(secret):
            made.refuse(
                USERLIST,
                0,
                _("user %(user)s was given a SCRAM verifier, from which the password can't be read") % {"user": user},
            )
        elif secret != before[user]:
            made.passwords[user] = secret
    for user in before.keys() - after.keys():
        made.refuse(USERLIST, 0, _("user %(user)s was removed, and the pools need it") % {"user": user})


def _adopt_file(made: Adoption, name: str, content: str) -> None:
    if name in PLAIN_FILES and content.strip():
        made.given[PLAIN_FILES[name]] = content
    elif name == global_settings.ACCESS:
        made.refuse(name, 0, _("it is made of the pools' users: change them there, or overwrite the edit"))
    else:
        made.refuse(name, 0, _("give the file itself, on the settings page"))
