"""Dry runs: a version of a script once, by one client, to see whether it works before it is measured by."""

from typing import Any

from benchmarks.models import Run, ScriptVersion
from benchmarks.submission import submitting

ONCE = {"clients": 1, "threads": 1, "transactions": 1, "scale": 1, "percentiles": False}


def start(
    version: ScriptVersion, *, target: dict[str, Any], author: Any, variables: Any = None, confirm: str = ""
) -> Run:
    """A queued run of one transaction; raises as `submitting.submit` does."""
    options = ONCE | {"scripts": [{"script_version": version.pk}], "variables": variables}
    name = f"Dry run of {version}"
    return submitting.submit(target=target, options=options, author=author, name=name, confirm=confirm)
