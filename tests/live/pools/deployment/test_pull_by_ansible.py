"""The Ansible play of docs/pull, carried out by ansible-playbook beside a real PgBouncer."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.accounts.models import ApiToken, Scope
from core.lib.polling import poll
from panel.quickstart import account
from panel.quickstart.servers import free_port
from pools import deployment
from pools.inventory import fetches
from pools.inventory.fetches import FetchState
from pools.models import Pooler
from pools.views.fetches import EXAMPLES, FOLDER, filled
from tests.callers import person
from tests.live.pools.conftest import LogIn, MakePool
from tests.live.pools.deployment.test_pull import WITHIN_S, FetchingPgBouncer, sizes

pytest.importorskip("ansible", reason="ansible-core is not installed")
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
NAME = "ansible.yml"
OWN = '"monitor" "of-the-operator"\n'
Play = Callable[[], dict[str, int]]


class PlayedPgBouncer(FetchingPgBouncer):
    """Its list of users is put together of the operator's lines and the panel's, as the play does."""

    __test__ = False

    @property
    def users(self) -> Path:
        return self.etc / "userlist.txt"

    @property
    def etc(self) -> Path:
        return self.home / "etc"


@pytest.fixture
def pgbouncer(tmp_path_factory: pytest.TempPathFactory) -> PlayedPgBouncer:
    """Not started: it has no file before the first play."""
    home = tmp_path_factory.mktemp("play")
    made = PlayedPgBouncer(home, free_port(), "pooldeck", "console-password")
    for folder in (home, made.etc, made.etc / "users.d"):
        account.make_folder(folder)
    account.write_private(made.etc / "users.d" / "10-own.txt", OWN)
    return made


@pytest.fixture
def pooler(db: None, pgbouncer: PlayedPgBouncer) -> Pooler:
    login = {"host": pgbouncer.host, "port": pgbouncer.port, "admin_user": pgbouncer.admin_user}
    made = Pooler(name="played", config_dir=str(pgbouncer.files), delivery="pull", **login)
    made.admin_password = pgbouncer.admin_password
    made.save(force_insert=True)
    return made


@pytest.fixture
def play(pooler: Pooler, pgbouncer: PlayedPgBouncer, live_server: Any, tmp_path: Path) -> Play:
    """Carries out the play as it is downloaded from the pooler's page; returns its recap: word → count."""
    book, own = tmp_path / NAME, tmp_path / "vars.json"
    book.write_text(filled((FOLDER / NAME).read_text(), EXAMPLES[NAME].folder, live_server.url, pooler))
    reload = tmp_path / "reload"
    pid = pgbouncer.home / "pgbouncer.pid"
    reload.write_text(
        f'#!/bin/sh\n[ -s {pid} ] || exit 0\necho reloaded >> {tmp_path}/log\nexec kill -HUP "$(cat {pid})"\n'
    )
    reload.chmod(0o755)
    owner = account.unprivileged()
    given = {"pgbouncer_etc": str(pgbouncer.etc), "pgbouncer_reload": str(reload)}
    given |= {
        "pgbouncer_owner": owner.name if owner else os.environ["USER"],
        "ansible_python_interpreter": sys.executable,
    }
    own.write_text(json.dumps(given))
    token = ApiToken.objects.issue(person(), "play", [Scope.APPLY], limited_to=pooler.pk)
    told = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "POOLDECK_TOKEN": token}
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    argv = [program, "--connection=local", "--inventory=pgbouncers,", f"--extra-vars=@{own}", str(book)]

    def run() -> dict[str, int]:
        ended = subprocess.run(argv, env=told, capture_output=True, check=False, cwd=tmp_path, timeout=120, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert token not in ended.stdout + ended.stderr
        recap = ended.stdout.rpartition("PLAY RECAP")[2]
        return {word: int(count) for word, count in re.findall(r"(\w+)=(\d+)", recap)}

    return run


def test_the_play_puts_files_in_place_reloads_once_and_changes_nothing_where_nothing_changed(
    play: Play, pgbouncer: PlayedPgBouncer, make_pool: MakePool, pooler: Pooler, log_in: LogIn, tmp_path: Path
) -> None:
    assert play()["failed"] == 0
    assert pgbouncer.users.read_text().startswith(OWN)
    with pgbouncer:
        pool = make_pool()
        deployment.apply_pooler(pooler)
        assert play()["changed"] > 0
        assert (tmp_path / "log").read_text() == "reloaded\n"

        def applied() -> tuple[bool, str]:
            deployment.apply_pooler(pooler)
            pool.refresh_from_db()
            return pool.state == "applied", f"{pool.state}: {pool.state_reason}"

        poll(applied, WITHIN_S)
        assert sizes(pgbouncer) == {"orders": 3}
        assert log_in("orders") == "app"
        assert pgbouncer.users.read_text().startswith(OWN)
        (fetcher,) = fetches.of(pooler)
        assert (fetcher.token.name, fetcher.revision, fetcher.state) == ("play", 1, FetchState.VERIFIED)
        assert play()["changed"] == 0
        assert (tmp_path / "log").read_text() == "reloaded\n"


def test_files_that_another_play_left_half_are_put_in_place_by_the_next(
    play: Play, pgbouncer: PlayedPgBouncer, pooler: Pooler, tmp_path: Path
) -> None:
    play()
    with pgbouncer:
        (pgbouncer.files / ".etag").unlink()  # it is noted last
        (pgbouncer.files / "pooldeck.ini").unlink()
        assert play()["changed"] > 0
        assert (pgbouncer.files / "pooldeck.ini").exists()
        assert (tmp_path / "log").read_text() == "reloaded\n"
