"""Who listens at a pooler's address, on sockets and processes of this test's own."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pools.models import Pooler
from pools.poolers import local_process


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
