"""The home keeps what the next start needs, privately, for one start at a time."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from core.lib import private_files
from panel.quickstart.home import AlreadyRunning, Home, read_json
from panel.quickstart.ports import FREE_WITHIN_S


def opened(path: Path) -> Home:
    home = Home(path)
    home.open()
    return home


def test_passwords_and_values_are_the_same_at_the_next_start(tmp_path: Path) -> None:
    first = opened(tmp_path / "home")
    password = first.password("redis")
    first.keep("demo", "pool", "some-id")
    second = opened(tmp_path / "home")
    assert second.password("redis") == password
    assert second.kept("demo", "pool") == "some-id"
    assert second.kept("demo", "other") is None


def test_passwords_of_different_names_differ(tmp_path: Path) -> None:
    home = opened(tmp_path)
    assert home.password("redis") != home.password("postgres")


def test_keys_are_made_once_and_can_seal(tmp_path: Path) -> None:
    home = opened(tmp_path)
    home.make_keys()
    keys = (tmp_path / "keys").read_text()
    home.make_keys()
    assert (tmp_path / "keys").read_text() == keys
    assert Fernet(keys.strip())


def test_every_file_is_its_owners_only(tmp_path: Path) -> None:
    home = opened(tmp_path)
    home.make_keys()
    home.password("redis")
    home.write_quickstart({"url": "http://127.0.0.1:8000", "username": "admin", "password": "p", "token": "t"})
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir() if path.is_file()}
    assert modes == dict.fromkeys(["secret_key", "keys", "installation.json", "quickstart.json"], "0o600")


def test_a_second_start_is_told_who_holds_the_home_and_where(tmp_path: Path) -> None:
    with Home(tmp_path).opened() as home:
        home.write_holder("http://127.0.0.1:8123")
        with pytest.raises(AlreadyRunning, match=rf"8123 \(pid {os.getpid()}"), Home(tmp_path).opened():
            pass


def test_the_home_is_free_again_after_its_holder_was_killed(tmp_path: Path) -> None:
    hold = (
        f"from pathlib import Path; from panel.quickstart.home import Home; h = Home(Path({str(tmp_path)!r})).opened()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", f"{hold}; h.__enter__(); print(1, flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"1\n"
        with pytest.raises(AlreadyRunning), Home(tmp_path).opened():
            pass
        holder.kill()
    with Home(tmp_path).opened() as home:
        assert home.path == tmp_path


def test_a_broken_json_file_reads_as_empty(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{half")
    assert read_json(tmp_path / "x.json") == {}
    assert read_json(tmp_path / "missing.json") == {}


def test_a_private_file_is_replaced_whole_and_not_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "file.new").symlink_to(victim)
    private_files.replace(tmp_path / "file", "secret")
    assert (tmp_path / "file").read_text() == "secret"
    assert victim.read_text() == "kept"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_a_copied_home_leaves_the_originals_ports_to_it_at_once(tmp_path: Path) -> None:
    first = opened(tmp_path / "home")
    assert not first.is_moved
    port = first.port("redis")
    shutil.copytree(tmp_path / "home", tmp_path / "copy")
    with socket.create_server(("127.0.0.1", port)):
        began = time.monotonic()
        copy = opened(tmp_path / "copy")
        assert copy.port("redis") != port
        assert time.monotonic() - began < FREE_WITHIN_S
    assert not opened(tmp_path / "copy").is_moved
    assert opened(tmp_path / "home").port("redis") == port
