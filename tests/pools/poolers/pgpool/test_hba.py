"""What may stand in the rules that are given to a Pgpool-II."""

import pytest

from pools.poolers.pgpool.hba import rules_fault

VERSION = (4, 3)


@pytest.mark.parametrize(
    "line",
    [
        "local all all trust",
        'host "my db" "app" 10.0.0.0/8 scram-sha-256',
        "hostssl sales,stock app 10.0.0.0 255.0.0.0 cert",
        "host all all ::1/128 md5  # the panel's own host",
        "hostnossl all all all reject",
        "host all app pool.example.com ldap ldapserver=ldap.example.com ldapprefix=cn=",
    ],
)
def test_sound_rules_are_taken(line: str) -> None:
    assert rules_fault(f"# a comment\n\n{line}\n", VERSION) == ""


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("hosts all all all trust", "'hosts' is not a connection type: enter one of local, host, hostssl, hostnossl"),
        ("host all all trust", "type, database, user, address (but for local) and method are needed"),
        ("host all all 10.0.0.0/8 scram", "'scram' is not a method: enter one of trust, reject, md5"),
        ("host all all 10.0.0.0 255.0.0.0", "'' is not a method"),
        ("host all +admins all md5", "groups (+, samegroup) and files of names (@) are not read"),
        ("host all all 10.0.0.1/8 md5", "10.0.0.1/8 is not an address with a mask"),
        ('host "all all all md5', "a quote is not closed"),
    ],
)
def test_what_would_not_be_read_is_told_with_its_line(line: str, fault: str) -> None:
    assert rules_fault(f"local all all md5\n{line}\n", VERSION).startswith(f"line 2: {fault}")


def test_a_file_without_rules_is_none() -> None:
    assert rules_fault("# nothing\n", VERSION).startswith("there is no rule in it")
