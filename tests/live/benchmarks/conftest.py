"""What runs need: the queue, a worker process, a prepared dataset, an applied pool."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

import benchmarks.tasks  # noqa: F401 (registered before `use_broker` closes the application, which forgets later ones)
import pools.tasks  # noqa: F401 (as above)
from benchmarks.models import FINAL, Run, Status
from benchmarks.processes import workdir
from benchmarks.runs.execution import reaper, runner
from benchmarks.runs.submission import dispatch
from benchmarks.targets import datasets, sessions
from panel.quickstart.servers import PgBouncerServer, PostgresServer, RedisServer
from pools import deployment
from pools.models import Cluster, Pool, Pooler, PoolState
from tests.benchmarks.submitting import submit_one
from tests.live.conftest import APP_PASSWORD, APP_ROLE

# A run of which only its life matters takes a moment; one that is watched second by second says how many, and its rate
# leaves the processors to the tests beside it.
QUICK = {"clients": 2, "threads": 1, "transactions": 200}
LASTING = {"clients": 2, "threads": 1, "duration": 2, "rate": 200}
# Holds a server connection while it takes hardly any processor time: more clients than a pool has connections wait.
HOLDING = {"scripts": [{"text": "BEGIN;\n\\sleep 5 ms\nSELECT 1;\nEND;\n"}], "rate": None}
Submit = Callable[..., Run]


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No message leaves, so that no worker takes what the test carries out itself."""
    monkeypatch.setattr(dispatch, "dispatch", lambda run, generator="": True)


@pytest.fixture(scope="session")
def bench(postgres: PostgresServer) -> str:
    """A database of the role `app` for runs."""
    postgres.create_owner_and_database(APP_ROLE, APP_PASSWORD, "loaded")
    return "loaded"


@pytest.fixture
def dataset(bench: str, cluster: Cluster, queue: RedisServer, transactional_db: None) -> str:
    """The database `loaded` with a dataset of scale 1; the tables are kept between tests, the panel's memory is not."""
    if not datasets.facts(cluster, bench).complete:
        made = execute(prepare(cluster, bench))
        assert made.status == Status.SUCCEEDED, made.error
    return bench


def prepare(cluster: Cluster, database: str, scale: int = 1, confirm: str = "", **more: object) -> Run:
    """A queued preparation, with more options of pgbench's."""
    target, options = {"cluster": str(cluster.pk), "database": database}, {"scale": scale, **more}
    return submit_one(target=target, options=options, author=None, purpose="prepare", confirm=confirm)


@pytest.fixture
def pool(cluster: Cluster, pooler: Pooler, pgbouncer: PgBouncerServer, dataset: str) -> Pool:
    """An applied pool `orders` of two connections to `loaded`, in transaction mode."""
    made = Pool.objects.create(name="orders", pooler=pooler, cluster=cluster, database=dataset, user=APP_ROLE, size=2)
    deployment.apply_pooler(pooler)
    made.refresh_from_db()
    assert made.state == PoolState.APPLIED, made.state_reason
    return made


@pytest.fixture
def submit(cluster: Cluster, dataset: str) -> Submit:
    """Submits a short run, against `loaded` directly unless a pool is given; it lasts where its duration is given."""

    def submit_run(pool: Pool | None = None, **options: Any) -> Run:
        target = {"pool": str(pool.pk)} if pool else {"cluster": str(cluster.pk), "database": dataset}
        return submit_one(target=target, options=short(**options), author=None, is_admin=True)

    return submit_run


def short(**options: Any) -> dict[str, Any]:
    """The options of a short run: by transactions, unless it has a duration; those that are None are left out."""
    asked = (LASTING if "duration" in options else QUICK) | options
    return {name: value for name, value in asked.items() if value is not None}


def execute(run: Run) -> Run:
    """Claim the run and carry it out here, as a worker's child would; where a worker was quicker, wait for it."""
    if claimed := Run.objects.claim(str(run.pk), django_settings.GENERATOR):
        runner.execute(claimed)
    return wait_for(run, ended)


def wait_for(run: Run, condition: Callable[[Run], bool], seconds: float = 60.0) -> Run:
    """The run once it meets the condition; fails at the deadline with what it was."""
    deadline = time.monotonic() + seconds
    while not condition(found := Run.objects.get(pk=run.pk)):
        assert time.monotonic() < deadline, f"{found} is {found.status} after {seconds} s: {found.error}"
        time.sleep(0.05)
    return found


def ended(run: Run) -> bool:
    """Whether the run is final."""
    return run.status in FINAL


def has_samples(count: int) -> Callable[[Run], bool]:
    """Whether the run runs and that many samples have come."""
    return lambda run: run.status == Status.RUNNING and run.samples.count() >= count


def pgbenches(run: Run) -> list[int]:
    """The process ids of live pgbenches of this run, by the name they give their sessions."""
    wanted = f"PGAPPNAME={run.application_name}".encode()
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and wanted in _environment(path)]


def wait_until_load_is_silent(run: Run) -> None:
    """Wait until the reaper takes a killed load for dead; the lease of a test runs out sooner than a real one."""
    silent_s = reaper.CHECK_EVERY_S + reaper.DIED_BEFORE_S  # from its last statement on
    deadline = time.monotonic() + silent_s + 60
    while sessions.goes_on(run, silent_s):
        assert time.monotonic() < deadline, "its sessions begin statements"
        time.sleep(0.05)


def _environment(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def homes_of(run: Run) -> list[Path]:
    """The private folders of the run on this host; other panels have theirs beside them."""
    return [folder for owner, folder in workdir.left_homes().items() if owner.startswith(run.pk.hex)]
