"""Submits runs as pages and the API do."""

from typing import Any

from benchmarks.models import Run
from benchmarks.runs.submission import submit
from benchmarks.runs.submission.submit import RunRequest


def submit_one(*, target: dict[str, Any], options: dict[str, Any], author: Any = None, **more: Any) -> Run:
    """The only run of a request."""
    (run,) = submit.submit(RunRequest(target=target, options=options, author=author, **more))
    return run


def submit_pair(target: dict[str, Any], options: dict[str, Any], author: Any = None, **more: Any) -> list[Run]:
    """The runs past and through a pooler."""
    return submit.submit(RunRequest(target=target, options=options, author=author, pair=True, **more))
