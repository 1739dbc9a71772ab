"""Lists of names in HBA rules, written out as PgBouncer reads them."""

import pytest

from pools.poolers.pgbouncer import hba_lists
from pools.poolers.pgbouncer.hba_lists import Unread

LISTS = {
    "/etc/pgbouncer/ops": 'anna\n"b ""c""", dora # on call\n',
    "/etc/pgbouncer/all": "all",
    "/etc/pgbouncer/deep/er": "erik\n@below\n",
    "/etc/pgbouncer/deep/below": "frida\n",
    "/etc/pgbouncer/blank": "anna\n\nbert\n",
    "/etc/pgbouncer/comment": "# nobody\nanna\n",
    "/etc/pgbouncer/group": "anna\n+staff\n",
    "/etc/pgbouncer/open": "anna,\n",
    "/etc/pgbouncer/empty": "",
    "/etc/pgbouncer/self": "@self\n",
}


def read(path: str) -> str | None:
    return LISTS.get(path)


def written(rule: str) -> str:
    return hba_lists.written_out(rule, "/etc/pgbouncer/hba.conf", read)


@pytest.mark.parametrize(
    ("rule", "as_read"),
    [
        ("host all @ops ::/0 md5 # x", 'host all anna,"b ""c""",dora ::/0 md5 # x'),
        ("local  @ops,shop  @all peer", 'local anna,"b ""c""",dora,shop all peer'),
        ('host "@ops" "all" ::/0 md5', 'host "@ops" "all" ::/0 md5'),
        ("host all @/etc/pgbouncer/all ::/0 md5", "host all all ::/0 md5"),
        ("host all all ::/0 md5  ", "host all all ::/0 md5  "),
        ("nonsense @ops", "nonsense @ops"),
        ("", ""),
    ],
)
def test_names_stand_in_the_place_of_their_list(rule: str, as_read: str) -> None:
    assert written(rule) == as_read


@pytest.mark.parametrize("name", ["blank", "comment", "group", "open", "empty"])
def test_a_rule_that_pgbouncer_passes_over_is_none(name: str) -> None:
    assert written(f"host all @{name} ::/0 trust") == f"# passed over, as PgBouncer does: host all @{name} ::/0 trust"


@pytest.mark.parametrize("name", ["gone", "self"])
def test_a_list_that_can_not_be_read_is_named(name: str) -> None:
    with pytest.raises(Unread, match=f"names a list of names, /etc/pgbouncer/{name}, which can't be read from here"):
        written(f"host all @{name} ::/0 md5")


def test_a_list_in_a_list_is_relative_to_that() -> None:
    assert written("host all @deep/er ::/0 md5") == "host all erik,frida ::/0 md5"
