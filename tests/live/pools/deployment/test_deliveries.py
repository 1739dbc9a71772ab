"""Deliveries in real applies: one of a module and a line takes part, and a pulled host gets no secret of another."""

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.config_files import deliveries
from pools.config_files.deliveries.base import ByHost, Contents
from pools.hosts.base import Access, HostConnection
from pools.hosts.worker import WorkerConnection
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState
from tests.callers import anonymous, bearer
from tests.live.pools.conftest import MakePool

pytestmark = pytest.mark.django_db(transaction=True)


class Copying(ByHost):
    """A toy: writes the files as a worker does, and notes a copy of what it wrote."""

    name = "ssh"
    runs_here = True

    def __init__(self) -> None:
        self.copies: dict[str, bytes] = {}

    def place_of(self, pooler: Pooler) -> str:
        return "toy"

    @contextmanager
    def host_of(self, pooler: Pooler) -> Iterator[HostConnection]:
        yield WorkerConnection()

    def replace(
        self, pooler: Pooler, folder: str, contents: Contents, of_new: Access | None = None, before_retry: Any = None
    ) -> None:
        super().replace(pooler, folder, contents, of_new, before_retry)
        self.copies |= {name: content for name, content in contents.items() if content is not None}


def test_a_delivery_of_a_module_and_a_line_takes_part_in_an_apply(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = Copying()
    monkeypatch.setattr(deliveries, "DELIVERIES", {**deliveries.DELIVERIES, toy.name: toy})
    Pooler.objects.update(delivery=toy.name)
    pooler.refresh_from_db()
    pool = make_pool()
    revision = deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (revision.state, pool.state) == (RevisionState.APPLIED, PoolState.APPLIED)
    assert toy.copies["pooldeck.ini"] == (pgbouncer.config_dir / "pooldeck.ini").read_bytes()


def test_a_thief_of_a_pulled_host_gets_no_secret_of_another(
    make_pool: MakePool, pooler: Pooler, cluster: Cluster
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    Pooler.objects.update(delivery="pull")
    other, secrets = _other_with_secrets()
    admin = bearer()
    token = admin.post(f"/api/v1/poolers/{pooler.pk}/files-token/", {}, "json").json()["token"]
    thief = anonymous()
    thief.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    got = b"".join(_everything(thief, pooler, other))
    own = admin.get(f"/api/v1/poolers/{pooler.pk}/files/").content
    assert b"app-password" in own  # what was stolen is that of its own pools
    assert own in got
    assert [name for name, secret in secrets.items() if secret.encode() in got] == []
    assert cluster.admin_password.encode() not in got  # nor the panel's own login to the cluster


def _other_with_secrets() -> tuple[Pooler, dict[str, str]]:
    secrets = {name: f"canary-of-{name}-6f1d0c" for name in ("console", "cluster", "role")}
    elsewhere = Cluster(name="other", host="127.0.0.1", port=1, admin_user="postgres", sslmode="disable")
    elsewhere.admin_password = secrets["cluster"]
    elsewhere.save(force_insert=True)
    elsewhere.keep_password("app", secrets["role"])
    other = Pooler(name="other", host="127.0.0.1", port=1, config_dir="/other", delivery="pull")
    other.admin_password = secrets["console"]
    other.save(force_insert=True)
    Pool.objects.create(name="theirs", pooler=other, cluster=elsewhere, database="app", user="app", size=1)
    return other, secrets


def _everything(thief: Any, pooler: Pooler, other: Pooler) -> Iterator[bytes]:
    """Yield what the token of one host reads of the panel: its own files, in both forms, and all that is refused."""
    yield thief.get(f"/api/v1/poolers/{pooler.pk}/files/").content
    with tarfile.open(fileobj=io.BytesIO(thief.get(f"/api/v1/poolers/{pooler.pk}/files/?as=tar").content)) as tar:
        yield from (tar.extractfile(one).read() for one in tar.getmembers())
    for url in (
        *(f"/api/v1/poolers/{other.pk}/files/", f"/api/v1/poolers/{other.pk}/config/", "/api/v1/poolers/"),
        *("/api/v1/pools/", "/api/v1/clusters/", "/api/v1/tokens/", "/v2/databases", "/metrics"),
    ):
        answer = thief.get(url)
        assert answer.status_code in (401, 403, 404), url
        yield answer.content
