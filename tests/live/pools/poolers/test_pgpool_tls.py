"""TLS of a Pgpool-II with a certificate that was given in the panel."""

from pathlib import Path

import psycopg
import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from pools import deployment
from pools.models import Cluster, Pool, Pooler, PoolerFile, PoolState, RevisionState
from tests.certificates import self_signed
from tests.live.conftest import CHILDREN

pytestmark = pytest.mark.django_db(transaction=True)


def test_clients_may_insist_on_the_certificate_that_was_given(
    cluster: Cluster, pgpool_pooler: Pooler, own_pgpool: PgpoolServer, tmp_path: Path
) -> None:
    key, certificate = self_signed("localhost")
    for setting, content in (("ssl_key", key), ("ssl_cert", certificate)):
        given = PoolerFile(pooler=pgpool_pooler, setting=setting)
        given.content = content
        given.save(force_insert=True)
    values = {"name": "app", "database": "app", "user": "app", "mode": "session", "size": CHILDREN}
    Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)
    Pooler.objects.filter(pk=pgpool_pooler.pk).update(settings={"ssl": "1"}, settings_state=PoolState.PENDING)
    pgpool_pooler.refresh_from_db()

    revision = deployment.apply_pooler(pgpool_pooler)

    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    pgpool_pooler.refresh_from_db()
    assert {one["name"] for one in pgpool_pooler.needs_restart} == {"ssl", "ssl_key", "ssl_cert"}
    own_pgpool.stop()
    own_pgpool.start()
    (tmp_path / "ca.pem").write_text(certificate)
    address = {"host": "localhost", "hostaddr": own_pgpool.host, "port": own_pgpool.port}
    login = {"dbname": "app", "user": "app", "password": "app-password"}
    strict = {"sslmode": "verify-full", "sslrootcert": str(tmp_path / "ca.pem"), "connect_timeout": 5}
    with psycopg.connect(**address, **login, **strict, autocommit=True) as session:
        assert session.execute(b"SELECT current_user").fetchone() == ("app",)
        assert session.pgconn.ssl_in_use
