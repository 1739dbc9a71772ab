"""What is made of texts that are hard to bring about with the servers at hand (the others: tests/live)."""

import pytest

from pools.clusters.endpoints import Endpoint
from pools.clusters.login_errors import Cause, explain, plain
from pools.errors import ClusterUnreachable

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
            "login to db.example:5432 failed for an unlisted reason: the log has the server's message, and the panel "
            "shows it to an admin who saves the login",
        ),
    ],
)
def test_texts(text: str, cause: Cause, message: str) -> None:
    assert explain(text, APP, 5) == (cause, message)


def test_words_that_no_rule_knows_go_to_the_log_and_to_admins(caplog: pytest.LogCaptureFixture) -> None:
    reported = "connection failed: FATAL:  etwas\n  anderes mit s3cret"
    cause, message = explain(reported, APP, 5)
    assert "etwas anderes mit ••••" in caplog.text
    assert "s3cret" not in caplog.text
    error = ClusterUnreachable(message, cause, plain(reported, APP))
    assert "etwas" not in error.detail_for(to_admin=False)
    assert error.detail_for(to_admin=True).endswith(
        "(server message: connection failed: FATAL: etwas anderes mit ••••)"
    )


def test_braces_in_names_are_left_alone() -> None:
    odd = Endpoint("db.example", 5432, "{host}", "{user}")
    assert explain('FATAL:  database "{host}" does not exist', odd, 5) == (
        Cause.NO_DATABASE,
        "there is no database '{host}' at db.example:5432: create it or correct the name",
    )
