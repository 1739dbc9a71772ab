"""Logins that fail on real servers, each told apart from the others."""

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from pytest_django import Settings

from core.lib.private_text import for_admins
from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port
from pools.clusters import ca_files
from pools.clusters import connect as login_advice
from pools.clusters.endpoints import Endpoint
from pools.clusters.login_errors import Cause
from pools.errors import ClusterUnreachable
from pools.models import Cluster
from tests.certificates import self_signed
from tests.live.pools.clusters.logins.conftest import PASSWORD


def failure(endpoint: Endpoint, connect_timeout: int = 5) -> tuple[str, str]:
    """Cause and message of a login that has to fail; the password stands in neither."""
    with pytest.raises(ClusterUnreachable) as refused:
        login_advice.connect_endpoint(endpoint, connect_timeout=connect_timeout).close()
    message = for_admins(str(refused.value))
    assert not endpoint.password or endpoint.password not in message
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__
    return refused.value.cause, message


def test_logs_in_with_an_odd_password_and_names_itself(app: Endpoint) -> None:
    with login_advice.connect_endpoint(app) as connection:
        assert connection.autocommit
        assert connection.execute("SELECT current_user, current_setting('application_name')").fetchone() == (
            "app",
            "pooldeck",
        )


def test_the_environment_of_the_panel_changes_nothing(app: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGHOST": "elsewhere.invalid", "PGPASSWORD": PASSWORD, "PGSSLMODE": "disable"}.items():
        monkeypatch.setenv(name, value)
    with login_advice.connect_endpoint(app) as connection:
        assert connection.pgconn.ssl_in_use


def test_wrong_password(app: Endpoint) -> None:
    assert failure(replace(app, password="not-it")) == (
        Cause.PASSWORD,
        f"the password of user 'app' was refused at {app.address}: correct the user or the password "
        "(PostgreSQL does not report which of them is wrong)",
    )


def test_no_password_goes_in_clear_to_whoever_answers(app: Endpoint, settings: Settings) -> None:
    legacy = replace(app, user="legacy")
    asked = (
        f"{app.address} asks for the password of 'legacy' in clear text, and its identity is not verified: let its "
        "pg_hba.conf ask for scram-sha-256, choose sslmode verify-full, or set POOLDECK_CLEARTEXT_PASSWORDS"
    )
    for sslmode in ("disable", "prefer", "require"):
        assert failure(replace(legacy, sslmode=sslmode)) == (Cause.CLEARTEXT, asked)
    settings.CLEARTEXT_PASSWORDS = True
    login_advice.connect_endpoint(legacy).close()


def test_no_password(app: Endpoint) -> None:
    assert failure(replace(app, password=None)) == (
        Cause.NO_PASSWORD,
        f"{app.address} asks user 'app' for a password and none is stored: enter it",
    )


def test_no_such_role(app: Endpoint) -> None:
    assert failure(replace(app, user="ghost")) == (
        Cause.NO_ROLE,
        f"there is no role 'ghost' at {app.address}: create it or correct the user",
    )


def test_a_role_that_may_not_log_in(app: Endpoint) -> None:
    assert failure(replace(app, user="frozen", password="x")) == (
        Cause.NO_LOGIN,
        f"role 'frozen' at {app.address} may not log in: give it LOGIN (ALTER ROLE … LOGIN) or choose another",
    )


def test_no_such_database(app: Endpoint) -> None:
    assert failure(replace(app, database="host=evil")) == (
        Cause.NO_DATABASE,
        f"there is no database 'host=evil' at {app.address}: create it or correct the name",
    )


def test_no_privilege_on_the_database(app: Endpoint) -> None:
    assert failure(replace(app, database="closed")) == (
        Cause.NO_PRIVILEGE,
        f"user 'app' may not connect to database 'closed' at {app.address}: GRANT CONNECT to it or choose another",
    )


def test_a_database_that_takes_no_connections(app: Endpoint) -> None:
    assert failure(replace(app, database="asleep")) == (
        Cause.NO_PRIVILEGE,
        f"database 'asleep' at {app.address} takes no connections (ALLOW_CONNECTIONS false): choose another",
    )


def test_no_entry_in_pg_hba(app: Endpoint) -> None:
    cause, message = failure(replace(app, user="stranger", sslmode="disable"))
    assert cause == Cause.HBA
    assert message == (
        f'pg_hba.conf at {app.address} has no entry for host "127.0.0.1", user "stranger", database "postgres", '
        "no encryption: add one and reload, or change the sslmode (disable now)"
    )


def test_rejected_by_pg_hba(app: Endpoint) -> None:
    cause, message = failure(replace(app, user="rejected"))
    assert cause == Cause.HBA
    assert message.startswith(f'pg_hba.conf at {app.address} rejects host "127.0.0.1", user "rejected"')


def test_an_authentication_that_asks_for_no_password(app: Endpoint) -> None:
    cause, message = failure(replace(app, user="peered"))
    assert cause == Cause.HBA
    assert message.startswith(f"Ident authentication of user 'peered' failed at {app.address}")


def test_too_many_connections(app: Endpoint, strict_postgres: PostgresServer) -> None:
    with ExitStack() as opened:
        with pytest.raises(ClusterUnreachable) as refused:  # noqa: PT012 (the last of several is the one refused)
            for _ in range(11):
                opened.enter_context(login_advice.connect_endpoint(app))
        assert refused.value.cause == Cause.FULL
        assert str(refused.value) == (
            f"{app.address} has too many connections already: close some, raise max_connections, or make pools smaller"
        )


def test_too_many_connections_of_a_role(app: Endpoint, strict_postgres: PostgresServer) -> None:
    with strict_postgres.connect() as session:
        session.execute("ALTER ROLE app CONNECTION LIMIT 0")
        try:
            assert failure(app) == (
                Cause.TOO_MANY,
                f'{app.address} has too many connections for role "app": '
                "raise its CONNECTION LIMIT or close some connections",
            )
        finally:
            session.execute("ALTER ROLE app CONNECTION LIMIT -1")


def test_nothing_listens() -> None:
    port = free_port()
    assert failure(Endpoint("127.0.0.1", port, "postgres", "app", PASSWORD)) == (
        Cause.REFUSED,
        f"connection refused: nothing listens at 127.0.0.1:{port}: start the server, or correct the host or the port",
    )


def test_no_such_socket(tmp_path: Path) -> None:
    assert failure(Endpoint(str(tmp_path), 5432, "postgres", "app", PASSWORD)) == (
        Cause.NO_SOCKET,
        f"there is no socket {tmp_path}/.s.PGSQL.5432: start the server, or correct the directory or the port",
    )


def test_no_such_host_name() -> None:
    assert failure(Endpoint("db.invalid", 5432, "postgres", "app", PASSWORD)) == (
        Cause.DNS,
        "the host name 'db.invalid' was not found (DNS): correct it, or use the address",
    )


@contextmanager
def listener(answer: bytes | None) -> Iterator[int]:
    """A port where each connection gets these bytes and is closed; with None it never gets anything."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        if answer is not None:
            threading.Thread(target=_answer_all, args=(listening, answer), daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def _answer_all(listening: socket.socket, answer: bytes) -> None:
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        with client:
            client.recv(1024)
            client.sendall(answer)


def test_no_answer_within_five_seconds() -> None:
    started = time.monotonic()
    with listener(None) as port:
        assert failure(Endpoint("127.0.0.1", port, "postgres", "app", PASSWORD)) == (
            Cause.TIMEOUT,
            f"no answer from 127.0.0.1:{port} within 5 s: check the address, the firewall and that the server "
            "is running",
        )
    assert 5 <= time.monotonic() - started < 15


@pytest.mark.parametrize("sslmode", ["disable", "prefer", "require"])
def test_something_else_listens(sslmode: str) -> None:
    with listener(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        assert failure(Endpoint("127.0.0.1", port, "postgres", "app", PASSWORD, sslmode)) == (
            Cause.NOT_POSTGRESQL,
            f"what listens at 127.0.0.1:{port} does not speak PostgreSQL's protocol: correct the host or the port",
        )


def test_the_connection_is_closed_at_once() -> None:
    with listener(b"") as port:
        cause, message = failure(Endpoint("127.0.0.1", port, "postgres", "app", PASSWORD, "disable"))
    assert cause == Cause.CLOSED
    assert message.startswith(f"127.0.0.1:{port} closed the connection before the login was complete")


def test_a_handshake_that_breaks_off() -> None:
    with listener(b"S") as port:
        cause, message = failure(Endpoint("127.0.0.1", port, "postgres", "app", PASSWORD, "require"))
    assert cause == Cause.TLS
    assert message.startswith(f"TLS with 127.0.0.1:{port} failed (")


def test_tls_is_not_offered(postgres: PostgresServer) -> None:
    endpoint = Endpoint(postgres.host, postgres.port, "app", "app", "app-password", "require")
    assert failure(endpoint) == (
        Cause.TLS_NOT_OFFERED,
        f"{endpoint.address} does not offer TLS and sslmode require needs it: "
        "turn ssl on there, or choose prefer or disable",
    )


def test_a_certificate_of_another_authority(app: Endpoint) -> None:
    _, other = self_signed("localhost")
    assert failure(replace(app, sslmode="verify-ca", sslrootcert=ca_files.path_of(other))) == (
        Cause.CERTIFICATE,
        f"the certificate of {app.address} is not signed by the given certificate authority: "
        "paste the authority that signed it, or choose sslmode require",
    )


def test_a_certificate_for_another_name(app: Endpoint, strict_postgres: PostgresServer) -> None:
    authority = ca_files.path_of((strict_postgres.home / "server.crt").read_text())
    assert failure(replace(app, sslmode="verify-full", sslrootcert=authority)) == (
        Cause.CERTIFICATE,
        f"the certificate of {app.address} is for 'localhost', not for '127.0.0.1': "
        "use that name as the host, or choose verify-ca",
    )


@pytest.mark.parametrize(("host", "sslmode"), [("127.0.0.1", "verify-ca"), ("localhost", "verify-full")])
def test_the_given_authority_is_verified(
    app: Endpoint, strict_postgres: PostgresServer, host: str, sslmode: str
) -> None:
    authority = ca_files.path_of((strict_postgres.home / "server.crt").read_text())
    with login_advice.connect_endpoint(replace(app, host=host, sslmode=sslmode, sslrootcert=authority)) as connection:
        assert connection.pgconn.ssl_in_use


def test_an_authority_that_is_not_there(app: Endpoint, tmp_path: Path) -> None:
    cause, message = failure(replace(app, sslmode="verify-ca", sslrootcert=str(tmp_path / "none.pem")))
    assert cause == Cause.CA
    assert message == (
        f"sslmode verify-ca needs the certificate authority of {app.address}: paste its PEM text, or choose require"
    )


def test_an_authority_that_is_no_certificate(app: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("no certificate")
    assert failure(replace(app, sslmode="verify-ca", sslrootcert=str(tmp_path / "bad.pem"))) == (
        Cause.CA,
        f"the certificate authority given for {app.address} can't be read: paste its PEM text again",
    )


def test_tls_is_asked_by_pg_hba(app: Endpoint) -> None:
    cause, message = failure(replace(app, user="encrypted", sslmode="disable"))
    assert cause == Cause.HBA
    assert message.endswith("no encryption: add one and reload, or change the sslmode (disable now)")


def test_a_server_that_shuts_down(app: Endpoint, strict_postgres: PostgresServer) -> None:
    try:
        with login_advice.connect_endpoint(app):  # keeps a smart shutdown waiting
            strict_postgres.kill(signal.SIGTERM)
            assert first_failure(app, Cause.NOT_READY) == (
                f"the server at {app.address} is shutting down: try again in a moment"
            )
    finally:
        strict_postgres.stop()
        strict_postgres.start()


def first_failure(endpoint: Endpoint, wanted: Cause, within_s: float = 10) -> str:
    """The message of the first login that fails for this cause."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            login_advice.connect_endpoint(endpoint).close()
        except ClusterUnreachable as error:
            if error.cause == wanted:
                return for_admins(str(error))
    raise AssertionError(f"no login failed for {wanted} within {within_s} s")


def test_a_pool_that_its_pooler_does_not_know(pgbouncer: PgBouncerServer) -> None:
    endpoint = Endpoint(pgbouncer.host, pgbouncer.port, "nope", pgbouncer.admin_user, pgbouncer.admin_password)
    assert failure(endpoint) == (
        Cause.NO_DATABASE,
        f"there is no database 'nope' at {endpoint.address}: create it or correct the name",
    )


def test_another_role_of_the_cluster_logs_in_with_its_known_password(cluster: Cluster) -> None:
    with login_advice.connect(cluster, database="app", user="app") as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("app",)


def test_a_password_that_no_key_opens_is_told(cluster: Cluster) -> None:
    cluster.host = "127.0.0.2"  # its password was sealed for another address
    told = "the stored password of 'postgres' can't be decrypted with the present keys: enter it again"
    with pytest.raises(ClusterUnreachable, match=told):
        login_advice.connect(cluster)


def test_a_broken_connection_is_an_error_of_psycopg(app: Endpoint, strict_postgres: PostgresServer) -> None:
    with login_advice.connect_endpoint(app) as connection, strict_postgres.connect() as session:
        session.execute("SELECT pg_terminate_backend(%s)", [connection.info.backend_pid])
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
