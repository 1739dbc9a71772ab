"""Units are started by systemctl where the account may, and only those that start the panel's own file."""

from pathlib import Path

import pytest

from pools.hosts import units, worker
from pools.hosts.base import HostRefused
from pools.hosts.worker import WorkerConnection

MAINS = {"pgbouncer@2": "/etc/pgbouncer/pgbouncer-2.ini", "pgbouncer@3": "/etc/pgbouncer/pgbouncer-3.ini"}
SYSTEMCTL = """#!/bin/sh
echo "systemctl $*" >> {log}
case "$1" in
show) number=${{3#pgbouncer@}}
  echo LoadState={state}
  echo "ExecStart={{ argv[]=/usr/sbin/pgbouncer {folder}/pgbouncer-$number.ini ; status=0/0 }}" ;;
esac
"""
SUDO = '#!/bin/sh\necho "sudo $*" >> {log}\nexit {code}\n'


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the programs in the folder that is looked into first were called with."""
    monkeypatch.setattr(worker, "PATH", f"{tmp_path}:{worker.PATH}")
    return tmp_path / "log"


def program(log: Path, name: str, text: str, **words: object) -> None:
    path = log.with_name(name)
    path.write_text(text.format(log=log, **words))
    path.chmod(0o755)


def systemctl(log: Path, state: str = "loaded", folder: str = "/etc/pgbouncer") -> None:
    program(log, "systemctl", SYSTEMCTL, state=state, folder=folder)


class AsRoot(WorkerConnection):
    """This host, as root."""

    uid = 0


class AsOther(WorkerConnection):
    """This host, as another account."""

    uid = 1000


def test_root_starts_them_now_and_at_each_boot(log: Path) -> None:
    systemctl(log)
    units.start(AsRoot(), MAINS)
    assert log.read_text().splitlines()[-1] == "systemctl enable --now pgbouncer@2 pgbouncer@3"


def test_another_account_starts_them_where_sudo_lets_it_do_just_that(log: Path) -> None:
    systemctl(log)
    program(log, "sudo", SUDO, code=0)
    units.start(AsOther(), MAINS)
    assert log.read_text().splitlines()[-2:] == [
        "sudo -n -l systemctl enable --now pgbouncer@2 pgbouncer@3",
        "sudo -n systemctl enable --now pgbouncer@2 pgbouncer@3",
    ]


def test_nothing_is_started_where_sudo_does_not_let_it(log: Path) -> None:
    systemctl(log)
    program(log, "sudo", SUDO, code=1)
    with pytest.raises(HostRefused, match="the panel's account there may start no units, by sudo either"):
        units.start(AsOther(), MAINS)
    assert "sudo -n systemctl" not in log.read_text()


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"state": "not-found"}, "unit pgbouncer@2 is not installed there"),
        ({"folder": "/srv/other"}, "unit pgbouncer@2 there does not start /etc/pgbouncer/pgbouncer-2.ini"),
    ],
)
def test_a_unit_of_somebody_else_is_left_alone(log: Path, found: dict[str, str], words: str) -> None:
    systemctl(log, **found)
    with pytest.raises(HostRefused, match=words):
        units.start(AsRoot(), MAINS)
    assert "enable" not in log.read_text()


def test_a_host_without_systemd_is_told_so(log: Path) -> None:
    program(log, "systemctl", "#!/bin/sh\nexit 1\n")
    with pytest.raises(HostRefused, match="systemd does not run there"):
        units.start(AsRoot(), MAINS)
