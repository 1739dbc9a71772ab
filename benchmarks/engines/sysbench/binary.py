"""Which sysbench is run, and where the scripts of tpcc lie."""

from pathlib import Path

from django.conf import settings

from benchmarks.engines.binaries import Program, ask, on_path
from benchmarks.errors import Refused

TPCC_SCRIPT = "tpcc.lua"


def find() -> Program:
    """The sysbench of the PATH; raises `ProgramMissing`."""
    path = on_path("sysbench", "install the Debian package sysbench")
    return ask(path, "--version", reported=r"sysbench ([0-9]+\.[0-9.]+)")


def tpcc_folder() -> Path:
    """POOLDECK_SYSBENCH_SCRIPTS; raises `Refused` where tpcc can't be run from it."""
    if not settings.SYSBENCH_SCRIPTS:
        raise Refused(
            "tpcc needs its scripts, which Debian does not have: put sysbench-tpcc in a folder and name that in "
            "POOLDECK_SYSBENCH_SCRIPTS"
        )
    folder = Path(settings.SYSBENCH_SCRIPTS)
    if not (folder / TPCC_SCRIPT).is_file():
        raise Refused(
            f"there is no {TPCC_SCRIPT} in POOLDECK_SYSBENCH_SCRIPTS={folder}: name the folder of sysbench-tpcc"
        )
    return folder


def host_files() -> dict[str, str]:
    """tpcc's script, and why it can't be run here (empty: it can)."""
    try:
        tpcc_folder()
    except Refused as error:
        return {TPCC_SCRIPT: str(error)}
    return {TPCC_SCRIPT: ""}
