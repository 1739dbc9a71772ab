"""HBA files are judged line by line, as src/hba.c of PgBouncer reads them."""

import pytest

from pools.poolers.pgbouncer import hba

OLD, NEW = (1, 18), (1, 25)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "   # a comment",
        "local all all peer",
        "host all all 0.0.0.0/0 scram-sha-256",
        'host shop, "odd ""name" app,reader 10.0.0.0 255.0.0.0 md5 # the office',
        "hostssl sameuser all ::1/128 cert",
        "hostnossl all all 127.0.0.1/32 reject",
    ],
)
def test_what_pgbouncer_reads_is_taken(line):
    assert list(hba.faults_by_line(line, OLD)) == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "hostall all all 10.0.0.0/8 md5",
            "'hostall' is not a connection type: enter one of local, host, hostssl, hostnossl",
        ),
        ("host all all 10.0.0.0/8", "it has 4 fields, and needs type, database, user, address and method"),
        ("local all all", "it has 3 fields, and needs type, database, user and method"),
        ("host all +staff 10.0.0.0/8 md5", "+staff: members of a role are not known to PgBouncer: write their names"),
        ("host @dbs all 10.0.0.0/8 md5", "@dbs: a file of names can't be checked from here: write the names"),
        ("host samerole all 10.0.0.0/8 md5", "samerole is not read by this PgBouncer: write the names"),
        (
            "host all all 10.0.0.1/8 md5",
            "10.0.0.1/8 reaches beyond its mask, so no client would match: write 10.0.0.0/8",
        ),
        ("host all all 10.0.0.0/33 md5", "10.0.0.0/33 is not an address with a mask: enter numbers such as 10.0.0.0/8"),
        ("host all all db.local md5", "'db.local' is not an address: enter numbers such as 10.0.0.0/8 or ::1/128"),
        ("host all all 10.0.0.0/8 ident", "'ident' is not a method of this PgBouncer"),
        ("host all all 10.0.0.0/8 md5 extra", "'extra' after md5 is not read: take it away"),
        ('host "all all 10.0.0.0/8 md5', "a quote is not closed: double quotes come in pairs"),
        ("host all all, 10.0.0.0/8 md5", "it has 4 fields, and needs type, database, user, address and method"),
        ("local all all peer,", "it ends with a comma: remove it, or write the name that follows it"),
    ],
)
def test_what_it_would_pass_over_is_refused_with_the_reason(line, why):
    ((number, message),) = hba.faults_by_line(f"# rules\n{line}", NEW)
    assert number == 2
    assert message.startswith(why)


@pytest.mark.parametrize(
    ("line", "since"),
    [
        ("host all all all scram-sha-256", (1, 23)),
        ("host replication all 10.0.0.0/8 md5", (1, 23)),
        ("local all all peer map=staff", (1, 23)),
        ('host all all 10.0.0.0/8 ldap ldapurl="ldap://x/dc=y"', (1, 25)),
    ],
)
def test_what_came_with_a_release_is_refused_before_it(line, since):
    assert list(hba.faults_by_line(line, (since[0], since[1] - 1)))
    assert not list(hba.faults_by_line(line, since))


def test_every_fault_is_named_with_its_line_and_a_file_without_rules_is_refused():
    assert hba.rules_fault("local all all peer\nnonsense\nhost x\n", OLD) == (
        "line 2: 'nonsense' is not a connection type: enter one of local, host, hostssl, hostnossl; "
        "line 3: it has 2 fields, and needs type, database, user, address and method"
    )
    assert "every client would be refused" in hba.rules_fault("# nothing\n\n", OLD)


def test_maps_have_three_words_a_line():
    assert hba.maps_fault("staff root postgres # the boss\n\n", NEW) == ""
    assert hba.maps_fault("staff root", NEW) == "line 1: 2 words where map, system name and user name stand"
    assert "regular expressions" in hba.maps_fault("staff /^(.*)$ app", NEW)
