"""Preflight by `haproxy -c`, the program's own check of a configuration, on a copy of the file."""

import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.models import Pooler
from pools.poolers import host_processes, local_process
from pools.poolers.haproxy.stats_socket import MAIN
from pools.poolers.local_process import SEARCH_PATH, hand_over

TIMEOUT_S = 30
VALID = "Configuration file is valid"
FAULT = re.compile(r"^\[ALERT\]\s*(?:\(\d+\)\s*:\s*)?(?:config\s*:\s*)?(.+)$", re.MULTILINE)
SUMMARIES = ("Error(s) found in", "Fatal errors found in")


def find(pooler: Pooler, version_text: str) -> str | None:
    """Return the path of a haproxy on the pooler's host of exactly this release; None where there is none."""
    release = re.compile(rf"\b{re.escape(version_text.removeprefix('HAProxy '))}(?![\w.])")

    def is_release(printed: str) -> bool:
        return release.search(printed) is not None

    delivery = deliveries.of(pooler)
    if not delivery.runs_here:
        with delivery.connected(pooler) as host:
            return host_processes.program_of(pooler, host, "haproxy", is_release) if host else None
    return local_process.find_program(pooler, "haproxy", SEARCH_PATH, is_release)


def fault_of(pooler: Pooler, program: str, texts: Mapping[str, str]) -> str:
    """Return why this configuration would not start, in the program's words; empty where it would.

    `texts` are those of all the files that it reads, in their order.
    """
    several = len(texts) > 1
    names = {f"{number}-{PurePosixPath(path).name}" if several else MAIN: path for number, path in enumerate(texts)}
    printed, exit_code = _checked(pooler, program, {name: texts[path] for name, path in names.items()})
    if exit_code == 0:
        return ""
    faults = [text for text in FAULT.findall(printed) if not text.startswith(SUMMARIES)]
    return "; ".join(faults) or printed.strip() or _("it ended with exit code %(code)d") % {"code": exit_code}


def _arguments(names: Iterable[str], folder: str) -> tuple[str, ...]:
    return ("-c", *(word for name in names for word in ("-f", f"{folder}/{name}")))


def _checked(pooler: Pooler, program: str, texts: Mapping[str, str]) -> tuple[str, int]:
    """Return what the program says of the files on its own host, and its exit code."""
    delivery = deliveries.of(pooler)
    if not delivery.runs_here:
        with delivery.connected(pooler) as host:
            trial = host_processes.Trial(_arguments(texts, "@"), VALID, TIMEOUT_S)
            return host_processes.tried(host, program, pooler.config_dir, texts, trial) if host else ("", 0)
    with tempfile.TemporaryDirectory(prefix="pooldeck-haproxy-") as name:
        folder = Path(name)
        for file_name, text in texts.items():
            (folder / file_name).write_text(text, errors="surrogateescape")
        account = hand_over(folder, Path(pooler.config_dir).stat())
        done = local_process.run([*account, program, *_arguments(texts, str(folder))], folder, TIMEOUT_S)
        return done.stderr.replace(f"{folder}/", ""), done.returncode


def start_error(pooler: Pooler, texts: Mapping[str, str]) -> str:
    """Return `fault_of` for the release on this host; empty where there is none to try."""
    program = find(pooler, pooler.server_version)
    if program is None or MAIN not in texts:
        return ""
    try:
        return fault_of(pooler, program, texts)
    except (OSError, subprocess.TimeoutExpired):
        return ""
