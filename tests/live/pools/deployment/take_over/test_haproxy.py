"""HAProxies of their operators: previewed, taken over, given pools, and let go, with clients at work."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from panel.quickstart.servers import PostgresServer, binary, free_port
from pools import deployment
from pools.deployment import take_overs
from pools.deployment.haproxy.steps import STEPS
from pools.deployment.take_over_run import TakeOverRun
from pools.errors import IllegalTransition
from pools.inventory import poolers, pools
from pools.models import Cluster, Pooler, PoolState, RevisionState, TakeOver, TakeOverState
from pools.poolers import KINDS
from pools.poolers.haproxy import render
from tests.callers import bearer
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE
from tests.live.pools.deployment.take_over.operators_haproxy import DEFAULTS, LAYOUTS, LISTEN, OperatorsHAProxy

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[[str], OperatorsHAProxy]


@pytest.fixture
def start(server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts the HAProxy of a layout."""
    with ExitStack() as started:

        def make(layout: str) -> OperatorsHAProxy:
            words = {word: str(free_port()) for word in ("@PAGE@", "@OTHER@", "@THIRD@")} | {"@PG@": str(server.port)}
            return started.enter_context(OperatorsHAProxy(tmp_path_factory.mktemp("haproxy"), layout, words))

        yield make


def watch(own: OperatorsHAProxy) -> Pooler:
    address = {"host": own.host, "port": own.port, "stats_address": str(own.stats_socket)}
    watched, reason = poolers.register({"name": "lb", "kind": "haproxy", "admin_user": "checker", **address})
    assert (reason, watched.management) == ("", "watched")
    return watched


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[[int], "subprocess.Popen[bytes]"]]:
    """Sets pgbench to work at a port, and requires that it lost nothing."""
    running = []

    def begin(port: int) -> "subprocess.Popen[bytes]":
        script = tmp_path / "load.sql"
        script.write_text("SELECT 1;\n")
        argv = [
            shutil.which("pgbench") or binary("pgbench"),
            "-n",
            "-f",
            str(script),
            *["-c", "3", "-R", "60", "-T", "600"],
        ]
        argv += ["-h", "127.0.0.1", "-p", str(port), "-U", APP_ROLE, APP_DATABASE]
        with (tmp_path / "pgbench.log").open("wb") as log:
            environment = {"PATH": os.environ["PATH"], "PGPASSWORD": APP_PASSWORD}
            child = subprocess.Popen(argv, env=environment, stdout=log, stderr=log)
        running.append(child)
        return child

    yield begin
    for child in running:
        lost = child.poll()
        child.kill()
        child.wait()
        text = (tmp_path / "pgbench.log").read_text()
        assert lost is None, text
        assert "abort" not in text
        assert "error" not in text


def backends(server: PostgresServer) -> set[int]:
    """Return the server processes that pgbench's clients have had at work lately."""
    with server.connect() as session:
        query = b"SELECT pid FROM pg_stat_activity WHERE application_name = 'pgbench' AND now() - state_change < '3s'"
        return {int(row[0]) for row in session.execute(query)}


def at_work(server: PostgresServer) -> set[int]:
    """Wait until the three clients are at work alone: pgbench opens another connection before them, and leaves it."""
    deadline = time.monotonic() + 30
    while len(found := backends(server)) < 3 or not found <= backends_after(server, 3.5):
        assert time.monotonic() < deadline
    return found


def backends_after(server: PostgresServer, seconds: float) -> set[int]:
    time.sleep(seconds)
    return backends(server)


def taken_over(pooler: Pooler) -> TakeOver:
    asked = STEPS.request(pooler)
    STEPS.resume(pooler)
    asked.refresh_from_db()
    pooler.refresh_from_db()
    return asked


def released(pooler: Pooler) -> TakeOver:
    asked = take_overs.request_release(pooler)
    take_overs.resume(pooler)
    asked.refresh_from_db()
    pooler.refresh_from_db()
    return asked


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_taken_over_without_a_difference_and_let_go_byte_for_byte(
    cluster: Cluster, start: Start, server: PostgresServer, load: Callable[[int], object], layout: str
) -> None:
    own = start(layout)
    pooler, before, shown = watch(own), own.bytes_of_all(), own.proxies()
    load(own.port)
    clients = at_work(server)
    with STEPS.planned(pooler, "") as plan:
        described = plan.preview()
    assert described["blockers"] == []
    assert own.bytes_of_all() == before
    entries = {one["name"]: one for one in described["entries"]}
    assert {one["becomes"] for one in entries.values()} == {"kept"}
    assert all(one["because"] for one in entries.values())
    serving = entries["ft_pg" if "ft_pg" in entries else "pg"]
    assert "databases of live are reached through it" in serving["because"]
    assert serving["login"] == {"role": cluster.admin_user, "error": ""}
    if "stats" in entries:
        assert "mode http" in entries["stats"]["because"]
    if "elsewhere" in entries:
        assert entries["elsewhere"]["register"] == {"host": "127.0.0.1", "port": 9}
        assert "another port" in entries["reports"]["because"]
        assert "can become a pool" not in entries["elsewhere"]["because"]
    assert "secret-of-the-page" not in str(described)
    assert {one["path"] for one in described["files"]} == {
        str(own.config_dir / name) for name in own.files if "hidden" not in name and "readme" not in name
    }

    taken = taken_over(pooler)
    assert (taken.state, taken.reason) == (TakeOverState.TAKEN, "")
    assert own.proxies() == shown
    assert (pooler.is_watched, pooler.config_file) == (False, str(own.main))
    after = own.bytes_of_all()
    assert after[own.main.name][0].startswith(before[own.main.name][0])
    assert after | {own.main.name: before[own.main.name]} == before | {}
    assert after[own.main.name][1:] == before[own.main.name][1:]
    poolers.check(pooler)
    assert {one.name for one in KINDS["haproxy"].entries(pooler)} == set(entries) - {"stats"}

    assert released(pooler).state == TakeOverState.RELEASED
    assert own.bytes_of_all() == before
    assert own.proxies() == shown
    assert pooler.is_watched
    assert backends(server) == clients  # each client has the connection that it had


def test_pools_made_since_go_through_the_operators_proxy_and_have_to_go_first(
    cluster: Cluster, start: Start, server: PostgresServer
) -> None:
    own = start("several")
    pooler, before, shown = watch(own), own.bytes_of_all(), own.proxies()
    taken_over(pooler)
    values = {"name": APP_DATABASE, "pooler": pooler, "cluster": cluster, "database": APP_DATABASE, "user": APP_ROLE}
    size = KINDS["haproxy"].usual_size(pooler)
    assert size == 60  # the operator's
    pool = pools.create({**values, "mode": "session", "size": size, "user_password": APP_PASSWORD})
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
    assert own.proxies() == shown  # no second proxy that takes half of the clients
    assert "# through pg pg" in own.main.read_text()
    assert APP_DATABASE in KINDS["haproxy"].sample(pooler).figures
    assert KINDS["haproxy"].entries(pooler) == []
    with pytest.raises(IllegalTransition, match=f"remove {APP_DATABASE} first"):
        take_overs.request_release(pooler)
    pools.remove(pool)
    deployment.apply_pooler(pooler)
    assert released(pooler).state == TakeOverState.RELEASED
    assert own.bytes_of_all() == before


def test_a_pool_of_other_servers_is_refused_where_a_proxy_has_the_port(
    cluster: Cluster, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LAYOUTS, "away", {"haproxy.cfg": DEFAULTS + LISTEN.replace("@PG@", "9")})
    own = start("away")
    pooler, shown = watch(own), own.proxies()
    assert taken_over(pooler).state == TakeOverState.TAKEN
    values = {"name": APP_DATABASE, "pooler": pooler, "cluster": cluster, "database": APP_DATABASE, "user": APP_ROLE}
    pool = pools.create({**values, "mode": "session", "size": 60, "user_password": APP_PASSWORD})
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert pool.state == PoolState.ROLLED_BACK
    assert "proxy pg of the operator's part listens on port" in pool.state_reason
    assert own.proxies() == shown


def test_letting_go_keeps_exactly_what_others_edited_since(cluster: Cluster, start: Start) -> None:
    own = start("listen")
    pooler, before = watch(own), own.main.read_bytes()
    taken_over(pooler)
    text = own.main.read_text()
    own.main.write_text(text.replace("maxconn 60", "maxconn 61") + "# added below\n")
    assert take_overs.preview_release(pooler).edited == [str(own.main)]
    assert released(pooler).state == TakeOverState.RELEASED
    assert own.main.read_bytes() == before.replace(b"maxconn 60", b"maxconn 61") + b"# added below\n"
    assert ",FRONTEND,,,0,0,61," in own.ask("show stat")


def test_an_edited_part_of_the_panels_is_settled_first(cluster: Cluster, start: Start) -> None:
    own = start("listen")
    pooler = watch(own)
    taken_over(pooler)
    own.main.write_text(own.main.read_text().replace("# settings {}", "# settings {1}"))
    with pytest.raises(IllegalTransition, match="was edited by hand"):
        take_overs.request_release(pooler)


def drained(own: OperatorsHAProxy) -> None:
    own.ask("set server pg/db1 weight 50%")
    own.ask("set server pg/db1 state drain")


def not_reloaded(own: OperatorsHAProxy) -> None:
    own.main.write_text(own.main.read_text() + "listen late\n    mode tcp\n    bind 127.0.0.1:1\n")


def behind_a_link(own: OperatorsHAProxy) -> None:
    own.main.rename(own.main.with_suffix(".real"))
    own.main.symlink_to(own.main.with_suffix(".real"))


def of_a_panel(own: OperatorsHAProxy) -> None:
    own.main.write_text(own.main.read_text() + render.MARK)


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (drained, "pg/db1 was changed by a command"),
        (not_reloaded, r"differ from what HAProxy runs with \(proxy late\)"),
        (behind_a_link, "is a link"),
        (of_a_panel, "lines of a panel already"),
    ],
)
def test_a_preview_says_what_has_to_be_settled_first(
    cluster: Cluster, start: Start, prepare: Callable[[OperatorsHAProxy], None], reason: str
) -> None:
    own = start("listen")
    pooler = watch(own)
    prepare(own)
    before = own.bytes_of_all()
    with pytest.raises(IllegalTransition, match=reason):
        STEPS.request(pooler)
    assert own.bytes_of_all() == before


def test_what_a_reload_does_is_said_before(cluster: Cluster, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{DEFAULTS}    # of all\n{LISTEN}    stick-table type ip size 1k\n"
    monkeypatch.setitem(LAYOUTS, "noted", {"haproxy.cfg": f"    hard-stop-after 30s\n{text}"})
    with STEPS.planned(watch(start("noted")), "") as plan:
        assert [note.split()[0] for note in plan.notes] == ["Each", "hard-stop-after", "Its"]


def test_a_difference_puts_the_old_bytes_back(cluster: Cluster, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    own = start("listen")
    pooler, before, shown = watch(own), own.bytes_of_all(), own.proxies()
    port = free_port()
    monkeypatch.setattr(
        render, "body_through", lambda *_: f"# settings {{}}\nlisten more\n    mode tcp\n    bind 127.0.0.1:{port}\n"
    )
    monkeypatch.setattr("pools.poolers.haproxy.take_over.SETTLED_WITHIN_S", 2)
    taken = taken_over(pooler)
    assert taken.state == TakeOverState.REFUSED
    assert "SHOW STAT has got more/FRONTEND" in taken.reason
    assert own.bytes_of_all() == before
    assert own.proxies() == shown
    assert pooler.is_watched
    assert pooler.revisions.get().state == RevisionState.ROLLED_BACK


@pytest.mark.parametrize("at", ["writing", "reloaded", "read back"])
def test_a_worker_that_dies_leaves_the_old_bytes_to_the_next(
    cluster: Cluster, start: Start, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    own = start("listen")
    pooler, before, shown = watch(own), own.bytes_of_all(), own.proxies()
    step = TakeOverRun.step

    def dying(self: TakeOverRun[object], word: str, detail: str = "") -> None:
        step(self, word, detail)
        if word == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(TakeOverRun, "step", dying)
    asked = STEPS.request(pooler)
    with pytest.raises(KeyboardInterrupt):
        STEPS.resume(pooler)
    asked.refresh_from_db()
    assert asked.state == TakeOverState.TAKING
    STEPS.resume(Pooler.objects.get(pk=pooler.pk))
    asked.refresh_from_db()
    assert asked.state == TakeOverState.REFUSED
    assert asked.reason.startswith("the worker died during the take-over")
    assert own.bytes_of_all() == before
    assert own.proxies() == shown


def test_the_api_previews_takes_over_and_lets_go(cluster: Cluster, start: Start) -> None:
    own, api = start("pair"), bearer()
    pooler, before = watch(own), own.bytes_of_all()
    base = f"/api/v1/poolers/{pooler.pk}"
    preview = api.post(f"{base}/take-over/", {"dry_run": True})
    assert (preview.status_code, preview.json()["blockers"]) == (200, [])
    assert len(preview.json()["notes"]) == 1
    assert "# ---- Pooldeck" in preview.json()["changes"][0]["diff"]
    assert api.post(f"{base}/take-over/", {}).status_code == 202
    take_overs.resume(pooler)
    assert api.get(f"{base}/").json()["management"] == "managed"
    assert api.post(f"{base}/let-go/").status_code == 202
    take_overs.resume(pooler)
    assert api.get(f"{base}/").json()["management"] == "watched"
    assert own.bytes_of_all() == before
    assert api.post(f"{base}/take-over/", {"delivery": "pull", "dry_run": True}).status_code == 400
