"""A PgBouncer is taken over, applied to and let go by SSH: the panel touches no file but through its host's sshd."""

from pathlib import Path

import psycopg
import pytest

from pools import deployment
from pools.deployment import drift, live_files, take_overs
from pools.deployment.pgbouncer import take_over_plan
from pools.deployment.pgbouncer.steps import STEPS
from pools.inventory import pools
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState, TakeOver, TakeOverState
from tests.live.conftest import APP_PASSWORD
from tests.live.pools.deployment.take_over.conftest import OperatorsPgBouncer

pytestmark = pytest.mark.django_db(transaction=True)


def taken_over(pooler: Pooler) -> TakeOver:
    """Take it over, as a worker does."""
    asked = STEPS.request(pooler)
    STEPS.resume(pooler)
    asked.refresh_from_db()
    pooler.refresh_from_db()
    return asked


def ask_pool(pooler: Pooler, cluster: Cluster, name: str = "orders") -> Pool:
    """Ask for a pool of the panel's."""
    values = {
        "name": name,
        "pooler": pooler,
        "cluster": cluster,
        "database": "app",
        "user": "app",
        "size": 3,
        "mode": "transaction",
    }
    return pools.create({**values, "user_password": APP_PASSWORD})


def log_in(own: OperatorsPgBouncer, name: str) -> str:
    address = {"host": own.host, "port": own.port, "dbname": name, "user": "app", "password": APP_PASSWORD}
    with psycopg.connect(**address, connect_timeout=5, autocommit=True, prepare_threshold=None) as session:
        return str(session.execute("SELECT current_user").fetchone()[0])


@pytest.mark.parametrize("release", ["installed", "trixie_pgbouncer", "sid_pgbouncer"])
def test_a_pooler_is_taken_over_applied_to_and_let_go(
    own: OperatorsPgBouncer, watched: Pooler, cluster: Cluster, release: str
) -> None:
    before, shown = own.bytes_of_all(), own.shown()
    with take_over_plan.planned(watched, "") as plan:
        assert (plan.blockers, {one.name: one.becomes for one in plan.proposals}) == ([], {"app": "pool", "*": "kept"})
    assert own.bytes_of_all() == before
    taken = taken_over(watched)
    assert (taken.state, taken.reason) == (TakeOverState.TAKEN, "")
    assert [one["step"] for one in watched.revisions.first().steps][-4:] == [
        "writing",
        "reloaded",
        "read back",
        "logged in",
    ]
    assert own.shown() == shown
    owners = {(mode, uid) for _content, mode, uid in own.bytes_of_all().values()}
    assert owners == {(mode, uid) for _content, mode, uid in before.values()}
    pool = ask_pool(watched, cluster)
    revision = deployment.apply_pooler(watched)
    assert (revision.state, revision.reason) == (RevisionState.APPLIED, "")
    was_tried = any("a trial instance started on the files" in one["detail"] for one in revision.steps)
    assert was_tried == (release == "installed")  # the others are no program of that name, but a loader's
    pool.refresh_from_db()
    assert (pool.state, log_in(own, "orders")) == (PoolState.APPLIED, "app")
    drift.check(watched)
    assert live_files.live_files(watched)["state"] == "in sync"
    edited = Path(own.config_dir, "pooldeck.ini")
    edited.write_bytes(edited.read_bytes().replace(b"pool_size=3", b"pool_size=4"))
    drift.check(watched)
    watched.refresh_from_db()
    assert [one["where"] for one in watched.drift] == ["pooldeck.ini"]
    deployment.apply_pooler(watched, overwrite=True)
    pools.remove(pool)
    deployment.apply_pooler(watched)
    take_overs.request_release(watched)
    take_overs.resume(watched)
    watched.refresh_from_db()
    assert (watched.is_watched, own.bytes_of_all()) == (True, before)
    assert own.shown() == shown
