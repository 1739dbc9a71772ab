"""What is made of texts that are hard to bring about with the servers at hand (the others: tests/live)."""

from dataclasses import replace

import pytest

from core.lib.private_text import for_admins, for_others
from pools.clusters.endpoints import Endpoint
from pools.clusters.login_errors import Cause, explain, program_line, readable

APP = Endpoint("db.example", 5432, "shop", "app", "s3cret", "require")


@pytest.mark.parametrize(
    ("text", "cause", "message"),
    [
        (
            'connection failed: connection to server at "10.0.0.1", port 5432 failed: FATAL:  remaining connection '
            "slots are reserved for roles with the SUPERUSER attribute",
            Cause.FULL,
            "db.example:5432 has too many connections already: "
            "close some, raise max_connections, or make pools smaller",
        ),
        (
            "connection is bad: connection to server at 10.0.0.1 failed: No route to host\n\tIs the server running?",
            Cause.NO_ROUTE,
            "there is no route to db.example:5432: check the address and the network",
        ),
        (
            'FATAL:  password authentication failed for user "app"\nMultiple connection attempts failed. All failures '
            "were:\n- host: 'db.example': connection timeout expired\n- host: 'db.example': FATAL: password "
            "authentication failed",
            Cause.PASSWORD,
            "the password of user 'app' was refused at db.example:5432: correct the user or the password "
            "(PostgreSQL does not report which of them is wrong)",
        ),
        (
            "connection failed: FATAL:  the database system is starting up",
            Cause.NOT_READY,
            "the server at db.example:5432 is starting up: try again in a moment",
        ),
        (
            "connection failed: FATAL:  no more connections allowed (max_client_conn)",
            Cause.FULL,
            "db.example:5432 has too many connections already: "
            "close some, raise max_connections, or make pools smaller",
        ),
        (
            "connection failed: FATAL:  server login has been failing, cached error: password authentication failed "
            'for user "app" (server_login_retry)',
            Cause.BEHIND_THE_POOLER,
            "the pooler at db.example:5432 can't log in to the server behind 'shop': check its cluster, "
            "and the user and password of the pool",
        ),
        (
            "encoding with 'idna' codec failed (UnicodeError: label empty or too long)",
            Cause.DNS,
            "the host name 'db.example' was not found (DNS): correct it, or use the address",
        ),
        (
            "connection failed: SSL error: tlsv1 alert unknown ca",
            Cause.TLS,
            "TLS with db.example:5432 failed (tlsv1 alert unknown ca): check its certificate, "
            "or choose another sslmode than require",
        ),
        (
            "connection failed: FATAL:  etwas\n  anderes mit s3cret",
            Cause.OTHER,
            "login to db.example:5432 failed for an unlisted reason (server message: connection failed: FATAL: etwas "
            "anderes mit ••••)",
        ),
    ],
)
def test_texts(text: str, cause: Cause, message: str) -> None:
    assert explain(text, APP, 5) == (cause, message)


def test_words_that_no_rule_knows_go_to_the_log_and_to_admins(caplog: pytest.LogCaptureFixture) -> None:
    cause, message = explain("connection failed: FATAL:  etwas\n  anderes mit s3cret", APP, 5)
    assert "etwas anderes mit ••••" in caplog.text
    assert "s3cret" not in caplog.text
    text = readable(cause, message, APP)
    assert for_others(text) == "the panel can't reach the server; an admin sees the reason"
    assert "etwas anderes mit ••••" in for_admins(text)


ADMINS = replace(APP, is_panels_login=True, unreachable="out of reach")
POOLS = replace(ADMINS, is_panels_login=False)


@pytest.mark.parametrize(
    ("cause", "by_admins_login", "by_pools_login"),
    [
        (Cause.REFUSED, "out of reach", "out of reach"),
        (Cause.TIMEOUT, "out of reach", "out of reach"),
        (Cause.NOT_POSTGRESQL, "out of reach", "out of reach"),
        (Cause.FORBIDDEN, "out of reach", "out of reach"),
        (Cause.PASSWORD, "out of reach", "why"),
        (Cause.HBA, "out of reach", "why"),
        (Cause.NO_DATABASE, "why", "why"),
        (Cause.FULL, "why", "why"),
        (Cause.TOO_MANY, "why", "why"),
        (Cause.NO_PRIVILEGE, "why", "why"),
    ],
)
def test_what_stands_at_an_address_is_told_to_admins_alone(
    cause: Cause, by_admins_login: str, by_pools_login: str
) -> None:
    texts = [readable(cause, "why", endpoint) for endpoint in (ADMINS, POOLS)]
    assert [for_others(text) for text in texts] == [by_admins_login, by_pools_login]
    assert [for_admins(text) for text in texts] == ["why", "why"]


LIBPQ = 'pgbench: error: connection to server at "10.0.0.5", port 5432 failed: '


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (LIBPQ + "Connection refused", LIBPQ + "out of reach"),
        (LIBPQ + "timeout expired", LIBPQ + "out of reach"),
        (LIBPQ + 'FATAL:  password authentication failed for user "x"', LIBPQ + "out of reach"),
        (LIBPQ + 'FATAL:  database "x" does not exist', None),
        (LIBPQ + "FATAL:  sorry, too many clients already", None),
        ("\tIs the server running on that host and accepting TCP/IP connections?", ""),
        ("progress: 1.0 s, 10.0 tps", None),
    ],
)
def test_a_load_program_tells_no_more(line: str, shown: str | None) -> None:
    assert for_others(program_line(line, ADMINS)) == (line if shown is None else shown)
    assert for_admins(program_line(line, ADMINS)).replace("'", '"') == line


def test_braces_in_names_are_left_alone() -> None:
    odd = Endpoint("db.example", 5432, "{host}", "{user}")
    assert explain('FATAL:  database "{host}" does not exist', odd, 5) == (
        Cause.NO_DATABASE,
        "there is no database '{host}' at db.example:5432: create it or correct the name",
    )
