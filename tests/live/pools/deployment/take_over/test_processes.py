"""Two PgBouncers on one port, as Autobase's role starts them: taken over together, and let go byte for byte."""

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.deployment import take_overs
from pools.deployment.pgbouncer import take_over_plan
from pools.deployment.pgbouncer.steps import STEPS
from pools.errors import IllegalTransition
from pools.inventory import pools
from pools.models import Pool, Pooler, PoolState, TakeOverState
from tests.live.pools.deployment.take_over.conftest import CONSOLE, OperatorsPgBouncer, Start, log_in
from tests.live.pools.deployment.take_over.layouts import FORCED, PLAIN, SCRAM, USERS, Layout, main

pytestmark = pytest.mark.django_db(transaction=True)
Watch = Callable[[OperatorsPgBouncer], Pooler]
RELEASES = ("installed", "trixie_pgbouncer", "sid_pgbouncer")
SHARED = f"{SCRAM}so_reuseport = 1\nunix_socket_dir = "
ENTRIES = f"app = {FORCED}\nreports = {PLAIN}"


def layout(second_entries: str = ENTRIES) -> Layout:
    """Two main files in one folder, with one auth_file."""
    files = {
        "pgbouncer.ini": main(ENTRIES, f"{SHARED}@DIR@/s1\n"),
        "pgbouncer-2.ini": main(second_entries, f"{SHARED}@DIR@/s2\n").replace("pgbouncer.", "pgbouncer-2."),
        "userlist.txt": USERS,
        "s1/empty": "",
        "s2/empty": "",
    }
    return Layout("processes", files, {})


class Second(PgBouncerServer):
    """The process of the second main file."""

    def prepare(self) -> None:
        """Leave the files as they are."""

    @property
    def argv(self) -> list[str]:
        return [self.binary, str(self.config_dir / "pgbouncer-2.ini")]

    def probe(self) -> None:
        """Log in to the console of this very process."""
        address = {"host": str(self.config_dir / "s2"), "port": self.port, "dbname": "pgbouncer"}
        psycopg.connect(user=CONSOLE[0], password=CONSOLE[1], autocommit=True, **address).close()


def beside(first: OperatorsPgBouncer) -> Second:
    """Return the second process on the port of the first."""
    made = Second(first.home, first.port, *CONSOLE, first.binary)
    made.config_dir = first.config_dir
    return made


@pytest.fixture(params=RELEASES)
def program(request: pytest.FixtureRequest) -> str | None:
    """Each release."""
    return None if request.param == "installed" else str(request.getfixturevalue(request.param))


@pytest.mark.usefixtures("cluster")
def test_both_are_taken_over_applied_to_and_let_go(start: Start, watch: Watch) -> None:
    first = start(layout())
    with beside(first):
        pooler, before = watch(first), first.bytes_of_all()
        assert [one["name"] for one in pooler.processes] == ["pgbouncer-2.ini", "pgbouncer.ini"]
        with take_over_plan.planned(pooler, "") as plan:
            assert plan.blockers == []
            assert plan.running.files.main.path == f"{first.config_dir}/pgbouncer.ini"
            changed = {Path(one.name).name for one in plan.changes}
        assert changed == {"pgbouncer.ini", "pgbouncer-2.ini", "pooldeck.ini"}
        assert first.bytes_of_all() == before
        asked = STEPS.request(pooler)
        STEPS.resume(pooler)
        asked.refresh_from_db()
        assert (asked.state, asked.reason) == (TakeOverState.TAKEN, "")
        assert {log_in(first, "app") for _number in range(24)} == {"app"}
        pooler.refresh_from_db()
        pool = Pool.objects.get(name="app")
        pools.change(pool, {"size": 7}, pool.version)
        deployment.apply_pooler(pooler)
        pool.refresh_from_db()
        assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
        take_overs.request_release(pooler)
        take_overs.resume(pooler)
        asked.refresh_from_db()
        assert (asked.state, asked.reason) == (TakeOverState.RELEASED, "")
        assert first.bytes_of_all() == before
        assert {log_in(first, "app") for _number in range(24)} == {"app"}


@pytest.mark.usefixtures("cluster")
def test_other_entries_of_one_process_are_a_reason_not_to(start: Start, watch: Watch) -> None:
    first = start(layout(f"app = {FORCED} pool_size=3\nreports = {PLAIN}"))
    with beside(first):
        pooler, before = watch(first), first.bytes_of_all()
        with pytest.raises(IllegalTransition, match=r"other entries than the process of pgbouncer.ini \(app\)"):
            STEPS.request(pooler)
        assert first.bytes_of_all() == before


@pytest.mark.usefixtures("cluster")
def test_a_process_that_does_not_answer_is_a_reason_not_to(start: Start, watch: Watch) -> None:
    first = start(layout())
    with beside(first) as second:
        pooler, before = watch(first), first.bytes_of_all()
        second.stop()
        with pytest.raises(Exception, match=r"pgbouncer-2\.ini"):
            STEPS.request(pooler)
        assert first.bytes_of_all() == before
