"""Dry runs: a version of a script once, by one client, to see whether it works before it is measured by."""

from typing import Any

from benchmarks.library.scripts import dry_run
from benchmarks.models import Run, ScriptVersion
from benchmarks.runs.submission import submit


def start(
    version: ScriptVersion,
    *,
    target: dict[str, Any],
    author: Any,
    variables: Any = None,
    protocol: str | None = None,
    confirm: str = "",
) -> Run:
    """A queued run of one transaction; raises as `submitting.submit` does.

    Text of several words needs another protocol than the simple one (`benchmarks.engines.pgbench.variables`).
    """
    scripts = [{"script_version": version.pk}]
    options = dry_run.ONCE | {"scale": 1, "scripts": scripts, "variables": variables, "protocol": protocol}
    name = f"Dry run of {version}"
    return submit.submit(target=target, options=options, author=author, name=name, confirm=confirm)
