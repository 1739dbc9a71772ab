"""Encryption on both sides of a real PgBouncer, with certificates given to the panel."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from core.lib.private_text import for_admins
from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port
from pools import deployment
from pools.models import Cluster, Pooler, PoolState, RevisionState
from pools.poolers.pgbouncer import verify
from tests.certificates import self_signed
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, FAST, SUPERUSER_PASSWORD
from tests.live.pools.conftest import MakePool
from tests.live.pools.poolers.pgbouncer.conftest import Config

pytestmark = pytest.mark.django_db(transaction=True)

Spec = Callable[..., Pooler]
Give = Callable[..., None]


@pytest.fixture
def give(pooler: Pooler) -> Give:
    """Gives files to the pooler, by the setting that leads to each."""

    def files(**contents: str) -> None:
        for setting, content in contents.items():
            given = pooler.given_files.filter(setting=setting).first() or pooler.given_files.model(
                pooler=pooler, setting=setting
            )
            given.content = content
            given.save()

    return files


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PostgresServer, str]]:
    """A PostgreSQL that takes TLS connections only, and its certificate."""
    home = tmp_path_factory.mktemp("encrypted")
    key, certificate = self_signed("localhost")
    server = PostgresServer(home, free_port(), password=SUPERUSER_PASSWORD, settings=FAST)
    server.prepare()
    account.write_private(server.cluster_folder / "server.key", key)
    account.write_private(server.cluster_folder / "server.crt", certificate)
    account.write_private(server.cluster_folder / "pg_hba.conf", "hostssl all all all scram-sha-256\n")
    server.settings = FAST | {"ssl": "on"}
    with server:
        server.create_owner_and_database(APP_ROLE, APP_PASSWORD, APP_DATABASE)
        yield server, certificate


@pytest.fixture
def encrypted_cluster(cluster: Cluster, encrypted: tuple[PostgresServer, str]) -> Cluster:
    """`cluster` moved to the encrypted server."""
    server, certificate = encrypted
    password = cluster.admin_password
    cluster.host, cluster.port, cluster.sslmode, cluster.sslrootcert = (
        server.host,
        server.port,
        "verify-ca",
        certificate,
    )
    cluster.admin_password = password
    cluster.save()
    return cluster


def outcome(pooler: Pooler) -> tuple[str, str]:
    pooler.refresh_from_db()
    return pooler.settings_state, for_admins(pooler.settings_reason)


def test_clients_may_insist_on_the_certificate_that_was_given(
    pooler: Pooler, spec: Spec, give: Give, make_pool: MakePool, config: Config, tmp_path: Path
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    key, certificate = self_signed("localhost")
    give(client_tls_key_file=key, client_tls_cert_file=certificate)
    spec(settings={"client_tls_sslmode": "require"})
    deployment.apply_pooler(pooler)
    assert outcome(pooler) == (PoolState.APPLIED, "")
    authority = tmp_path / "ca.pem"
    authority.write_text(certificate)
    address = {"hostaddr": pooler.host, "host": "localhost", "port": pooler.port, "dbname": "orders"}
    login = {"user": "app", "password": "app-password", "sslmode": "verify-full", "sslrootcert": str(authority)}
    with psycopg.connect(**address, **login) as session:
        assert session.execute("SELECT current_user").fetchone() == ("app",)
    with pytest.raises(psycopg.OperationalError, match="SSL required"):
        psycopg.connect(**address, **(login | {"sslmode": "disable"}))


def test_a_renewed_certificate_is_shown_after_its_apply(pooler: Pooler, spec: Spec, give: Give, tmp_path: Path) -> None:
    for turn in range(2):
        key, certificate = self_signed("localhost")
        give(client_tls_key_file=key, client_tls_cert_file=certificate)
        spec(settings={"client_tls_sslmode": "require"})
        deployment.apply_pooler(pooler)
        assert outcome(pooler) == (PoolState.APPLIED, "")
        authority = tmp_path / f"{turn}.pem"
        authority.write_text(certificate)
        address = {"hostaddr": pooler.host, "host": "localhost", "port": pooler.port, "dbname": "pgbouncer"}
        login = {"user": pooler.admin_user, "password": pooler.admin_password, "sslmode": "verify-full"}
        psycopg.connect(**address, **login, sslrootcert=str(authority)).close()


def test_a_key_of_another_certificate_is_found_before_anything_is_written(
    pooler: Pooler, spec: Spec, give: Give, config: Config
) -> None:
    give(client_tls_key_file=self_signed("localhost")[0], client_tls_cert_file=self_signed("localhost")[1])
    spec(settings={"client_tls_sslmode": "require"})
    deployment.apply_pooler(pooler)
    state, reason = outcome(pooler)
    assert state == PoolState.ROLLED_BACK
    assert reason.startswith("PgBouncer would not start on these files")
    assert config()["client_tls_sslmode"] == "disable"
    assert not [path for path in Path(pooler.config_dir).iterdir() if "preflight" in path.name]


def test_servers_certificates_are_verified(
    pooler: Pooler, spec: Spec, give: Give, make_pool: MakePool, encrypted_cluster: Cluster, pgbouncer: PgBouncerServer
) -> None:
    give(server_tls_ca_file=encrypted_cluster.sslrootcert)
    spec(settings={"server_tls_sslmode": "verify-ca"})
    pool = make_pool()
    revision = deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason, revision.state) == (PoolState.APPLIED, "", RevisionState.APPLIED)
    address = {"host": pooler.host, "port": pooler.port, "dbname": "orders", "user": "app", "password": "app-password"}
    with psycopg.connect(**address) as session:
        assert session.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone() == (True,)


def log_in_through(pooler: Pooler) -> None:
    address = {"host": pooler.host, "port": pooler.port, "dbname": "orders", "user": "app", "password": "app-password"}
    psycopg.connect(**address).close()


def files_of(pooler: Pooler) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(pooler.config_dir).iterdir()}


def test_settings_that_would_shut_a_live_pool_out_are_refused_at_once_and_nothing_is_written(
    pooler: Pooler, spec: Spec, give: Give, make_pool: MakePool, encrypted_cluster: Cluster
) -> None:
    spec(settings={"server_tls_sslmode": "require"})
    pool = make_pool()
    deployment.apply_pooler(pooler)
    before = files_of(pooler)
    give(server_tls_ca_file=self_signed("elsewhere")[1])
    spec(settings={"server_tls_sslmode": "verify-ca"})
    started = time.monotonic()
    deployment.apply_pooler(pooler)
    assert time.monotonic() - started < 15  # a rollback would take 20 and more
    state, reason = outcome(pooler)
    assert (state, files_of(pooler)) == (PoolState.ROLLED_BACK, before)
    assert reason.startswith("nothing was written: with server_tls_sslmode=verify-ca live refuses every pool: the cert")
    assert "paste the authority that signed it" in reason
    assert "certificate verify failed)" in reason
    pool.refresh_from_db()
    assert pool.state == PoolState.APPLIED
    log_in_through(pooler)


def test_settings_that_only_pgbouncer_itself_can_try_are_rolled_back(
    pooler: Pooler, spec: Spec, make_pool: MakePool, encrypted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = {"server_login_retry": 1}  # else 15 s pass before PgBouncer tries the server that refused it again
    monkeypatch.setattr(verify, "LOGIN_TIMEOUT_S", 4)  # has to outlast that
    spec(settings={"server_tls_sslmode": "require"} | soon)
    pool = make_pool()
    deployment.apply_pooler(pooler)
    spec(settings={"server_tls_sslmode": "require", "server_tls_protocols": "tlsv1.1"} | soon)
    deployment.apply_pooler(pooler)
    state, reason = outcome(pooler)
    assert (state, reason.startswith("with the new settings: a login through pool orders")) == ("rolled_back", True)
    pool.refresh_from_db()
    assert pool.state == PoolState.APPLIED
    log_in_through(pooler)


def test_a_mode_that_the_server_refuses_is_told_in_its_words(
    pooler: Pooler, spec: Spec, make_pool: MakePool, encrypted_cluster: Cluster
) -> None:
    spec(settings={"server_tls_sslmode": "prefer"})
    make_pool()
    deployment.apply_pooler(pooler)
    before = files_of(pooler)
    spec(settings={"server_tls_sslmode": "disable"})
    deployment.apply_pooler(pooler)
    state, reason = outcome(pooler)
    assert (state, files_of(pooler)) == (PoolState.ROLLED_BACK, before)
    assert "no pg_hba.conf entry for host" in reason
    log_in_through(pooler)


def test_a_server_without_encryption_is_not_asked_to_have_it(
    pooler: Pooler, spec: Spec, make_pool: MakePool, config: Config
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    spec(settings={"server_tls_sslmode": "require"})
    deployment.apply_pooler(pooler)
    state, reason = outcome(pooler)
    assert (state, "does not offer TLS and sslmode require needs it" in reason) == (PoolState.ROLLED_BACK, True), reason
    spec(settings={"server_tls_sslmode": "prefer"})
    deployment.apply_pooler(pooler)
    assert (outcome(pooler), config()["server_tls_sslmode"]) == ((PoolState.APPLIED, ""), "prefer")


def test_a_pool_whose_server_insists_on_more_than_the_pooler_offers_is_refused_before_anything_is_written(
    pooler: Pooler, spec: Spec, make_pool: MakePool, encrypted_cluster: Cluster
) -> None:
    spec(settings={"server_tls_sslmode": "disable"})
    deployment.apply_pooler(pooler)
    before, pool = files_of(pooler), make_pool()
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, files_of(pooler)) == (PoolState.ROLLED_BACK, before)
    refused = "pool orders was not tried: with server_tls_sslmode=disable live refuses every pool"
    assert pool.state_reason.startswith(refused)


def test_settings_and_a_pool_at_once_are_blamed_apart(
    pooler: Pooler, spec: Spec, give: Give, make_pool: MakePool, encrypted_cluster: Cluster
) -> None:
    spec(settings={"server_tls_sslmode": "require"})
    deployment.apply_pooler(pooler)
    give(server_tls_ca_file=self_signed("elsewhere")[1])
    spec(settings={"server_tls_sslmode": "verify-ca"})
    pool = make_pool()
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (outcome(pooler)[0], pool.state) == (PoolState.ROLLED_BACK, PoolState.APPLIED)
    log_in_through(pooler)


@pytest.fixture
def asking(encrypted: tuple[PostgresServer, str]) -> Iterator[tuple[str, str]]:
    """Has the encrypted server ask clients for a certificate; the key and the certificate of `app` that it takes."""
    server, _ = encrypted
    key, certificate = self_signed("app")
    account.write_private(server.cluster_folder / "clients.crt", certificate)
    hba = server.cluster_folder / "pg_hba.conf"
    rules = hba.read_text()
    asking = "hostssl app app all scram-sha-256 clientcert=verify-full\n"
    account.write_private(hba, asking + rules)
    with server.connect() as session:
        session.execute(f"ALTER SYSTEM SET ssl_ca_file = '{server.cluster_folder}/clients.crt'")
        session.execute("SELECT pg_reload_conf()")
    yield key, certificate
    account.write_private(hba, rules)
    with server.connect() as session:
        session.execute("ALTER SYSTEM RESET ssl_ca_file")
        session.execute("SELECT pg_reload_conf()")


def test_the_poolers_own_certificate_is_tried_with_its_key(
    pooler: Pooler,
    spec: Spec,
    give: Give,
    make_pool: MakePool,
    encrypted_cluster: Cluster,
    asking: tuple[str, str],
) -> None:
    key, certificate = asking
    give(server_tls_key_file=key, server_tls_cert_file=certificate)
    spec(settings={"server_tls_sslmode": "require"})
    deployment.apply_pooler(pooler)
    assert outcome(pooler) == (PoolState.APPLIED, "")
    pool = make_pool()
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    strange_key, strange = self_signed("app")
    before = files_of(pooler)
    give(server_tls_key_file=strange_key, server_tls_cert_file=strange)
    spec()
    deployment.apply_pooler(pooler)
    assert (outcome(pooler)[0], files_of(pooler)) == (PoolState.ROLLED_BACK, before)


def test_a_cluster_that_asks_for_more_than_its_pooler_does_is_named(
    pooler: Pooler, spec: Spec, make_pool: MakePool, encrypted_cluster: Cluster
) -> None:
    spec(settings={"server_tls_sslmode": "require"})
    make_pool()
    revision = deployment.apply_pooler(pooler)
    assert revision.state == RevisionState.APPLIED
    reported = [step["detail"] for step in revision.steps if step["step"] == "noted"]
    assert reported == [
        "live asks for sslmode verify-ca, but the pooler's server_tls_sslmode, one for all clusters, is require"
    ]
