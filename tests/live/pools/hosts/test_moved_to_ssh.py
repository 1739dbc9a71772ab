"""A pooler whose files a worker on its host wrote is reached by SSH from then on."""

import pytest

from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.deployment import drift, live_files
from pools.hosts import keys
from pools.inventory import poolers, pools
from pools.models import Cluster, Host, Pooler, PoolerKind, PoolState, RevisionState
from tests.live.conftest import APP_PASSWORD, APP_ROLE
from tests.live.pools.hosts.conftest import registered
from tests.live.sshds import SshServer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def host(own_sshd: SshServer, db: None) -> Host:
    """A host of the test's own, whose line in authorized_keys it replaces."""
    return registered(own_sshd)


def applied(pooler: Pooler) -> tuple[str, str]:
    revision = deployment.apply_pooler(pooler)
    assert revision
    return revision.state, revision.reason


def test_a_pooler_of_a_worker_is_applied_by_ssh_after_a_change_of_its_delivery(
    own_bouncer: PgBouncerServer, cluster: Cluster, own_sshd: SshServer, host: Host
) -> None:
    password = own_bouncer.admin_password
    address = {"host": own_bouncer.host, "port": own_bouncer.port, "admin_user": own_bouncer.admin_user}
    files = {"config_dir": str(own_bouncer.config_dir), "kind": PoolerKind.PGBOUNCER}
    pooler, reason = poolers.register({"name": "moved", **address, **files, "admin_password": password})
    assert reason == ""
    values = {"name": "orders", "pooler": pooler, "cluster": cluster, "database": APP_ROLE, "user": APP_ROLE}
    pool = pools.create({**values, "size": 3, "mode": "transaction", "user_password": APP_PASSWORD})
    assert applied(pooler) == (RevisionState.APPLIED, "")
    written = {path.name: path.read_bytes() for path in own_bouncer.config_dir.glob("*.ini")}
    pooler.refresh_from_db()
    pooler, reason = poolers.change(pooler, {"delivery": "ssh", "ssh_host": host, "admin_password": password})
    pool.refresh_from_db()
    assert pool.state == PoolState.PENDING
    assert "put the line that it shows then in place of the panel's old one" in reason
    own_sshd.let_in(keys.authorized_keys_line(host))  # the line opens the console's port now
    assert poolers.check(pooler) == ""
    assert applied(pooler) == (RevisionState.APPLIED, "")
    pool.refresh_from_db()
    assert pool.state == PoolState.APPLIED
    assert {path.name: path.read_bytes() for path in own_bouncer.config_dir.glob("*.ini")} == written
    drift.check(pooler)
    assert live_files.live_files(pooler)["state"] == "in sync"
