"""Delivery `pull` on real PgBouncers: a loop fetches the files from the served panel, and the console proves them."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from core.accounts.models import ApiToken, Scope
from core.lib.polling import poll
from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, free_port
from pools import deployment
from pools.deployment import drift
from pools.inventory import fetches
from pools.inventory.fetches import FetchState
from pools.models import Cluster, Pool, Pooler, PoolState, Revision, RevisionState
from pools.poolers.pgbouncer import preflight
from pools.views.fetches import command
from tests.callers import bearer, person
from tests.live.pools.conftest import LogIn, MakePool

pytestmark = pytest.mark.django_db(transaction=True)
SCRIPT = Path(__file__).parents[4] / "docs/pull/pooldeck-fetch.sh"
WITHIN_S = 60.0
Fetch = Callable[..., "subprocess.CompletedProcess[bytes]"]


class FetchingPgBouncer(PgBouncerServer):
    """A PgBouncer whose main file is its operator's, and includes what a loop puts into `files`."""

    __test__ = False

    @property
    def files(self) -> Path:
        return self.home / "fetched"

    @property
    def users(self) -> Path:
        return self.files / "pooldeck_userlist.txt"

    def prepare(self) -> None:
        super().prepare()
        ini = self.config_dir / "pgbouncer.ini"
        kept = ini.read_text().replace(f"{self.config_dir}/userlist.txt", str(self.users))
        if "%include" not in kept:
            kept += f"%include {self.files}/pooldeck_settings.ini\n%include {self.files}/pooldeck.ini\n"
        account.write_private(ini, kept)


@pytest.fixture(params=["installed", "trixie_pgbouncer", "sid_pgbouncer"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    if request.param == "installed":
        return None
    found = str(request.getfixturevalue(request.param))
    monkeypatch.setattr(preflight, "SEARCH_PATH", f"{Path(found).parent}:{preflight.SEARCH_PATH}")
    return found


@pytest.fixture
def fetching(tmp_path_factory: pytest.TempPathFactory, program: str | None) -> FetchingPgBouncer:
    """Not started: it has no file before the first fetch."""
    home = tmp_path_factory.mktemp("pull")
    made = FetchingPgBouncer(home, free_port(), "pooldeck", "console-password", program)
    account.make_folder(home)
    account.make_folder(made.files)
    return made


@pytest.fixture
def pooler(db: None, fetching: FetchingPgBouncer) -> Pooler:
    made = Pooler(
        name="pulled",
        host=fetching.host,
        port=fetching.port,
        admin_user=fetching.admin_user,
        config_dir=str(fetching.files),
        delivery="pull",
    )
    made.admin_password = fetching.admin_password
    made.save(force_insert=True)
    return made


@pytest.fixture
def environment(pooler: Pooler, fetching: FetchingPgBouncer, live_server: Any) -> dict[str, str]:
    """What the loop is told."""
    token = ApiToken.objects.issue(person(), "fetch", [Scope.APPLY], limited_to=pooler.pk)
    account.write_private(fetching.home / "token", token)
    return {
        "PATH": os.environ["PATH"],
        "POOLDECK_URL": live_server.url,
        "POOLDECK_POOLER": str(pooler.pk),
        "POOLDECK_TOKEN_FILE": str(fetching.home / "token"),
        "FILES": str(fetching.files),
        "PID_FILE": str(fetching.home / "pgbouncer.pid"),
        "INTERVAL": "1",
    }


def loop(files: Path, *words: str, drops: bool = True) -> list[str]:
    """The command of the loop, as the account of the PgBouncer where it `drops` its rights."""
    argv = ["/bin/sh", "-c", SCRIPT.read_text(), "pooldeck-fetch", *words]
    return account.as_unprivileged(argv, signal.SIGTERM, files) if drops else argv


@pytest.fixture
def fetch(environment: dict[str, str]) -> Fetch:
    """Runs the loop once, as the account of the PgBouncer or as this one."""

    def run(*, drops: bool = True, **other: str) -> "subprocess.CompletedProcess[bytes]":
        argv, told = loop(Path(environment["FILES"]), "--once", drops=drops), environment | other
        return subprocess.run(argv, env=told, capture_output=True, check=False, cwd="/", timeout=60)

    return run


@pytest.fixture
def running(fetch: Fetch, fetching: FetchingPgBouncer) -> Iterator[FetchingPgBouncer]:
    """Started on the first files, as after an init container."""
    first = fetch()
    assert (first.returncode, first.stderr) == (0, b"")
    with fetching:
        yield fetching


@pytest.fixture
def by_hand(pooler: Pooler, fetching: FetchingPgBouncer, live_server: Any, client: Client) -> Fetch:
    """Runs the command of the pooler's page, with a token made there, on a host whose systemctl knows PgBouncer."""
    client.force_login(person())
    page = client.post(f"/poolers/{pooler.pk}/files-token/", {"name": "by hand", "lifetime_days": "0"})
    account.write_private(fetching.home / "pooldeck-token", page.context["fetch_card"]["made"] + "\n")
    programs = fetching.home / "programs"
    account.make_folder(programs)
    account.write_private(programs / "systemctl", f'#!/bin/sh\nexec kill -HUP "$(cat {fetching.home}/pgbouncer.pid)"\n')
    (programs / "systemctl").chmod(0o700)
    told = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(fetching.home)}

    def run(*, drops: bool = True) -> "subprocess.CompletedProcess[bytes]":
        argv = ["/bin/sh", "-c", command(live_server.url, pooler)]
        argv = account.as_unprivileged(argv, signal.SIGTERM, fetching.files) if drops else argv
        return subprocess.run(argv, env=told, capture_output=True, check=False, cwd="/", timeout=60)

    return run


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another account")
@pytest.mark.parametrize("program", ["installed"], indirect=True)
@pytest.mark.parametrize("name", ["fetch", "by_hand"])
def test_files_that_root_fetches_belong_to_the_poolers_account_which_reads_them(
    request: pytest.FixtureRequest,
    name: str,
    running: FetchingPgBouncer,
    make_pool: MakePool,
    pooler: Pooler,
) -> None:
    pool = make_pool()
    deployment.apply_pooler(pooler)
    ended = request.getfixturevalue(name)(drops=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    there = running.files.stat()
    owners = {path.name: (path.stat().st_uid, path.stat().st_gid) for path in running.files.glob("pooldeck*")}
    assert owners == dict.fromkeys(owners, (there.st_uid, there.st_gid))
    assert there.st_uid != 0
    assert poll(lambda: _applied(pooler, pool), WITHIN_S) == "applied: "
    assert sizes(running) == {"orders": 3}


def test_the_command_of_the_page_fetches_reloads_and_asks_for_nothing_twice(
    by_hand: Fetch,
    fetching: FetchingPgBouncer,
    make_pool: MakePool,
    pooler: Pooler,
) -> None:
    early = by_hand()
    assert early.returncode != 0  # there is nothing to reload yet
    assert not (fetching.files / ".etag").exists()  # The next fetch transfers all files again.
    with fetching:
        assert (by_hand().stderr, (fetching.files / ".etag").exists()) == (b"", True)
        pool = make_pool()
        deployment.apply_pooler(pooler)
        assert (by_hand().returncode, fetches.of(pooler)[0].state) == (0, FetchState.PENDING)
        assert poll(lambda: _applied(pooler, pool), WITHIN_S) == "applied: "
        assert sizes(fetching) == {"orders": 3}
        (mine,) = fetches.of(pooler)
        assert (mine.token.name, mine.revision, mine.state) == ("by hand", 1, FetchState.VERIFIED)
        before = {path.name: path.stat().st_mtime_ns for path in fetching.files.glob("pooldeck*")}
        again = by_hand()
        assert (again.returncode, again.stdout, again.stderr) == (0, b"", b"")
        assert {path.name: path.stat().st_mtime_ns for path in fetching.files.glob("pooldeck*")} == before
        assert fetches.of(pooler)[0].fetched_at == mine.fetched_at
        ApiToken.objects.all().delete()
        refused = by_hand()
        assert (refused.returncode, b"401" in refused.stderr) == (22, True)
        assert {path.name: path.stat().st_mtime_ns for path in fetching.files.glob("pooldeck*")} == before


def sizes(running: PgBouncerServer) -> dict[str, int]:
    """What SHOW DATABASES has, without the console's own."""
    with running.connect() as console:
        cursor = console.execute(b"SHOW DATABASES")
        at = [next(n for n, one in enumerate(cursor.description) if one.name == name) for name in ("name", "pool_size")]
        return {row[at[0]]: row[at[1]] for row in cursor if row[at[0]] != "pgbouncer"}


def reason_of(pool: Pool) -> str:
    pool.refresh_from_db()
    return f"{pool.state}: {pool.state_reason}"


def test_the_loop_fetches_reloads_and_only_then_the_panel_says_applied(
    running: FetchingPgBouncer,
    environment: dict[str, str],
    make_pool: MakePool,
    pooler: Pooler,
    log_in: LogIn,
) -> None:
    pool = make_pool()
    offered = deployment.apply_pooler(pooler)
    assert (offered.state, offered.reason, reason_of(pool)[:9]) == (RevisionState.PENDING, "", "pending: ")
    assert f"not fetched yet from /api/v1/poolers/{pooler.pk}/files/" in pool.state_reason
    assert sizes(running) == {}
    with subprocess.Popen(loop(running.files), env=environment, cwd="/") as fetching:
        try:
            seen = poll(lambda: _applied(pooler, pool), WITHIN_S)
        finally:
            fetching.terminate()
    assert seen == "applied: "
    assert sizes(running) == {"orders": 3}
    assert log_in("orders") == "app"
    last = Revision.objects.get()
    assert (last.state, last.number) == (RevisionState.APPLIED, 1)
    steps = [one["step"] for one in last.steps]
    assert steps[:3] == ["rendered", "preflight passed", "offered"]
    assert {"read back", "logged in"} <= set(steps)
    assert "trial instance" in last.steps[1]["detail"]  # The step says which trial instance ran, or why there was none.
    assert sorted(path.name for path in running.files.iterdir() if not path.name.startswith(".")) == [
        *("pooldeck.ini", "pooldeck_access.conf", "pooldeck_settings.ini", "pooldeck_userlist.txt")
    ]


def _applied(pooler: Pooler, pool: Pool) -> tuple[bool, str]:
    deployment.apply_pooler(pooler)
    found = reason_of(pool)
    return found == "applied: ", found


@pytest.mark.parametrize("program", ["installed"], indirect=True)
def test_what_was_fetched_and_not_reloaded_stays_pending(
    running: FetchingPgBouncer, fetch: Fetch, make_pool: MakePool, pooler: Pooler
) -> None:
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert fetch(PID_FILE="").returncode == 0  # nobody reloads
    deployment.apply_pooler(pooler)
    assert reason_of(pool).startswith("pending: revision 1 was fetched at ")
    assert "the pooler has no pool orders" in pool.state_reason
    assert sizes(running) == {}
    with running.connect() as console:
        console.execute(b"RELOAD")
    assert poll(lambda: _applied(pooler, pool), WITHIN_S) == "applied: "
    pool.edit(None, size=7, state=PoolState.PENDING)
    second = deployment.apply_pooler(pooler)
    assert second, reason_of(pool)
    pool.edit(None, size=8, state=PoolState.PENDING)
    third = deployment.apply_pooler(pooler)
    second.refresh_from_db()
    assert (second.state, third.state, third.number) == (RevisionState.FAILED, RevisionState.PENDING, 3)
    assert fetch().returncode == 0
    assert poll(lambda: _applied(pooler, pool), WITHIN_S) == "applied: "
    assert sizes(running) == {"orders": 8}
    pool.edit(None, removal_requested_at=pool.created_at)
    deployment.apply_pooler(pooler)
    assert Pool.objects.filter(pk=pool.pk).exists()  # The pool stays until the console shows that it is removed.
    assert fetch().returncode == 0
    poll(lambda: (deployment.apply_pooler(pooler) is None and not Pool.objects.exists(), None), WITHIN_S)
    assert (sizes(running), Pool.objects.count()) == ({}, 0)


@pytest.mark.parametrize("program", ["installed"], indirect=True)
def test_what_the_console_shows_otherwise_is_drift(
    running: FetchingPgBouncer, fetch: Fetch, make_pool: MakePool, pooler: Pooler
) -> None:
    pool = make_pool()
    deployment.apply_pooler(pooler)
    fetch()
    assert poll(lambda: _applied(pooler, pool), WITHIN_S) == "applied: "
    drift.check(pooler)
    assert reason_of(pool) == "applied: "
    ini = running.files / "pooldeck.ini"
    ini.write_text(ini.read_text().replace("pool_size=3", "pool_size=4"))
    with running.connect() as console:
        console.execute(b"RELOAD")
    poll(lambda: (drift.check(pooler) or reason_of(pool) != "applied: ", None), WITHIN_S)
    assert reason_of(pool) == "drifted: the pooler has pool orders with pool_size 4, not 3"


@pytest.mark.parametrize("program", ["installed"], indirect=True)
def test_nothing_is_touched_where_nothing_changed_or_the_panel_refuses(
    running: FetchingPgBouncer, fetch: Fetch, pooler: Pooler
) -> None:
    before = {path.name: path.stat().st_ino for path in running.files.iterdir()}
    again = fetch()
    assert (again.returncode, again.stderr) == (0, b"")
    ApiToken.objects.all().delete()
    refused = fetch()
    assert b"the panel answered 401: the files stay as they are" in refused.stderr
    assert {path.name: path.stat().st_ino for path in running.files.iterdir()} == before


@pytest.mark.parametrize("program", ["installed"], indirect=True)
def test_lines_of_ones_own_stay_in_the_list_of_users(
    running: FetchingPgBouncer, fetch: Fetch, make_pool: MakePool, pooler: Pooler
) -> None:
    own = running.home / "own-users"
    account.write_private(own, '"monitor" "of-the-operator"\n')
    pool = make_pool()
    deployment.apply_pooler(pooler)
    assert fetch(OWN_USERS=str(own)).returncode == 0
    assert (running.files / "pooldeck_userlist.txt").read_text().startswith('"monitor" "of-the-operator"\n')
    assert poll(lambda: _applied(pooler, pool), WITHIN_S) == "applied: "


@pytest.mark.parametrize("program", ["installed"], indirect=True)
def test_a_watched_pooler_becomes_a_pulled_one_by_its_delivery_and_no_take_over(
    running: FetchingPgBouncer, pooler: Pooler, cluster: Cluster
) -> None:
    Pooler.objects.update(config_dir="", delivery="worker")
    admin, url = bearer(), f"/api/v1/poolers/{pooler.pk}/"
    refused = admin.post(f"{url}take-over/", {"delivery": "pull", "dry_run": True}, "json")
    assert (refused.status_code, list(refused.json())) == (400, ["delivery"])
    assert "set its delivery to pull and its config_dir" in str(refused.json())
    changed = admin.patch(url, {"delivery": "pull", "config_dir": str(running.files)}, "json")
    assert changed.status_code == 200
    read = changed.json()
    assert (read["management"], read["delivery"], read["state"], read["error"]) == ("managed", "pull", "online", "")
