"""Names and values that poolers can carry, and those they would misread."""

import pytest

from pools.models import identifiers


@pytest.mark.parametrize("name", ["a", "orders.read-only_2", "x" * 63, "-", "PGBOUNCER2"])
def test_pool_names_that_pgbouncer_reads(name: str) -> None:
    assert identifiers.pool_name_problem(name) == ""


@pytest.mark.parametrize("name", ["", "my db", "a@b", "é", "x" * 64, 'a"b', "a'b", "a\n", "a=b", "*", "a;b"])
def test_pool_names_that_pgbouncer_misreads(name: str) -> None:
    assert identifiers.pool_name_problem(name) == (
        f"{name!r} can't name a pool: use 1 to 63 of the letters a-z A-Z, digits, and _ . -"
    )


@pytest.mark.parametrize("name", ["pgbouncer", "PgBouncer"])
def test_the_consoles_name_is_taken(name: str) -> None:
    assert identifiers.pool_name_problem(name) == f"{name!r} is the name of PgBouncer's own console: choose another"


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\0b"])
def test_identifiers_hold_no_line_breaks(name: str) -> None:
    assert identifiers.identifier_problem(name) == f"{name!r} contains a line break or a NUL: leave it out"


def test_identifiers_are_measured_in_bytes() -> None:
    assert identifiers.identifier_problem("ü" * 31) == ""
    assert (
        identifiers.identifier_problem("ü" * 32) == f"{'ü' * 32!r} is 64 bytes long: PostgreSQL's names have at most 63"
    )


@pytest.mark.parametrize("name", ["my db", 'odd"name', "it's", "host=evil", "日本"])
def test_identifiers_may_be_odd(name: str) -> None:
    assert identifiers.identifier_problem(name) == ""


@pytest.mark.parametrize("host", ["db.example", "10.0.0.1", "::1", "fe80::1%eth0", "/run/post gres", "localhost"])
def test_hosts(host: str) -> None:
    assert identifiers.host_problem(host) == ""


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        ("", "a host name, an address or a socket directory is needed"),
        ("a,b", "'a,b' names several hosts: register each as a cluster of its own"),
        (
            "postgresql://db",
            "'postgresql://db' is more than a host: "
            "give the host alone, the port and the user have fields of their own",
        ),
        ("[::1]", "'[::1]' has brackets, which only URLs need: write ::1"),
        ("[fe80::1%eth0]", "'[fe80::1%eth0]' has brackets, which only URLs need: write fe80::1%eth0"),
        ("[::1]:5432", "'[::1]:5432' has brackets, which only URLs need: write ::1"),
        ("a b", "'a b' contains a space: a host name or an address has none"),
        ("/run\n/x", "'/run\\n/x' contains a line break or a NUL: leave it out"),
    ],
)
def test_hosts_that_are_none(host: str, problem: str) -> None:
    assert identifiers.host_problem(host) == problem


@pytest.mark.parametrize("password", ["p@ss w/o:rd'\"%", "md5", "md5" + "g" * 32, "x" * 1024, "пароль"])
def test_passwords_that_poolers_carry(password: str) -> None:
    assert identifiers.password_problem(password) == ""


@pytest.mark.parametrize(
    "password", ["a\nb", "a\0b", "\ufeffab", "md5" + "0" * 32, "SCRAM-SHA-256$4096:abc$d:e", "y" * 1025]
)
def test_passwords_that_poolers_misread_are_not_repeated(password: str) -> None:
    problem = identifiers.password_problem(password)
    assert problem
    assert password not in problem


@pytest.mark.parametrize("name", ["shop", "two words", 'say "hi"', "é" * 31, "x" * 63, "%2F", ".."])
def test_new_names_may_hold_nearly_anything(name):
    assert identifiers.new_name_problem(name) == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [("", "needed"), ("a/b", "slash"), ("a\nb", "line break"), ("é" * 32, "64 bytes"), ("x" * 64, "64 bytes")],
)
def test_new_names_fit_an_address_and_63_bytes(name, words):
    assert words in identifiers.new_name_problem(name)
