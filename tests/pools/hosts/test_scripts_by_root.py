"""The scripts that run on other hosts, by root's login: whoever owns a folder there gets nothing that it hadn't."""

import os
import secrets
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from pools.errors import ApplyFailed
from pools.hosts import ssh_files
from pools.hosts.base import PATH, RUN_S, Access, CompletedCommand, UnsafeFolder
from pools.hosts.worker import WorkerConnection

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do what its owners can't")
OWNER = 65534
HOST = WorkerConnection()
NAMES = ["pgbouncer.ini", "pooldeck.ini"]
NEW = dict.fromkeys(NAMES, b"new")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration folder of another account."""
    made = tmp_path / "config"
    made.mkdir(mode=0o700)
    for name in NAMES:
        (made / name).write_bytes(b"old")
        (made / name).chmod(0o600)
        os.chown(made / name, OWNER, OWNER)
    os.chown(made, OWNER, OWNER)
    return made


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of root's with a file."""
    made = tmp_path / "precious"
    made.mkdir(mode=0o700)
    (made / "pgbouncer.ini").write_bytes(b"precious")
    (made / "pgbouncer.ini").chmod(0o600)
    return made


def is_untouched(precious: Path) -> bool:
    found = (precious / "pgbouncer.ini").stat()
    return ((precious / "pgbouncer.ini").read_bytes(), found.st_uid, found.st_mode) == (b"precious", 0, 0o100600)


class Planted(WorkerConnection):
    """A host whose folder's owner plants a link in the stage while the new files are on their way."""

    def __init__(self, link: Path, target: Path) -> None:
        self.link, self.target = link, target

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        folder: str = "/",
        timeout_s: float = RUN_S,
    ) -> CompletedCommand:
        if not stdin:
            return super().run(argv, environment=environment, folder=folder, timeout_s=timeout_s)
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env={"PATH": PATH}, cwd="/") as child:
            deadline = time.monotonic() + 10
            while not self.link.parent.exists():
                assert time.monotonic() < deadline
            time.sleep(0.3)  # it waits for stdin
            self.link.symlink_to(self.target)
            out, err = child.communicate(stdin)
        return CompletedCommand(child.returncode, out, err)


@pytest.mark.parametrize("of_new", [None, Access(OWNER, OWNER, 0o640)])
@pytest.mark.parametrize("name", ["new/pgbouncer.ini", "new/pooldeck.ini", "next"])
def test_a_link_in_the_stage_is_not_written_through(
    folder: Path, precious: Path, name: str, of_new: Access | None
) -> None:
    host = Planted(folder / ".pooldeck" / name, precious / "pgbouncer.ini")
    with pytest.raises(ApplyFailed, match="its files are unchanged"):
        ssh_files.replace(host, str(folder), NEW, of_new)
    assert is_untouched(precious)
    assert {name: (folder / name).read_bytes() for name in NAMES} == dict.fromkeys(NAMES, b"old")


def test_a_forged_swap_neither_shows_nor_moves_files_of_others(folder: Path, precious: Path) -> None:
    (folder / ".pooldeck").mkdir()
    (folder / ".pooldeck" / "live").symlink_to("new")
    (folder / ".pooldeck" / "new").symlink_to(precious)
    (folder / "pgbouncer.ini").unlink()
    (folder / "pgbouncer.ini").symlink_to(".pooldeck/live/pgbouncer.ini")
    os.chown(folder / ".pooldeck", OWNER, OWNER)
    assert ssh_files.read(HOST, str(folder), NAMES) == {"pgbouncer.ini": None, "pooldeck.ini": b"old"}
    ssh_files.replace(HOST, str(folder), {})  # completes it
    assert is_untouched(precious)


def test_what_is_there_keeps_its_owner_or_nothing_is_replaced(folder: Path) -> None:
    (folder / "pooldeck.ini").chmod(0o644)
    ssh_files.replace(HOST, str(folder), NEW, Access(OWNER, OWNER, 0o640))
    found = [(folder / name).stat() for name in NAMES]
    assert [(one.st_uid, one.st_gid, one.st_mode & 0o777) for one in found] == [
        (OWNER, OWNER, 0o600),
        (OWNER, OWNER, 0o644),
    ]
    os.chown(folder / "pooldeck.ini", 0, OWNER)
    with pytest.raises(ApplyFailed, match=r"pooldeck\.ini belongs to 0:65534, and uid 65534, .* can't give it to them"):
        ssh_files.replace(HOST, str(folder), dict.fromkeys(NAMES, b"newer"), Access(OWNER, OWNER, 0o640))
    assert (folder / "pooldeck.ini").read_bytes() == b"new"


def test_a_folder_of_roots_that_a_group_may_write_to_is_refused(folder: Path) -> None:
    os.chown(folder, 0, OWNER)
    folder.chmod(0o770)
    for act in (lambda: ssh_files.replace(HOST, str(folder), NEW), lambda: ssh_files.refuse_unsafe(HOST, str(folder))):
        with pytest.raises(UnsafeFolder, match="belongs to root, and its group may write to it: chmod g-w it"):
            act()
    folder.chmod(0o750)
    ssh_files.replace(HOST, str(folder), NEW)


def test_a_host_where_root_cannot_become_the_owner_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "setpriv").write_text("#!/bin/sh\nexit 1\n")  # busybox has a setpriv like this.
    (tmp_path / "setpriv").chmod(0o755)
    monkeypatch.setattr("pools.hosts.worker.PATH", f"{tmp_path}:{PATH}")
    with pytest.raises(UnsafeFolder, match=r"belongs to uid 65534 of its host, .* or install setpriv of util-linux"):
        ssh_files.replace(HOST, str(folder), NEW)
    assert (folder / "pgbouncer.ini").read_bytes() == b"old"


def test_a_link_in_the_place_of_a_trials_log_is_not_read(folder: Path, precious: Path) -> None:
    there = f"/tmp/pooldeck-test-{secrets.token_hex(8)}"
    swap = 'echo READY >&2; ln -sf "$1" "$2"; sleep 30'
    words = ("/bin/sh", str(folder), there, "2", "NEVER", "KILL", "0")
    done = HOST.script("trial.sh", *words, "-c", swap, "sh", str(precious / "pgbouncer.ini"), "@/trial-log")
    assert (done.stdout, done.exit_code) == (b"READY\n", 0)
    assert not Path(there).exists()


def test_a_file_that_becomes_a_link_while_it_is_read_is_not_followed(
    folder: Path, precious: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "pgbouncer.ini"
    (tmp_path / "ls").write_text(f'#!/bin/sh\nln -sf {precious / path.name} {path}\nexec /bin/ls "$@"\n')
    (tmp_path / "ls").chmod(0o755)
    monkeypatch.setattr("pools.hosts.worker.PATH", f"{tmp_path}:{PATH}")
    done = HOST.script("file.sh", str(path), "100")
    assert done.stdout == b"-rw------- 65534 65534\nold"
