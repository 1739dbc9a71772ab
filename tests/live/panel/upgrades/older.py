"""An older state of the panel beside this checkout, taken from git, and releases of both for `pooldeckctl upgrade`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
# Watched poolers, hosts by SSH, processes and the shared packages of core came after it: 13 migrations of pools.
OLDER = "40b84495"


def is_there(commit: str) -> bool:
    """Tell whether this clone has the commit."""
    asked = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 0


def unpack(commit: str, folder: Path) -> Path:
    """Unpack the files of a commit; it shares this checkout's browser packages."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    folder.mkdir()
    subprocess.run(["tar", "--extract", "--directory", folder], input=packed, check=True)
    (folder / "static" / "node_modules").symlink_to(ROOT / "static" / "node_modules")
    return folder


def make_release(folder: Path, source: Path) -> None:
    """Make a release whose commands run the files of a checkout."""
    program = folder / "bin" / "pooldeckctl"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {source}/manage.py "$@"\n')
    program.chmod(0o755)


def installer(path: Path) -> Path:
    """Write a command that makes a release of this checkout, as `--installer` calls it."""
    path.write_text(
        f'#!/bin/sh -e\nmkdir -p "$1/bin"\n'
        f'printf \'#!/bin/sh\\nexec {sys.executable} {ROOT}/manage.py "$@"\\n\' > "$1/bin/pooldeckctl"\n'
        f'chmod 755 "$1/bin/pooldeckctl"\n'
    )
    path.chmod(0o755)
    return path
