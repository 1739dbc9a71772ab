"""Gives up access to all files but those named, then becomes the program: landlocked.py RULES PROGRAM WORDS…

RULES is JSON: `execute` and `read` name files and folders, `write` those that may also be changed. Uses only the
standard library, since it runs outside the panel's environment. The numbers are those of linux/landlock.h.
"""

import ctypes
import json
import os
import stat
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture
VERSION, PATH_BENEATH = 1, 1
NO_NEW_PRIVILEGES = 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
READ = READ_FILE | READ_DIR
RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}  # version of the ABI → number of rights; 16 from version 5 on
SIGNALS = 1 << 1  # scope: only to processes of its own

libc = ctypes.CDLL(None, use_errno=True)


class RulesetAttributes(ctypes.Structure):
    """struct landlock_ruleset_attr."""

    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class PathBeneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def call(number: int, *words: object) -> int:
    """Make a system call; raise OSError where the kernel refuses it."""
    answer: int = libc.syscall(number, *words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return answer


def restrict(rules: dict[str, list[str]]) -> None:
    """Restrict this process and all that it starts to what the rules name."""
    version = call(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION)
    handled = (1 << RIGHTS_BY_VERSION.get(version, 16)) - 1
    attributes = RulesetAttributes(handled, 0, SIGNALS if version >= 6 else 0)
    size = ctypes.sizeof(attributes) if version >= 6 else 8
    ruleset = call(CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0)
    rights = {"execute": EXECUTE | READ, "read": READ, "write": handled & ~EXECUTE}
    for name, paths in rules.items():
        for path in paths:
            allow(ruleset, path, rights[name] & handled)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "the process can't give up new privileges")
    call(RESTRICT_SELF, ruleset, 0)


def allow(ruleset: int, path: str, rights: int) -> None:
    """Add one file or folder to the rules."""
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    is_folder = stat.S_ISDIR(os.fstat(opened).st_mode)
    rule = PathBeneath(rights if is_folder else rights & OF_FILES, opened)
    call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    os.close(opened)


def main(rules: str, *argv: str) -> None:
    """Restrict this process, then become the program."""
    try:
        restrict(json.loads(rules))
        os.execv(argv[0], argv)  # noqa: S606 (no shell is the point)
    except OSError as error:
        sys.exit(f"{argv[0]}: {error}")


if __name__ == "__main__":
    main(*sys.argv[1:])
