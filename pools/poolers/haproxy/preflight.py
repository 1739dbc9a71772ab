"""Preflight by `haproxy -c`, the program's own check of a configuration, on a copy of the file."""

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from django.utils.translation import gettext as _

from pools.models import Pooler
from pools.poolers import local_process
from pools.poolers.haproxy.stats_socket import MAIN
from pools.poolers.local_process import SEARCH_PATH, hand_over

TIMEOUT_S = 30
FAULT = re.compile(r"^\[ALERT\]\s*(?:\(\d+\)\s*:\s*)?(?:config\s*:\s*)?(.+)$", re.MULTILINE)
SUMMARIES = ("Error(s) found in", "Fatal errors found in")


def find(pooler: Pooler, version_text: str) -> str | None:
    """Return the path of a haproxy on this host of exactly this release; None where there is none."""
    release = re.compile(rf"\b{re.escape(version_text.removeprefix('HAProxy '))}(?![\w.])")
    return local_process.find_program(
        pooler, "haproxy", SEARCH_PATH, lambda printed: release.search(printed) is not None
    )


def fault_of(program: str, texts: Mapping[str, str], config_dir: str) -> str:
    """Return why this configuration would not start, in the program's words; empty where it would."""
    with tempfile.TemporaryDirectory(prefix="pooldeck-haproxy-") as name:
        folder = Path(name)
        (folder / MAIN).write_text(texts[MAIN], errors="surrogateescape")
        account = hand_over(folder, Path(config_dir).stat())
        done = local_process.run([*account, program, "-c", "-f", str(folder / MAIN)], folder, TIMEOUT_S)
        printed = done.stderr.replace(f"{folder}/", "")
    if done.returncode == 0:
        return ""
    faults = [text for text in FAULT.findall(printed) if not text.startswith(SUMMARIES)]
    return "; ".join(faults) or printed.strip() or _("it ended with exit code %(code)d") % {"code": done.returncode}


def start_error(pooler: Pooler, texts: Mapping[str, str]) -> str:
    """Return `fault_of` for the release on this host; empty where there is none to try."""
    program = find(pooler, pooler.server_version)
    if program is None or MAIN not in texts:
        return ""
    try:
        return fault_of(program, texts, pooler.config_dir)
    except (OSError, subprocess.TimeoutExpired):
        return ""
