"""The catalog against the programs themselves: every name, default and need of a restart that SHOW CONFIG tells."""

import psycopg

from pools.poolers import settings_schema
from pools.poolers.pgbouncer.database_entries import quoted
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.pgbouncer.settings_catalog.authentication import EXPIRY_HEEDED
from pools.poolers.settings_schema import Scope, Type

# verbose has no default of its own in the program's table; Debian's 1.18 had auth_query's corrected (CVE-2025-2291)
OTHER_DEFAULTS = {"verbose", "auth_query"}
TEXTS = {
    "connect_query": "SELECT 1",
    "client_encoding": "UTF8",
    "datestyle": "ISO, DMY",
    "timezone": "Europe/Berlin",
    "application_name": "it's",
    "auth_dbname": "shop",
    "auth_query": EXPIRY_HEEDED,
}


def rows(pgbouncer, word):
    with pgbouncer.connect() as console:
        cursor = console.execute(f"SHOW {word}".encode())
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def sample(setting):
    if setting.type == Type.TEXT:
        return TEXTS[setting.name]
    return setting.choices[0] if setting.choices else "7"


def pairs(settings):
    return " ".join(f"{setting.name}={quoted(sample(setting))}" for setting in settings)


def reload_with(pgbouncer, *lines):
    """Reload on the first configuration with these lines behind it; what is said of it."""
    ini, first = pgbouncer.config_dir / "pgbouncer.ini", pgbouncer.config_dir / "first.ini"
    if not first.exists():
        first.write_text(ini.read_text())
    fresh = ini.with_suffix(".new")
    fresh.write_text("\n".join([first.read_text(), *lines, ""]))
    fresh.rename(ini)
    try:
        with pgbouncer.connect() as console:
            console.execute(b"RELOAD")
    except psycopg.Error as error:  # since 1.25 a bad line is told; before it ends the reading in silence
        return str(error)
    return ""


def test_every_setting_of_the_program_is_in_the_catalog_as_the_program_has_it(pgbouncer, version):
    known = {setting.name: setting for setting in settings_schema.shown(CATALOG, Scope.PROGRAM, version)}
    live = {row["key"]: row for row in rows(pgbouncer, "CONFIG")}
    assert set(live) == set(known)
    restart = {name for name, row in live.items() if row["changeable"] == "no"}
    assert restart == {name for name, setting in known.items() if setting.restart}
    defaults = {name: row["default"] or "" for name, row in live.items() if name not in OTHER_DEFAULTS}
    assert defaults == {name: known[name].default for name in defaults}


def test_a_pool_takes_every_setting_of_its_release_and_none_of_a_later_one(pgbouncer, version):
    offered = settings_schema.offered(CATALOG, Scope.POOL, version)
    known = {one.name for one in offered}  # a name has two records where its meaning changed with a release
    later = [one for one in CATALOG if one.scope == Scope.POOL and one.name not in known]
    assert reload_with(pgbouncer, "[databases]", f"whole = host=/nowhere {pairs(offered)}") == ""
    assert "whole" in {row["name"] for row in rows(pgbouncer, "DATABASES")}
    for one in later:
        reload_with(pgbouncer, "[databases]", f"{one.name} = host=/nowhere {pairs([one])}")
        assert one.name not in {row["name"] for row in rows(pgbouncer, "DATABASES")}


def test_a_user_takes_every_limit_of_its_release_and_none_of_a_later_one(pgbouncer, version):
    offered = settings_schema.offered(CATALOG, Scope.USER, version)
    later = [one for one in CATALOG if one.scope == Scope.USER and not one.known_to(version)]
    assert reload_with(pgbouncer, "[users]", f"whole = {pairs(offered)}") == ""
    assert "whole" in {row["name"] for row in rows(pgbouncer, "USERS")}
    for one in later:
        reload_with(pgbouncer, "[users]", f"user_{one.name} = {pairs([one])}")
        assert f"user_{one.name}" not in {row["name"] for row in rows(pgbouncer, "USERS")}
