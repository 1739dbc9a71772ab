"""Rows of a console keep their form, and lose the secrets of the operator's settings."""

import pytest

from pools.poolers import KINDS, settings_schema, shown_secrets
from pools.poolers.settings_schema import Scope
from pools.poolers.shown_secrets import MASK


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("health_check_password", "pw", MASK),
        ("wd_authkey", "k", MASK),
        ("recovery_password", "", ""),
        (
            "auth_ldap_options",
            'ldapurl="ldap://h" ldapbindpasswd="a b" x=1',
            f'ldapurl="ldap://h" ldapbindpasswd={MASK} x=1',
        ),
        ("conninfo", "host=h password=pw port=1", f"host=h password={MASK} port=1"),
        ("auth_query", "SELECT usename, passwd FROM pg_shadow WHERE usename=$1", None),
        ("pool_passwd", "pool_passwd", MASK),
        ("max_client_conn", "100", None),
    ],
)
def test_a_setting_is_shown_without_its_secret(name: str, value: str, shown: str | None) -> None:
    row = {"key": name, "value": value, "changeable": "yes", "number": 1}
    expected = value if shown is None else shown
    assert shown_secrets.mask_rows([row]) == [row | {"value": expected}]
    assert shown_secrets.mask_values({name: value}) == {name: expected}


def test_rows_of_other_commands_stay() -> None:
    rows = [{"name": "secret_pool", "database": "passwords", "size": 1, "user": None}]
    assert shown_secrets.mask_rows(rows) == rows


def test_a_bind_password_belongs_into_a_given_file() -> None:
    catalog = KINDS["pgbouncer"].catalog
    for text, refused in (('ldapurl="ldap://h"', False), ("ldapbasedn=x LdapBindPasswd=pw", True)):
        found = dict(settings_schema.problems(catalog, Scope.PROGRAM, {"auth_ldap_options": text}, (1, 25)))
        assert ("auth_ldap_options" in found) is refused
