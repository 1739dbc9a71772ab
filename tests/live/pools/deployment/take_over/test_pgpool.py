"""Pgpool-IIs of their operators: previewed, taken over, given pools, and let go, with clients at work."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from panel.quickstart import account
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PostgresServer, free_port
from pools import deployment
from pools.deployment import take_overs
from pools.deployment.pgpool.steps import STEPS
from pools.deployment.take_over_run import TakeOverRun
from pools.errors import IllegalTransition
from pools.inventory import pooler_settings, poolers, pools
from pools.models import Cluster, Pooler, PoolState, RevisionState, TakeOver, TakeOverState
from pools.poolers.pgpool import pcp, render, sql
from tests.callers import bearer
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE
from tests.live.pools.deployment.take_over.test_haproxy import at_work, backends, load
from tests.live.standbys import until

__all__ = ["load"]
pytestmark = pytest.mark.django_db(transaction=True)
DEBIAN = Path("/usr/share/pgpool2/pgpool.conf")  # as its package installs it
ALL = "host all all 0.0.0.0/0 scram-sha-256\n"
OF_DEBIAN = "local   all  all                trust\nhost    all  all  127.0.0.1/32  trust\n"
Start = Callable[..., "OperatorsPgpool"]
# name → whether pool_hba.conf is read, its rules, what the databases become
LAYOUTS: dict[str, tuple[str, str, str]] = {
    "rules": ("on", ALL, "pool"),
    "debian": ("off", OF_DEBIAN, "kept"),
    "reject": (
        "on",
        f'host "{APP_DATABASE}" all 0.0.0.0/0 reject\nhost postgres all 0.0.0.0/0 scram-sha-256\n',
        "kept",
    ),
    "crlf": ("on", ALL, "pool"),
    "no-newline": ("on", ALL.rstrip("\n"), "pool"),
    "include": ("on", ALL, "pool"),
}


class OperatorsPgpool(PgpoolServer):
    """A Pgpool-II of a layout, with its files as its operator wrote them."""

    def __init__(self, home: Path, layout: str, backend: PostgresServer, program: str | None) -> None:
        super().__init__(home, free_port(), free_port(), backend, {}, program)
        self.layout, self.children = layout, 8

    def prepare(self) -> None:
        """Write the files once."""
        if self.config_dir.exists():
            return
        account.make_folder(self.home)
        account.make_folder(self.config_dir)
        account.make_folder(self.socket_folder)
        has_rules, rules, _becomes = LAYOUTS[self.layout]
        logins = {self.backend.superuser: self.backend.password, APP_ROLE: APP_PASSWORD}
        own = self._conf().replace("enable_pool_hba = on", f"enable_pool_hba = {has_rules}")
        conf = (DEBIAN.read_text() if self.layout == "debian" and DEBIAN.exists() else "# the operator's\n") + own
        if self.layout == "include":
            account.write_private(self.config_dir / "more.conf", own)
            conf = "# all of it is elsewhere\ninclude 'more.conf'\n"
        text = {"crlf": conf.replace("\n", "\r\n"), "no-newline": conf.rstrip("\n")}.get(self.layout, conf)
        account.write_private(self.config_dir / "pgpool.conf", "")
        (self.config_dir / "pgpool.conf").write_bytes(text.encode())
        account.write_private(self.config_dir / "pool_hba.conf", rules)
        secrets = "".join(f"{user}:TEXT{password}\n" for user, password in logins.items())
        account.write_private(self.config_dir / "pool_passwd", secrets)
        login = f"{self.backend.superuser}:{pcp.stored(self.backend.password)}\n"
        account.write_private(self.config_dir / "pcp.conf", f"# USERID:MD5PASSWD\n{login}")

    def bytes_of_all(self) -> dict[str, tuple[bytes, int, int]]:
        """Return name → bytes, mode and owner."""
        return {
            path.name: (path.read_bytes(), path.stat().st_mode, path.stat().st_uid)
            for path in self.config_dir.iterdir()
        }


@pytest.fixture
def start(
    server: PostgresServer, pgpool_binary: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Start]:
    """Starts the Pgpool-II of a layout, of each release."""
    with ExitStack() as started:

        def make(layout: str) -> OperatorsPgpool:
            home = tmp_path_factory.mktemp("pgpool")
            return started.enter_context(OperatorsPgpool(home, layout, server, pgpool_binary))

        yield make


def watch(own: OperatorsPgpool) -> Pooler:
    address = {"host": own.host, "port": own.port, "pcp_port": own.pcp_port}
    login = {"admin_user": own.backend.superuser, "admin_password": own.backend.password}
    watched, reason = poolers.register({"name": "edge", "kind": "pgpool", **address, **login})
    assert (reason, watched.management) == ("", "watched")
    return watched


def main_of(own: OperatorsPgpool) -> str:
    """Return the path to give: the loader of another release's program hides its name from the list of processes."""
    return str(own.config_dir / "pgpool.conf")


def test_its_main_file_is_found_by_the_process_of_its_pid_file(cluster: Cluster, start: Start) -> None:
    own = start("rules")
    with STEPS.planned(watch(own), "") as plan:
        assert plan.main_file == main_of(own)


def settings_of(pooler: Pooler) -> dict[str, str]:
    with sql.open(pooler) as session:
        return sql.settings(session)


def taken_over(pooler: Pooler, own: OperatorsPgpool) -> TakeOver:
    asked = STEPS.request(pooler, main_of(own))
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
    own, becomes = start(layout), LAYOUTS[layout][2]
    pooler, before = watch(own), own.bytes_of_all()
    if layout != "reject":
        load(own.port)
    clients = at_work(server) if layout != "reject" else set()
    shown = settings_of(pooler)
    with STEPS.planned(pooler, main_of(own)) as plan:
        described = plan.preview()
    assert described["blockers"] == []
    assert own.bytes_of_all() == before
    entries = {one["name"]: one for one in described["entries"]}
    assert (entries[APP_DATABASE]["becomes"], bool(entries[APP_DATABASE]["because"])) == (becomes, becomes == "kept")
    assert entries["postgres"]["login"] == {"role": server.superuser, "error": ""}
    assert [len(described["notes"])] == [1 if layout == "debian" else 0]
    assert "super-secret" not in str(described)
    roles = {one["role"] for one in described["files"]}
    assert roles >= {"main", "pool_hba", "pool_passwd", "pcp"}
    assert ("include" in roles) == (layout == "include")

    taken = taken_over(pooler, own)
    assert (taken.state, taken.reason) == (TakeOverState.TAKEN, "")
    assert settings_of(pooler) == shown
    after = own.bytes_of_all()
    assert after.keys() == before.keys()
    for name, (content, mode, owner) in before.items():
        assert (after[name][0].startswith(content), after[name][1:]) == (True, (mode, owner))
    assert {pool.name for pool in pooler.pools.filter(state=PoolState.APPLIED)} == {
        name for name, one in entries.items() if one["becomes"] == "pool"
    }
    assert released(pooler).state == TakeOverState.RELEASED
    assert own.bytes_of_all() == before
    assert settings_of(pooler) == shown
    assert (pooler.is_watched, pooler.pools.count()) == (True, 0)
    assert backends(server) >= clients


def test_a_changed_setting_is_gone_with_the_panels_part(
    cluster: Cluster, start: Start, server: PostgresServer, without_trial: None
) -> None:
    own = start("rules")
    pooler, before = watch(own), own.bytes_of_all()
    shown = settings_of(pooler)
    taken_over(pooler, own)
    pooler_settings.change_settings(pooler, {"client_idle_limit": "77"})
    deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert (pooler.settings_state, pooler.settings_reason) == (PoolState.APPLIED, "")
    until(lambda: settings_of(pooler)["client_idle_limit"] == "77s")
    assert set(pooler.pools.values_list("state", flat=True)) == {PoolState.APPLIED}
    assert released(pooler).state == TakeOverState.RELEASED
    assert own.bytes_of_all() == before

    # The program tells its children of a reload one after the other, so that one may say what the next does not yet.
    until(lambda: all(settings_of(pooler) == shown for _session in range(5)), 60)


def test_no_pool_turns_rules_on_that_would_lock_others_out(cluster: Cluster, start: Start, without_trial: None) -> None:
    own = start("debian")
    pooler = watch(own)
    taken_over(pooler, own)
    values = {"name": APP_DATABASE, "pooler": pooler, "cluster": cluster, "database": APP_DATABASE, "user": APP_ROLE}
    pool = pools.create({**values, "mode": "session", "size": own.children, "user_password": APP_PASSWORD})
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, "would lock out all clients" in pool.state_reason) == (PoolState.ROLLED_BACK, True)
    assert settings_of(pooler)["enable_pool_hba"] == "off"


def test_letting_go_keeps_exactly_what_others_edited_since(cluster: Cluster, start: Start, without_trial: None) -> None:
    own = start("rules")
    pooler, before = watch(own), own.bytes_of_all()
    taken_over(pooler, own)
    conf, rules = own.config_dir / "pgpool.conf", own.config_dir / "pool_hba.conf"
    conf.write_text(conf.read_text().replace("# the operator's", "# ours") + "# added below\n")
    rules.write_text("# first\n" + rules.read_text())
    assert set(take_overs.preview_release(pooler).edited) == {str(conf), str(rules)}
    assert released(pooler).state == TakeOverState.RELEASED
    assert conf.read_bytes() == before["pgpool.conf"][0].replace(b"# the operator's", b"# ours") + b"# added below\n"
    assert rules.read_bytes() == b"# first\n" + before["pool_hba.conf"][0]


def not_reloaded(own: OperatorsPgpool, pooler: Pooler) -> None:
    with (own.config_dir / "pgpool.conf").open("a") as file:
        file.write("client_idle_limit = 5\n")


def without_pcp(own: OperatorsPgpool, pooler: Pooler) -> None:
    pooler.edit(None, pcp_port=None)


def of_a_panel(own: OperatorsPgpool, pooler: Pooler) -> None:
    with (own.config_dir / "pool_hba.conf").open("a") as file:
        file.write(render.MARK)


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (not_reloaded, r"differ from what Pgpool-II runs with \(client_idle_limit 0s? → 5\)"),
        (without_pcp, "without its PCP port"),
        (of_a_panel, "lines of a panel already"),
    ],
)
def test_a_preview_says_what_has_to_be_settled_first(
    cluster: Cluster, start: Start, prepare: Callable[[OperatorsPgpool, Pooler], None], reason: str
) -> None:
    own = start("rules")
    pooler = watch(own)
    prepare(own, pooler)
    with pytest.raises(IllegalTransition, match=reason):
        STEPS.request(pooler, main_of(own))


def test_a_difference_puts_the_old_bytes_back(
    cluster: Cluster, start: Start, without_trial: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = start("rules")
    pooler, before = watch(own), own.bytes_of_all()
    shown, keep = settings_of(pooler), render.file
    monkeypatch.setattr(render, "file", lambda above, below: keep(above, below or "client_idle_limit = 9\n"))
    monkeypatch.setattr("pools.poolers.pgpool.take_over.SEEN_WITHIN_S", 2)
    taken = taken_over(pooler, own)
    assert (taken.state, "client_idle_limit 0 → 9" in taken.reason) == (TakeOverState.REFUSED, True)
    assert own.bytes_of_all() == before
    assert pooler.revisions.get().state == RevisionState.ROLLED_BACK
    assert (pooler.is_watched, pooler.pools.count()) == (True, 0)
    # A child that read the wrong file keeps its value, which the old file does not name; others never had it.
    left = {name for _ in range(40) for name, value in settings_of(pooler).items() if shown[name] != value}
    assert left == {"client_idle_limit"}


@pytest.mark.parametrize("at", ["writing", "reloaded", "read back"])
def test_a_worker_that_dies_leaves_the_old_bytes_to_the_next(
    cluster: Cluster, start: Start, without_trial: None, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    own = start("no-newline")
    pooler, before = watch(own), own.bytes_of_all()
    shown, step = settings_of(pooler), TakeOverRun.step

    def dying(self: TakeOverRun[object], word: str, detail: str = "") -> None:
        step(self, word, detail)
        if word == at:
            raise KeyboardInterrupt

    monkeypatch.setattr(TakeOverRun, "step", dying)
    asked = STEPS.request(pooler, main_of(own))
    with pytest.raises(KeyboardInterrupt):
        STEPS.resume(pooler)
    STEPS.resume(Pooler.objects.get(pk=pooler.pk))
    asked.refresh_from_db()
    assert (asked.state, asked.reason[:43]) == (TakeOverState.REFUSED, "the worker died during the take-over; the f")
    assert own.bytes_of_all() == before
    assert settings_of(pooler) == shown


def test_the_api_previews_takes_over_and_lets_go(cluster: Cluster, start: Start, without_trial: None) -> None:
    own, api = start("rules"), bearer()
    pooler, before = watch(own), own.bytes_of_all()
    base = f"/api/v1/poolers/{pooler.pk}"
    asked = {"config_file": main_of(own), "entries": [APP_DATABASE]}
    preview = api.post(f"{base}/take-over/", {**asked, "dry_run": True})
    assert (preview.status_code, preview.json()["blockers"]) == (200, [])
    assert "by rules above" in preview.json()["changes"][1]["diff"]
    assert api.post(f"{base}/take-over/", asked).status_code == 202
    take_overs.resume(pooler)
    assert api.get(f"{base}/").json()["management"] == "managed"
    assert [one.name for one in pooler.pools.all()] == [APP_DATABASE]
    assert api.post(f"{base}/let-go/").status_code == 202
    take_overs.resume(pooler)
    assert api.get(f"{base}/").json()["management"] == "watched"
    assert own.bytes_of_all() == before
