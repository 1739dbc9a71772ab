"""Who listens at a pooler's address, on sockets and processes of this test's own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest

from pools.models import Pooler
from pools.poolers import local_process

NOBODY = 65534  # of Debian


@pytest.fixture(params=["127.0.0.1", "::1", "0.0.0.0", "::"])
def listener(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """A socket that listens: where clients reach it, and its port."""
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with socket.socket(family) as server:
        server.bind((request.param, 0))
        server.listen()
        yield "::1" if request.param == "::1" else "127.0.0.1", server.getsockname()[1]


def test_a_listening_socket_of_this_host_is_found(listener: tuple[str, int]) -> None:
    host, port = listener
    assert local_process.listens_here(Pooler(host=host, port=port))


def test_a_name_is_resolved() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert local_process.listens_here(Pooler(host="localhost", port=server.getsockname()[1]))


def test_a_client_of_the_port_does_not_listen_there(listener: tuple[str, int]) -> None:
    with socket.create_connection(listener) as client:
        assert not local_process.listens_here(Pooler(host=listener[0], port=client.getsockname()[1]))


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "no-such-host.invalid"])
def test_another_host_is_never_taken_for_this_one(host: str, listener: tuple[str, int]) -> None:
    assert not local_process.listens_here(Pooler(host=host, port=listener[1]))


def test_a_socket_in_a_folder_is_found(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / ".s.PGSQL.6432"))
        server.listen()
        assert local_process.listens_here(Pooler(host=str(tmp_path), port=6432))
    assert not local_process.listens_here(Pooler(host=str(tmp_path), port=6433))


def test_a_program_is_asked_for_its_version_again_once_it_was_replaced(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    program, asked = tmp_path / "pgbouncer-of-ours", tmp_path / "asked"
    nobody = Pooler(host="192.0.2.1", port=6432, config_dir=str(tmp_path))

    def found(release: str) -> str | None:
        words = "pgbouncer-of-ours", str(tmp_path), lambda printed: printed == f"PgBouncer {release}\n"
        return local_process.find_program(nobody, *words)

    for release in ("1.18.0", "1.24.1"):
        made = tmp_path / "made"
        made.write_text(f"#!/bin/sh\necho x >> {asked}\necho PgBouncer {release}\n")
        made.chmod(0o755)
        made.rename(program)
        assert [found(release), found(release), found("1.99.0")] == [str(program), str(program), None]
    assert asked.read_text() == "x\nx\n"


def test_a_program_that_can_not_be_started_is_not_taken_by_the_error_that_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "1.18.0"
    folder.mkdir()
    program = folder / "pgbouncer-of-ours"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    nobody = Pooler(host="192.0.2.1", port=6432, config_dir=str(tmp_path))
    assert local_process.find_program(nobody, program.name, str(folder), lambda printed: "1.18.0" in printed) is None


def test_each_process_that_holds_the_socket_counts(tmp_path: Path) -> None:
    program = tmp_path / "pgbouncer-of-ours"
    program.write_bytes(Path("/usr/bin/sleep").read_bytes())
    program.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as server:
        pooler = Pooler(host="127.0.0.1", port=server.getsockname()[1])
        children = [subprocess.Popen([str(program), "60"], pass_fds=[server.fileno()]) for _ in range(2)]
        try:
            assert local_process.pids(pooler, "pgbouncer-of-ours") == tuple(sorted(child.pid for child in children))
        finally:
            for child in children:
                child.kill()
                child.wait()


def test_the_process_on_the_poolers_files_is_asked_first_for_its_sockets(tmp_path: Path) -> None:
    config = tmp_path / "config" / "pgbouncer.ini"
    config.parent.mkdir()
    config.touch()
    programs = [tmp_path / f"pgbouncer-{which}" for which in ("of-others", "of-ours")]
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as ends:
        pooler = Pooler(host="127.0.0.1", port=server.getsockname()[1], config_dir=str(config.parent))
        for program, file in zip(programs, ("/dev/null", str(config)), strict=True):
            program.write_bytes(Path("/usr/bin/tail").read_bytes())
            program.chmod(0o755)
            child = ends.enter_context(subprocess.Popen([str(program), "-f", file], pass_fds=[server.fileno()]))
            ends.callback(child.kill)
        assert list(local_process.programs(pooler, "pgbouncer-of")) == [str(program) for program in reversed(programs)]


def test_only_a_program_of_that_name_counts(tmp_path: Path) -> None:
    program = tmp_path / "pgbouncer-of-ours"
    program.write_bytes(Path("/usr/bin/sleep").read_bytes())
    program.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as server:
        pooler = Pooler(host="127.0.0.1", port=server.getsockname()[1])
        with subprocess.Popen([str(program), "60"], pass_fds=[server.fileno()]) as child:
            try:
                assert list(local_process.programs(pooler, "pgbouncer-of")) == [str(program)]
                assert list(local_process.programs(pooler, "pgpool")) == []
                assert (local_process.pids(pooler, "pgbouncer"), local_process.pids(pooler, "pgpool")) == (
                    (child.pid,),
                    (),
                )
                program.unlink()
                assert list(local_process.programs(pooler, "pgbouncer-of")) == [f"/proc/{child.pid}/exe"]
            finally:
                child.kill()


OTHER = 65534  # nobody


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every account may enter, and root alone may write."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def script(path: Path, text: str = "echo PgBouncer 1.18.0") -> Path:
    """A program that prints a release."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def found_on(path: Path) -> str | None:
    """The program of that name that a search of its folder finds, for a pooler whose folder is root's."""
    nobody = Pooler(host="192.0.2.1", port=6432, config_dir="/etc")
    return local_process.find_program(nobody, path.name, str(path.parent), lambda printed: "1.18.0" in printed)


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another account")


@as_root
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_program_of_another_account_is_never_started(folder: Path, what: str) -> None:
    asked = folder / "asked"
    program = script(folder / "bin" / "pgbouncer-of-others", f"touch {asked}; echo PgBouncer 1.18.0")
    os.chown(program if what == "file" else program.parent, OTHER, OTHER)
    assert found_on(program) is None
    assert not asked.exists()


@pytest.mark.parametrize(("mode", "gid"), [(0o757, 0), (0o775, 50)])
def test_a_program_that_others_may_write_is_never_started(folder: Path, mode: int, gid: int) -> None:
    program = script(folder / "bin" / "pgbouncer-of-ours")
    assert found_on(program) == str(program)
    for path in (program, program.parent):
        if os.geteuid() == 0:
            os.chown(path, 0, gid)
        path.chmod(mode)
        assert found_on(program) is None
        path.chmod(0o755)
    assert found_on(program) == str(program)


@as_root
def test_a_link_of_others_to_a_program_is_followed_once(folder: Path) -> None:
    program = script(folder / "bin" / "pgbouncer-of-ours")
    linked = folder / "links" / program.name
    linked.parent.mkdir()
    linked.symlink_to(program)
    os.chown(linked.parent, OTHER, OTHER)
    assert found_on(linked) == str(program)


def test_a_program_sees_nothing_of_the_workers_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POOLDECK_KEYS", "POOLDECK_SECRET_KEY", "DATABASE_URL", "REDIS_URL", "LD_PRELOAD_OF_OURS"):
        monkeypatch.setenv(name, "secret")
    assert found_on(script(folder / "pgbouncer-that-tells", f"env > {folder}/env; echo PgBouncer 1.18.0"))
    names = {line.partition("=")[0] for line in (folder / "env").read_text().splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} <= {"PATH", "LANG", "LC_ALL", "TZ"}


def test_another_program_on_the_path_is_asked_where_the_first_is_of_another_release(folder: Path) -> None:
    script(folder / "first" / "pgbouncer-of-ours", "echo PgBouncer 1.12.0")
    program = script(folder / "second" / "pgbouncer-of-ours")
    nobody = Pooler(host="192.0.2.1", port=6432, config_dir="/etc")
    search_path = f"{folder}/first::{folder}/second"
    assert local_process.find_program(nobody, program.name, search_path, lambda text: "1.18.0" in text) == str(program)


@as_root
def test_the_process_of_another_account_is_not_the_pooler(folder: Path) -> None:
    program = folder / "pgbouncer-of-others"
    program.write_bytes(Path("/usr/bin/tail").read_bytes())
    program.chmod(0o755)
    config = folder / "config"
    config.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as ends:
        pooler = Pooler(host="127.0.0.1", port=server.getsockname()[1], config_dir=str(config))
        words = ["setpriv", f"--reuid={OTHER}", "--clear-groups", str(program), "-f", "/dev/null", str(config)]
        child = ends.enter_context(subprocess.Popen(words, pass_fds=[server.fileno()]))
        ends.callback(child.kill)
        while psutil.Process(child.pid).exe() != str(program):
            time.sleep(0.01)
        assert local_process.pids(pooler, "pgbouncer-of-others") == ()
        (config / "pgbouncer.ini").touch()
        os.chown(config / "pgbouncer.ini", OTHER, OTHER)  # A package leaves the file with this owner.
        assert local_process.pids(pooler, "pgbouncer-of-others") == (child.pid,)


STARTS_ONE = """
import signal, subprocess, sys, time
from pathlib import Path
import django
django.setup()
from pools.poolers import local_process
signal.signal(signal.SIGINT, signal.SIG_DFL)  # what a shell starts in the background ignores it, and so would sleep
print(subprocess.Popen([*local_process.as_owner(Path(sys.argv[1]).stat()), "sleep", "300"]).pid, flush=True)
time.sleep(300)
"""


def test_a_trial_instance_ends_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(tmp_path, NOBODY, NOBODY)  # the change of account clears the signal, unless it is set after it
    with subprocess.Popen([sys.executable, "-c", STARTS_ONE, tmp_path], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        trial = psutil.Process(int(worker.stdout.readline()))
        while trial.name() != "sleep":
            time.sleep(0.02)
        worker.kill()
    trial.wait(30)
