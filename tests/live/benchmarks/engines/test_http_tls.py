"""The products service at a server whose certificate is checked."""

from collections.abc import Iterator

import pytest

from benchmarks.models import Run, Status
from panel.quickstart import account
from panel.quickstart.servers import PostgresServer, free_port
from pools.models import Cluster
from tests.benchmarks.submitting import submit_one
from tests.certificates import self_signed
from tests.live.benchmarks.conftest import execute
from tests.live.conftest import FAST

pytestmark = pytest.mark.usefixtures("queue", "in_this_process")
HBA = "hostssl all all 127.0.0.1/32 scram-sha-256\n"


@pytest.fixture
def encrypted(transactional_db: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that takes encrypted logins only, registered with its certificate."""
    home = tmp_path_factory.mktemp("encrypted")
    account.make_folder(home)
    key, certificate = self_signed("localhost")
    for name, text in (("server.key", key), ("server.crt", certificate), ("hba.conf", HBA)):
        account.write_private(home / name, text)
    files = {"ssl_key_file": "server.key", "ssl_cert_file": "server.crt", "hba_file": "hba.conf"}
    settings = FAST | {"ssl": "on"} | {name: str(home / file) for name, file in files.items()}
    with PostgresServer(home, free_port(), password="super-secret", settings=settings) as server:
        made = Cluster(name="sealed", host="localhost", port=server.port, admin_user=server.superuser, protected=False)
        made.sslmode, made.sslrootcert, made.admin_password = "verify-full", certificate, server.password
        made.save(force_insert=True)
        yield made


def test_it_verifies_the_certificate_although_the_panels_own_copy_is_hidden_from_it(encrypted: Cluster) -> None:
    def carry_out(purpose: str, **options: object) -> Run:
        target = {"cluster": str(encrypted.pk), "database": "postgres"}
        asked = {"target": target, "options": options, "author": None, "engine": "http"}
        return execute(submit_one(**asked, purpose=purpose))

    assert carry_out("prepare", rows=1_000).status == Status.SUCCEEDED
    run = carry_out("load", connection="normal", concurrency=2, duration=2)
    assert (run.status, run.summary["failed"]) == (Status.SUCCEEDED, 0), run.error
    assert run.summary["transactions"] > 0
