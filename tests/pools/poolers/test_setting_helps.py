"""Every setting has its manual's name, at least one whole sentence that explains it, and a link to its manual."""

import re

import pytest

from pools.poolers import KINDS, settings_schema
from pools.poolers.settings_schema import SWITCHED, Setting, Type

SENTENCE = re.compile(r"(PgBouncer|Pgpool-II|HAProxy|The kernel|It) (also |never )?(may|has|is|does|[a-z]+s) [^{}]*\.")
UNITS = {"seconds": "seconds", "s": "seconds", "ms": "milliseconds", "min": "minutes", "kB": "kilobytes"}
IN_THE_MANUALS_SPELLING = {
    "reserve_pool": {"reserve_pool", "reserve_pool_size"},  # renamed with 1.24
    "pool_hba": {"pool_hba.conf"},
    "servers": {"server"},
    "shutdown_sessions": {"on-marked-down shutdown-sessions"},
    "timeout_connect": {"timeout connect"},
    "timeout_client": {"timeout client"},
    "timeout_server": {"timeout server"},
}
RELEASES = {"pgbouncer": (1, 24), "pgpool": (4, 6), "haproxy": (2, 6)}
LINKS = {
    "pgbouncer": r"https://www\.pgbouncer\.org/config\.html#[a-z0-9_-]+",
    "pgpool": r"https://www\.pgpool\.net/docs/46/en/html/[a-z-]+\.html(#GUC-[A-Z0-9-]+)?",
    "haproxy": r"https://docs\.haproxy\.org/2\.6/configuration\.html#[45]\.2-[a-z0-9%-]+",
}
SETTINGS = [
    pytest.param(kind, setting, id=f"{kind}-{setting.scope}-{setting.name}-{'.'.join(map(str, setting.since))}")
    for kind, driver in KINDS.items()
    for setting in driver.catalog
]


@pytest.mark.parametrize(("kind", "setting"), SETTINGS)
def test_its_help_is_whole_sentences_with_its_unit_and_default(kind: str, setting: Setting) -> None:
    help = str(setting.help)
    incomplete = [one for one in re.split(r"(?<=[a-z0-9)*]\.) (?=[A-Z])", help) if not SENTENCE.fullmatch(one)]
    assert incomplete == []
    default = SWITCHED[setting.default] if setting.type == Type.BOOLEAN else setting.default
    stated = "the default is the word default" if default == "default" else f"(default {default})"
    assert not default or stated in help
    assert UNITS.get(setting.unit, setting.unit) in help


@pytest.mark.parametrize(("kind", "setting"), SETTINGS)
def test_its_label_is_the_name_in_the_manual(kind: str, setting: Setting) -> None:
    assert setting.label in IN_THE_MANUALS_SPELLING.get(setting.name, {setting.name})


@pytest.mark.parametrize(("kind", "setting"), SETTINGS)
def test_its_link_leads_to_the_manual_of_the_release(kind: str, setting: Setting) -> None:
    url = settings_schema.manual_url(KINDS[kind].manual, setting, RELEASES[kind])
    if setting.name == "suspend_timeout":  # gone from the only manual on the web
        assert url == "https://github.com/pgbouncer/pgbouncer/blob/pgbouncer_1_25_0/doc/config.md#suspend_timeout"
    else:
        assert re.fullmatch(LINKS[kind], url)


def test_a_setting_that_no_manual_has_gets_no_link() -> None:
    stray = Setting("unknown", settings_schema.Scope.PROGRAM, Type.TEXT, "", "It is unknown.", "")
    assert settings_schema.manual_url(KINDS["pgbouncer"].manual, stray, (1, 24)) == ""
