"""The archive that makes three processes of one: they are started from exactly its files, and the panel finds each."""

import io
import re
import shlex
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.test import Client

from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.inventory import poolers
from pools.models import Pool, Pooler, PoolState
from pools.poolers import KINDS
from tests.callers import person
from tests.live.conftest import TestPgBouncer
from tests.live.pools.conftest import LogIn, MakePool, state_of
from tests.live.standbys import until

NAMES = ["pgbouncer-2.ini", "pgbouncer-3.ini", "pgbouncer.ini"]
pytestmark = pytest.mark.django_db(transaction=True)


class Instance(TestPgBouncer):
    """An instance of the template unit: what its lines say, and nothing else."""

    __test__ = False
    unit = ""

    def line(self, name: str) -> list[str]:
        """The words of a line of the unit."""
        return shlex.split(re.findall(rf"(?m)^{name}=(.*)$", self.unit)[0])

    @property
    def argv(self) -> list[str]:
        """Its ExecStart; the programs of other releases are unpacked here, and run by a loader that they bring."""
        program, main = self.line("ExecStart")
        return [program if Path(program).name == "pgbouncer" else self.binary, main]

    def prepare(self) -> None:
        """Do what its ExecStartPre does, as its account."""
        program, option, folder = self.line("ExecStartPre")
        assert (Path(program).is_file(), option) == (True, "-p")
        account.make_folder(Path(folder))


@pytest.fixture
def archive(pgbouncer: PgBouncerServer, pooler: Pooler, make_pool: MakePool, client: Client) -> dict[str, str]:
    """The files for three, of a pooler that has a pool."""
    poolers.check(pooler)
    make_pool()
    deployment.apply_pooler(pooler)
    client.force_login(person("alice"))
    page = client.get(f"/poolers/{pooler.pk}/processes/?count=3").content.decode()
    assert "peer_id = 3" in page or KINDS[pooler.kind].check(pooler).startswith("PgBouncer 1.18")
    answer = client.get(f"/poolers/{pooler.pk}/processes/?count=3&as=tar")
    assert answer["Content-Type"] == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as tar:
        return {f"/{one.name}": tar.extractfile(one).read().decode() for one in tar.getmembers()}


@pytest.fixture
def three(archive: dict[str, str], pgbouncer: PgBouncerServer, tmp_path: Path) -> Iterator[list[Instance]]:
    """The operator's steps: the files written, the first restarted, and two instances of the unit started."""
    [path] = [path for path in archive if path.endswith("@.service")]
    unit = archive.pop(path)
    assert path == "/etc/systemd/system/pgbouncer@.service"
    assert sorted(archive) == sorted(str(pgbouncer.config_dir / name) for name in NAMES)
    for name, text in archive.items():
        account.write_private(Path(name), text)
    pgbouncer.stop()
    pgbouncer.start()
    with ExitStack() as stack:
        made = []
        for number in (2, 3):
            one = Instance(tmp_path, pgbouncer.port, pgbouncer.admin_user, pgbouncer.admin_password, pgbouncer.binary)
            one.unit = unit.replace("%i", str(number))
            made.append(stack.enter_context(one))
        yield made


def _names_online(pooler: Pooler) -> list[str]:
    poolers.check(pooler)
    return [str(one["name"]) for one in pooler.processes if one["state"] == "online"]


def test_they_are_found_and_get_pools(
    three: list[Instance], pooler: Pooler, make_pool: MakePool, log_in: LogIn, client: Client
) -> None:
    until(lambda: _names_online(pooler) == NAMES)  # each starts by itself
    assert len({one["socket"] for one in pooler.processes}) == 3
    web: Pool = make_pool("web")
    deployment.apply_pooler(pooler)
    assert state_of(web) == (PoolState.APPLIED, "")
    rows = KINDS[pooler.kind].show(pooler, "databases")
    assert sorted(row["process"] for row in rows if row["name"] == "web") == NAMES
    assert [log_in("web") for _ in range(12)] == ["app"] * 12
    if not pooler.server_version.startswith("PgBouncer 1.18"):
        assert sorted(one["peer_id"] for one in pooler.processes) == [1, 2, 3]
    assert "shares its port already" in client.get(f"/poolers/{pooler.pk}/processes/").content.decode()
