"""Configuration files are replaced whole, kept private, and never through somebody's trap."""

import os
import resource
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from pools.errors import ApplyFailed
from pools.hosts import atomic_write
from pools.hosts.base import UnsafeFolder
from pools.hosts.free_space import DiskFull

STRANGER_UID = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration folder with an old file in it."""
    made = tmp_path / "config"
    made.mkdir(mode=0o700)
    (made / "userlist.txt").write_bytes(b"old")
    return made


def test_replaces_creates_and_removes(folder: Path) -> None:
    (folder / "gone").write_bytes(b"x")
    atomic_write.replace(str(folder), {"userlist.txt": b"new", "pooldeck.ini": b"", "gone": None, "never-was": None})
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"userlist.txt": b"new", "pooldeck.ini": b""}


def test_new_files_are_private_whatever_the_umask_and_the_old_mode(folder: Path) -> None:
    (folder / "userlist.txt").chmod(0o666)
    before = os.umask(0)
    try:
        atomic_write.replace(str(folder), {"userlist.txt": b"new"})
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "userlist.txt").stat().st_mode) == 0o600


def test_a_setgid_folder_shares_its_files_with_its_group(folder: Path) -> None:
    folder.chmod(0o2750)
    atomic_write.replace(str(folder), {"userlist.txt": b"new"})
    assert stat.S_IMODE((folder / "userlist.txt").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write for another account")
def test_root_leaves_files_to_the_folders_owner(folder: Path) -> None:
    os.chown(folder, STRANGER_UID, STRANGER_UID)
    atomic_write.replace(str(folder), {"userlist.txt": b"new"})
    found = (folder / "userlist.txt").stat()
    assert (found.st_uid, found.st_gid) == (STRANGER_UID, STRANGER_UID)


def test_reads_what_is_there_and_none_for_what_is_not(folder: Path) -> None:
    assert atomic_write.read(str(folder), ["userlist.txt", "pooldeck.ini"]) == {
        "userlist.txt": b"old",
        "pooldeck.ini": None,
    }


def test_refuses_a_symbolic_link_in_a_files_place(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "victim"
    target.write_bytes(b"precious")
    (folder / "pooldeck.ini").symlink_to(target)
    with pytest.raises(UnsafeFolder, match=r"pooldeck\.ini is a symbolic link to"):
        atomic_write.replace(str(folder), {"userlist.txt": b"new", "pooldeck.ini": b"new"})
    with pytest.raises(UnsafeFolder, match=r"pooldeck\.ini is a symbolic link to"):
        atomic_write.read(str(folder), ["pooldeck.ini"])
    assert (target.read_bytes(), (folder / "userlist.txt").read_bytes()) == (b"precious", b"old")


@pytest.mark.parametrize("ending", ["", "/"])
def test_refuses_a_folder_that_is_a_symbolic_link(folder: Path, tmp_path: Path, ending: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(UnsafeFolder, match="it is a symbolic link"):
        atomic_write.replace(f"{link}{ending}", {"userlist.txt": b"new"})


def test_refuses_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFolder, match="No such file or directory"):
        atomic_write.refuse_unsafe(str(tmp_path / "nowhere"))


def test_refuses_a_folder_that_everybody_can_write_to(folder: Path) -> None:
    folder.chmod(0o777)
    with pytest.raises(UnsafeFolder, match="writable by everybody"):
        atomic_write.refuse_unsafe(str(folder))


def test_refuses_a_strangers_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(UnsafeFolder, match=r"belongs to uid \d+: give it to uid \d+"):
        atomic_write.refuse_unsafe(str(folder))


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    mounted = tmp_path / "tiny"
    mounted.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", mounted], check=False).returncode:
        pytest.skip("this account can't mount")
    yield mounted
    subprocess.run(["umount", mounted], check=True)


def test_files_that_the_disk_has_no_room_for_are_refused_with_both_sizes_before_anything_is_written(
    tiny_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    atomic_write.replace(str(tiny_disk), {"userlist.txt": b"old", "pooldeck.ini": b"old"})
    monkeypatch.setattr(atomic_write, "replace_behind_link", pytest.fail)
    with pytest.raises(DiskFull) as refused:
        atomic_write.replace(str(tiny_disk), {"userlist.txt": b"new", "pooldeck.ini": b"x" * 100_000})
    assert str(refused.value) == (
        f"{tiny_disk} needs 104 kB for its new files, and its disk has 56 kB free: free some space there; "
        "its files are unchanged"
    )
    assert {path.name for path in tiny_disk.iterdir()} == {"userlist.txt", "pooldeck.ini"}


def test_files_that_just_fit_are_written(tiny_disk: Path) -> None:
    atomic_write.replace(str(tiny_disk), {"pooldeck.ini": b"x" * 64 * 1024})
    assert (tiny_disk / "pooldeck.ini").stat().st_size == 64 * 1024


def test_room_is_wanted_only_for_files_that_change(tiny_disk: Path) -> None:
    atomic_write.replace(str(tiny_disk), {"pooldeck.ini": b"x" * 40 * 1024})
    both = {"pooldeck.ini": b"x" * 40 * 1024, "userlist.txt": b"new"}
    atomic_write.replace(str(tiny_disk), both)
    assert atomic_write.read(str(tiny_disk), list(both)) == both


def test_a_disk_without_a_size_is_tried(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = SimpleNamespace(f_blocks=0, f_bfree=0, f_bavail=0, f_frsize=4096)
    monkeypatch.setattr(os, "fstatvfs", lambda _fd: none)
    atomic_write.replace(str(folder), {"userlist.txt": b"new"})
    assert (folder / "userlist.txt").read_bytes() == b"new"


def test_a_disk_that_gets_full_meanwhile_leaves_every_old_file_whole(
    tiny_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    atomic_write.replace(str(tiny_disk), {"userlist.txt": b"old", "pooldeck.ini": b"old"})
    monkeypatch.setattr(atomic_write, "refuse_full", lambda *_: None)
    with pytest.raises(ApplyFailed, match="could not be written: No space left on device; its files are unchanged"):
        atomic_write.replace(str(tiny_disk), {"userlist.txt": b"new", "pooldeck.ini": b"x" * 100_000})
    assert {path.name: path.read_bytes() for path in tiny_disk.iterdir()} == {
        "userlist.txt": b"old",
        "pooldeck.ini": b"old",
    }


def test_the_old_bytes_can_be_put_back_on_a_full_disk(tiny_disk: Path) -> None:
    atomic_write.replace(str(tiny_disk), {"userlist.txt": b"old"})
    with pytest.raises(OSError, match="No space left"):
        (tiny_disk / "filler").write_bytes(b"x" * 100_000)
    atomic_write.replace(str(tiny_disk), {"userlist.txt": b"old"})


def test_a_file_size_limit_leaves_every_old_file_whole(folder: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(ApplyFailed, match="could not be written: File too large"):
            atomic_write.replace(str(folder), {"userlist.txt": b"x" * 2000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"userlist.txt": b"old"}


WRITER = """
import sys
print("writing", flush=True)
while True:
    for content in (b"a" * 50_000, b"b" * 60_000):
        atomic_write.replace(sys.argv[1], {"userlist.txt": content, "pooldeck.ini": content})
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(folder: Path) -> None:
    contents = [b"a" * 50_000, b"b" * 60_000]
    for trial in range(20):
        with subprocess.Popen([sys.executable, "-c", WRITER, folder], stdout=subprocess.PIPE) as writer:
            assert writer.stdout.readline() == b"writing\n"
            time.sleep(0.001 * trial)
            writer.kill()
        found = atomic_write.read(str(folder), ["userlist.txt", "pooldeck.ini"])
        assert found["userlist.txt"] in (b"old", *contents)
        assert found["pooldeck.ini"] in (None, *contents)
    atomic_write.replace(str(folder), {"userlist.txt": b"new", "pooldeck.ini": b"new"})
    assert {path.name for path in folder.iterdir()} == {"userlist.txt", "pooldeck.ini"}  # nor any leftover


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become the account of the folder")
def test_a_folder_that_the_panel_can_not_write_is_refused_before_an_apply(folder: Path) -> None:
    os.chown(folder, STRANGER_UID, STRANGER_UID)
    folder.chmod(0o500)
    for parent in folder.parents:
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(0o755)
    os.seteuid(STRANGER_UID)
    try:
        with pytest.raises(UnsafeFolder, match="can't be written by the panel's account: chmod u"):
            atomic_write.refuse_unsafe(str(folder))
    finally:
        os.seteuid(0)
    atomic_write.refuse_unsafe(str(folder))
