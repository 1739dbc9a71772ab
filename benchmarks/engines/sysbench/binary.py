"""Finds sysbench and the scripts of tpcc."""

from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.engines.binaries import Program, ask, on_path
from benchmarks.engines.sentences import FileSentences
from benchmarks.errors import Refused

TPCC_SCRIPT = "tpcc.lua"
MISSING_FILE = FileSentences(
    gettext_lazy(
        "generator %(generator)s has no %(file)s: name the folder of sysbench-tpcc there in POOLDECK_SYSBENCH_SCRIPTS"
    ),
    gettext_lazy(
        "generator %(generator)s has no %(file)s: use %(usable)s, or name the folder of sysbench-tpcc there in "
        "POOLDECK_SYSBENCH_SCRIPTS"
    ),
)


def find() -> Program:
    """Return the sysbench of the PATH; raise `ProgramMissing`."""
    path = on_path("sysbench", _("install the Debian package sysbench"))
    return ask(path, "--version", pattern=r"sysbench ([0-9]+\.[0-9.]+)")


def tpcc_folder() -> Path:
    """Return POOLDECK_SYSBENCH_SCRIPTS; raise `Refused` where tpcc can't be run from it."""
    if not settings.SYSBENCH_SCRIPTS:
        raise Refused(
            _(
                "tpcc needs its scripts, which Debian does not have: put sysbench-tpcc in a folder and name that "
                "in POOLDECK_SYSBENCH_SCRIPTS"
            )
        )
    folder = Path(settings.SYSBENCH_SCRIPTS)
    if not (folder / TPCC_SCRIPT).is_file():
        raise Refused(
            _("there is no %(tpcc_script)s in POOLDECK_SYSBENCH_SCRIPTS=%(folder)s: name the folder of sysbench-tpcc")
            % {"tpcc_script": TPCC_SCRIPT, "folder": folder}
        )
    return folder


def host_files() -> dict[str, str]:
    """Return tpcc's script with why it can't be run here (empty: it can)."""
    try:
        tpcc_folder()
    except Refused as error:
        return {TPCC_SCRIPT: str(error)}
    return {TPCC_SCRIPT: ""}
