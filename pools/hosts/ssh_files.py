"""Configuration files of a host that is reached by SSH: the scripts' answers as errors, and their output as files."""

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping, Sequence

from django.utils.translation import gettext as _

from pools.errors import ApplyFailed, OutcomeUnknown
from pools.hosts.base import (
    ABSENT,
    LARGEST_BYTES,
    Access,
    CompletedCommand,
    HostConnection,
    UnsafeFolder,
    script,
    strange_answer,
)
from pools.hosts.free_space import DiskFull

(
    A_LINK,
    NO_FILE,
    NOT_OPENED,
    OF_STRANGER,
    OPEN_TO_ALL,
    NO_TOOL,
    LOCKED,
    BAD_NAME,
    FAILED,
    OTHERS,
    TORN,
    HALF_SYNCED,
    OF_GROUP,
    NOT_OWNER,
    FULL,
) = (
    *(41, 42, 43, 45, 46, 47, 48, 49),
    *(50, 51, 52, 53, 54, 55, 56),
)
FOLDER_FACTS = re.compile(rb"\d+ \S{10,} \d+")  # the first line of read.sh
ATTEMPTS = 5  # attempts while another process writes there, such as the rest of an apply whose worker was killed
PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+-]{1,200}")


def read(host: HostConnection, folder: str, names: Sequence[str]) -> dict[str, bytes | None]:
    """See `HostConnection.read`."""
    boundary = secrets.token_hex(16)
    found = _as_owner(host, folder, "read.sh", boundary, str(LARGEST_BYTES), *names)
    if found.exit_code:
        raise _refusal(folder, found)
    head, _newline, rest = found.stdout.partition(b"\n")
    facts = FOLDER_FACTS.fullmatch(head)
    if facts is None:
        raise _not_opened(folder, str(strange_answer("read.sh", head)))
    _refuse_strangers(folder, *facts[0].decode().split())
    parts = re.split(rb"\n" + boundary.encode() + rb" (\w+)\n", rest)
    contents, kinds = parts[0:-1:2], parts[1::2]
    return {
        name: _content(folder, name, kind.decode(), content)
        for name, kind, content in zip(names, kinds, contents, strict=True)
    }


def replace(
    host: HostConnection,
    folder: str,
    contents: Mapping[str, bytes | None],
    of_new: Access | None = None,
    before_retry: Callable[[], object] | None = None,
) -> None:
    """See `HostConnection.replace`; files that hold these bytes already are left alone."""
    for name in contents:
        if not PLAIN_NAME.fullmatch(name):
            raise UnsafeFolder(
                _("%(name)r can't be written by SSH: use letters, digits, and _ . + - in the name") % {"name": name}
            )
    for attempt in range(ATTEMPTS):
        if attempt and before_retry:
            before_retry()
        done = _replaced(host, folder, contents, of_new)
        if done.exit_code != OTHERS:
            break
    if done.exit_code == HALF_SYNCED:
        text = _("%(folder)s has new files, which its host could not store for good: %(reason)s")
        raise OutcomeUnknown(text % {"folder": folder, "reason": _own_words(done)})
    if done.exit_code:
        raise _refusal(folder, done)


def _replaced(
    host: HostConnection, folder: str, contents: Mapping[str, bytes | None], of_new: Access | None
) -> CompletedCommand:
    """Replace what differs from what is there now, unless it changes in the meantime (`OTHERS`)."""
    before = read(host, folder, list(contents))
    changed = {name: new for name, new in contents.items() if before[name] != new}
    stream = b"".join(new for new in changed.values() if new is not None)
    words = [word for name, new in changed.items() for word in (name, "-" if new is None else str(len(new)))]
    access = f"{of_new.uid}:{of_new.gid} {of_new.mode:o}" if of_new else "-"
    digests = " ".join([files_digest(before), *before])
    return _as_owner(host, folder, "replace.sh", access, digests, str(len(stream)), *words, stdin=stream)


def _as_owner(host: HostConnection, folder: str, name: str, *words: str, stdin: bytes = b"") -> CompletedCommand:
    """Run a script on a folder, by the folder's owner where the login is root's."""
    return host.script_to_end("as_owner.sh", _normal(folder), script(name), name, *words, stdin=stdin, shown=name)


def files_digest(contents: Mapping[str, bytes | None]) -> str:
    """Return the SHA-256 of the lines that sha256sum prints for each file, or `absent`."""
    lines = ["absent" if one is None else f"{hashlib.sha256(one).hexdigest()}  -" for one in contents.values()]
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def refuse_unsafe(host: HostConnection, folder: str) -> None:
    """See `HostConnection.refuse_unsafe`."""
    read(host, folder, [])


def _normal(folder: str) -> str:
    return folder.rstrip("/") or "/"  # a slash at the end would follow a symbolic link


def _content(folder: str, name: str, kind: str, content: bytes) -> bytes | None:
    params = {"folder": folder, "name": name}
    if kind == "file":
        return content
    if kind == "absent":
        return None
    if kind == "special":
        text = _("%(folder)s/%(name)s is not a regular file: remove it, then apply again")
    elif kind == "dangling":
        text = _("%(folder)s/%(name)s is a dangling link of an interrupted apply: remove it, then apply again")
    else:
        text = _("%(folder)s/%(name)s can't be read: Permission denied")
    raise UnsafeFolder(text % params)


def _refuse_strangers(folder: str, me: str, mode: str, owner: str) -> None:
    if me != owner:
        raise _of_stranger(folder, owner, me)
    if mode[8] == "w":
        raise _open_to_all(folder)


def _of_stranger(folder: str, owner: str, me: str) -> UnsafeFolder:
    text = _("config_dir %(folder)s belongs to uid %(owner)s of its host, where the panel is uid %(own)s: log in as it")
    return UnsafeFolder(text % {"folder": folder, "owner": owner, "own": me})


def _open_to_all(folder: str) -> UnsafeFolder:
    return UnsafeFolder(_("config_dir %(folder)s is writable by everybody: chmod o-w it") % {"folder": folder})


def _not_opened(folder: str, reason: str) -> UnsafeFolder:
    text = _("config_dir %(folder)s can't be opened: %(reason)s")
    return UnsafeFolder(text % {"folder": folder, "reason": reason})


def _refused_to_root(folder: str, done: CompletedCommand) -> UnsafeFolder:
    if done.exit_code == OF_GROUP:
        text = _("config_dir %(folder)s belongs to root, and its group may write to it: chmod g-w it, or give it away")
    else:
        text = _(
            "config_dir %(folder)s belongs to uid %(owner)s of its host, and root can't work there as that account: "
            "log in as it, or install setpriv of util-linux"
        )
    return UnsafeFolder(text % {"folder": folder, "owner": done.words})


def _refusal(folder: str, done: CompletedCommand) -> ApplyFailed:
    """Return the error that an exit code of a script means."""
    words = done.words
    if done.exit_code == OF_STRANGER:
        return _of_stranger(folder, *words.split())
    if done.exit_code == OPEN_TO_ALL:
        return _open_to_all(folder)
    if done.exit_code == FULL:
        return DiskFull(folder, *map(int, words.split()))
    if done.exit_code in (OF_GROUP, NOT_OWNER):
        return _refused_to_root(folder, done)
    if done.exit_code == NO_FILE:
        return UnsafeFolder(
            _("%(folder)s/%(name)s is not a regular file: remove it, then apply again")
            % {"folder": folder, "name": words}
        )
    reasons = {
        A_LINK: _("it is a symbolic link"),
        ABSENT: _("No such file or directory"),
        NOT_OPENED: words.rpartition(": ")[2] or _("Permission denied"),
    }
    if reason := reasons.get(done.exit_code):
        return _not_opened(folder, reason)
    failures = {
        NO_TOOL: _("%(tool)s is not installed on its host") % {"tool": words},
        LOCKED: _("another process of the panel has been writing there for 20 s"),
        OTHERS: _("another process changes its files at the same time"),
        TORN: _("the connection was cut while the files were sent"),
    }
    reason = failures.get(done.exit_code) or _own_words(done)
    return ApplyFailed(
        _("%(folder)s could not be written: %(reason)s; its files are unchanged") % {"folder": folder, "reason": reason}
    )


def _own_words(done: CompletedCommand) -> str:
    """Return the reason that a script printed last."""
    return done.words.rpartition(": ")[2] or _("exit code %d") % done.exit_code
