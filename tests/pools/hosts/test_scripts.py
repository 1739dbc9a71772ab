"""The scripts that run on other hosts, run here: what a reader finds after they were ended at any of their steps."""

import os
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pools.errors import ApplyFailed, LockLost, OutcomeUnknown
from pools.hosts import ssh_files
from pools.hosts.base import (
    ABSENT,
    PATH,
    RUN_S,
    SCRIPTS,
    Access,
    CompletedCommand,
    HostConnection,
    HostRefused,
    LogPosition,
    PlacedFile,
    UnsafeFolder,
    script,
)
from pools.hosts.worker import WorkerConnection
from tests.drawing import DRAWS

OLD: dict[str, bytes | None] = {
    "pgbouncer.ini": b"old",
    "pooldeck.ini": b"old" * 5000,
    "gone.ini": b"old",
    "new.ini": None,
}
NEW: dict[str, bytes | None] = {
    "pgbouncer.ini": b"new",
    "pooldeck.ini": b"new" * 9000,
    "gone.ini": None,
    "new.ini": b"",
}
HOST = WorkerConnection()
EVERY_STEP = DRAWS == "anew"
TOOLS = ("cat", "cp", "head", "ln", "mkdir", "mv", "rm", "sync")  # programs that change files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration folder with old files in it."""
    made = tmp_path / "config"
    made.mkdir(mode=0o700)
    for name, content in OLD.items():
        if content is not None:
            (made / name).write_bytes(content)
    return made


def held(folder: Path) -> dict[str, bytes | None]:
    """What a program would read there now, through whatever links."""
    return {name: (folder / name).read_bytes() if (folder / name).exists() else None for name in OLD}


@pytest.fixture
def shims(tmp_path: Path) -> Path:
    """A folder of tools that count their calls, and end the script that calls one for the Nth time."""
    made = tmp_path / "shims"
    made.mkdir()
    text = f"""#!/bin/sh
count=$(($(/bin/cat "$COUNTER") + 1))
echo "$count" > "$COUNTER"
[ "$count" -ne "$END_BEFORE" ] || {{ kill -9 "$SCRIPT_PID"; exit 137; }}
PATH={PATH} exec "${{0##*/}}" "$@"
"""
    for tool in TOOLS:
        (made / tool).write_text(text)
        (made / tool).chmod(0o755)
    return made


def seen_in(folder: Path) -> str:
    """The words by which the script knows that the files are those that were read."""
    contents = ssh_files.read(HOST, str(folder), list(OLD))
    return " ".join([ssh_files.files_digest(contents), *contents])


def replace_until(folder: Path, shims: Path, end_before: int) -> int:
    """Run replace.sh, ended before its call of a tool of that number; return the number of calls."""
    counter = shims.parent / "counter"
    counter.write_text("0")
    stream = b"".join(content for content in NEW.values() if content is not None)
    pairs = [word for name, content in NEW.items() for word in (name, "-" if content is None else str(len(content)))]
    text = f"SCRIPT_PID=$$\nexport SCRIPT_PID\n{script('replace.sh')}"
    subprocess.run(
        ["sh", "-c", text, "replace.sh", str(folder), "-", seen_in(folder), str(len(stream)), *pairs],
        input=stream,
        env={"PATH": f"{shims}:{PATH}", "COUNTER": str(counter), "END_BEFORE": str(end_before)},
        capture_output=True,
        check=False,
    )
    return int(counter.read_text())


def test_a_script_killed_before_any_step_leaves_all_old_files_or_all_new_ones(folder: Path, shims: Path) -> None:
    steps = replace_until(folder, shims, 0)
    assert (held(folder), steps > 25) == (NEW, True)
    seen = []
    for step in range(1, steps + 1, 1 if EVERY_STEP else 2):
        ssh_files.replace(HOST, str(folder), OLD)
        replace_until(folder, shims, step)
        found = held(folder)
        assert found in (OLD, NEW), step
        assert ssh_files.read(HOST, str(folder), list(OLD)) == found
        seen.append(found == NEW)
        ssh_files.replace(HOST, str(folder), found)  # completes it
        assert {path.name for path in folder.iterdir()} == {
            name for name, content in found.items() if content is not None
        }
    assert seen == sorted(seen)  # there is one moment
    assert set(seen) == {False, True}


def test_files_that_arrive_cut_off_are_never_used(folder: Path) -> None:
    done = HOST.script("replace.sh", str(folder), "-", seen_in(folder), "100", "pgbouncer.ini", "100", stdin=b"x" * 99)
    assert (done.exit_code, held(folder)) == (ssh_files.TORN, OLD)
    assert {path.name for path in folder.iterdir()} == {"pgbouncer.ini", "pooldeck.ini", "gone.ini"}


def test_what_a_lost_worker_sent_undoes_nothing_when_it_arrives_late(folder: Path) -> None:
    seen, late = seen_in(folder), ("9", "pooldeck.ini", "9")
    ssh_files.replace(HOST, str(folder), NEW)
    done = HOST.script("replace.sh", str(folder), "-", seen, *late, stdin=b"from late")
    assert (done.exit_code, held(folder)) == (ssh_files.OTHERS, NEW)
    assert not (folder / ".pooldeck").exists()


class Overtaken(WorkerConnection):
    """A host where a lost worker's files arrive between this process's reading and its writing."""

    def __init__(self, times: int) -> None:
        self.times = times

    def script(self, name: str, *words: str, stdin: bytes = b"", timeout_s: float = RUN_S) -> CompletedCommand:
        if "replace.sh" in words and self.times:
            self.times -= 1
            ssh_files.replace(HOST, words[0], NEW | {"pooldeck.ini": f"late {self.times}".encode()})
        return super().script(name, *words, stdin=stdin, timeout_s=timeout_s)


def test_files_that_change_before_they_are_replaced_are_read_again(folder: Path) -> None:
    wanted = OLD | {"gone.ini": b"changed alone"}
    ssh_files.replace(Overtaken(2), str(folder), wanted)
    assert held(folder) == wanted
    with pytest.raises(ApplyFailed, match="another process changes its files at the same time"):
        ssh_files.replace(Overtaken(9), str(folder), NEW)


def test_who_lost_the_lock_reads_and_writes_no_further_time(folder: Path) -> None:
    def refuse() -> None:
        raise LockLost("another worker took over")

    ssh_files.replace(HOST, str(folder), OLD, None, refuse)
    with pytest.raises(LockLost):
        ssh_files.replace(Overtaken(1), str(folder), OLD, None, refuse)
    assert held(folder) == NEW | {"pooldeck.ini": b"late 0"}


class Ending(WorkerConnection):
    """A host where a script's end is not what it did: it replaced everything."""

    def __init__(self, end: CompletedCommand | HostRefused) -> None:
        self.end = end

    def script(self, name: str, *words: str, stdin: bytes = b"", timeout_s: float = RUN_S) -> CompletedCommand:
        done = super().script(name, *words, stdin=stdin, timeout_s=timeout_s)
        if "read.sh" in words:
            return done
        if isinstance(self.end, HostRefused):
            raise self.end
        return self.end


@pytest.mark.parametrize(
    "end", [HostRefused("it took too long"), CompletedCommand(137, b"", b"")], ids=["too late", "killed"]
)
def test_a_script_that_was_ended_may_have_replaced_the_files(folder: Path, end: CompletedCommand | HostRefused) -> None:
    with pytest.raises(OutcomeUnknown, match=r"replace\.sh .* what it did on its host is not known"):
        ssh_files.replace(Ending(end), str(folder), NEW)
    assert held(folder) == NEW


class WithTools(WorkerConnection):
    """A host that finds the tools of a folder first."""

    def __init__(self, tools: Path) -> None:
        self.path = f"{tools}:{PATH}"

    def run(self, argv: Sequence[str], *, environment: Any = None, **others: Any) -> CompletedCommand:
        return super().run(argv, environment={"PATH": self.path, **(environment or {})}, **others)


@pytest.mark.parametrize("names", [["pgbouncer.ini"], ["pgbouncer.ini", "gone.ini"]])
def test_new_files_that_are_not_stored_for_good_are_not_called_unchanged(
    folder: Path, tmp_path: Path, names: list[str]
) -> None:
    (bin_folder := tmp_path / "bin").mkdir()
    sync = bin_folder / "sync"
    sync.write_text(
        '#!/bin/sh\n[ "$1" != . ] || ! grep -q new pgbouncer.ini || '
        f'{{ echo "sync: error syncing: Input/output error" >&2; exit 1; }}\nPATH={PATH} exec sync "$@"\n'
    )
    sync.chmod(0o755)
    with pytest.raises(OutcomeUnknown, match="has new files, which its host could not store for good: Input/output"):
        ssh_files.replace(WithTools(bin_folder), str(folder), {name: NEW[name] for name in names})
    assert {name: held(folder)[name] for name in names} == {name: NEW[name] for name in names}


def test_a_second_writer_waits_for_the_first(folder: Path) -> None:
    with subprocess.Popen(["flock", str(folder), "sleep", "1"]):
        ssh_files.replace(HOST, str(folder), NEW)
    assert held(folder) == NEW


@pytest.mark.parametrize("names", [["pgbouncer.ini"], ["pgbouncer.ini", "gone.ini"]])
def test_both_writers_complete_each_others_work(folder: Path, shims: Path, names: list[str]) -> None:
    for step in (10, 18, 26):
        replace_until(folder, shims, step)
        found = held(folder)
        HOST.replace(str(folder), found)
        assert held(folder) == found
        assert not (folder / ".pooldeck").exists()
        ssh_files.replace(HOST, str(folder), OLD)


def test_modes_and_owners_are_those_of_the_folder(folder: Path) -> None:
    folder.chmod(0o2750)
    if os.geteuid() == 0:
        os.chown(folder, 65534, 4)  # a group that its owner is not in
        folder.chmod(0o2750)
    ssh_files.replace(HOST, str(folder), NEW)
    for path in folder.iterdir():
        found = path.lstat()
        assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o640, folder.stat().st_uid)
        assert found.st_gid == folder.stat().st_gid


def test_names_that_a_shell_would_take_apart_are_refused(folder: Path) -> None:
    for name in ("a b", "a'b", "$(id)", "../up", "*", ""):
        with pytest.raises(UnsafeFolder, match="can't be written by SSH"):
            ssh_files.replace(HOST, str(folder), {name: b"x"})
    with pytest.raises(ApplyFailed):
        ssh_files.replace(HOST, str(folder), {"..": b"x"})


def test_a_file_that_looks_like_the_scripts_own_output_is_read_as_it_is(folder: Path) -> None:
    content = b"\n0123456789abcdef file\n\0\n"
    (folder / "pgbouncer.ini").write_bytes(content)
    assert ssh_files.read(HOST, str(folder), ["gone.ini", "pgbouncer.ini", "nowhere"]) == {
        "gone.ini": b"old",
        "pgbouncer.ini": content,
        "nowhere": None,
    }


@pytest.fixture(params=sorted(path.name for path in SCRIPTS.iterdir()))
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each script."""
    return request.param


def test_every_script_parses_in_a_posix_shell(name: str) -> None:
    assert subprocess.run(["sh", "-n", SCRIPTS / name], check=False).returncode == 0


def test_files_that_are_there_keep_their_access_and_new_ones_get_the_given_one(folder: Path) -> None:
    (folder / "pgbouncer.ini").chmod(0o644)
    (folder / "pooldeck.ini").chmod(0o4751)
    me = Access(os.geteuid(), os.getegid(), 0o640)
    new = {"pgbouncer.ini": b"new", "pooldeck.ini": b"new", "made.ini": b"new"}
    ssh_files.replace(HOST, str(folder), new, me)
    modes = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in new}
    assert modes == {"pgbouncer.ini": 0o644, "pooldeck.ini": 0o751, "made.ini": 0o640}


@pytest.fixture
def without_ls(tmp_path: Path) -> WithTools:
    """A host whose ls fails, as without /proc, or for a name that is gone in this moment."""
    (made := tmp_path / "without-ls").mkdir()
    (made / "ls").write_text("#!/bin/sh\necho 'ls: it is gone' >&2\nexit 1\n")
    (made / "ls").chmod(0o755)
    return WithTools(made)


def test_what_ls_does_not_tell_is_an_error_of_the_host_and_nothing_is_changed(
    folder: Path, without_ls: WithTools
) -> None:
    path = str(folder / "pgbouncer.ini")
    with pytest.raises(HostRefused, match=r"pgbouncer\.ini can't be read: ls: it is gone"):
        without_ls.read_after(path, None, 100)
    with pytest.raises(PermissionError):
        HostConnection.file_at(without_ls, path)
    assert without_ls.list_folder(str(folder)) == []
    with pytest.raises(UnsafeFolder, match="can't be opened: it is gone"):
        ssh_files.read(without_ls, str(folder), list(OLD))
    done = without_ls.script("replace.sh", str(folder), "-", seen_in(folder), "1", "pgbouncer.ini", "1", stdin=b"x")
    assert (done.exit_code, held(folder)) == (ssh_files.NOT_OPENED, OLD)
    assert without_ls.script("version.sh", "sh").exit_code == ABSENT


class Greeting(WorkerConnection):
    """A host whose shell prints words of its own before what a program prints."""

    def run(self, argv: Sequence[str], **others: Any) -> CompletedCommand:
        done = super().run(argv, **others)
        return replace(done, stdout=b"Welcome to db-1!\n" + done.stdout)


def test_an_answer_with_words_of_a_shell_is_an_error_that_names_the_remedy(folder: Path) -> None:
    host, path = Greeting(), str(folder / "pgbouncer.ini")
    asked: dict[str, Callable[[], object]] = {
        "read_after.sh": lambda: host.read_after(path, LogPosition(0, 0), 100),
        "file.sh": lambda: HostConnection.file_at(host, path),
        "list.sh": lambda: host.list_folder(str(folder)),
        "read.sh": lambda: ssh_files.read(host, str(folder), list(OLD)),
    }
    for name, ask in asked.items():
        with pytest.raises((HostRefused, UnsafeFolder)) as refused:
            ask()
        assert f"the answer of {name} on the host can't be read: Welcome to db-1!" in str(refused.value)
        assert str(refused.value).endswith("let it print none without a terminal")


@pytest.mark.parametrize("follow", [True, False])
def test_a_file_is_read_with_its_access_as_the_worker_reads_it(folder: Path, follow: bool) -> None:
    path = folder / "pgbouncer.ini"
    path.write_bytes(b"\xff\nx")
    path.chmod(0o640)
    (folder / "link").symlink_to(path)
    (folder / "dangling").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe")
    for name in ("pgbouncer.ini", "link", "dangling", "pipe", "nowhere", "nowhere/deeper"):
        by_script, by_descriptor = (_found(kind, folder / name, follow) for kind in (HostConnection, WorkerConnection))
        assert by_script == by_descriptor, name
    assert _found(HostConnection, path, follow) == PlacedFile(b"\xff\nx", Access(os.geteuid(), os.getegid(), 0o640))


def _found(kind: type[HostConnection], path: Path, follow: bool) -> object:
    try:
        return kind.file_at(HOST, str(path), follow=follow)
    except OSError as error:
        return type(error).__name__, str(error)
