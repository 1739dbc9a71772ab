"""A run as a file of some kind, ready to be sent to a browser."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase

from benchmarks.exporting import evidence, page, tables
from benchmarks.models import Run, RunOutput


@dataclass(frozen=True)
class Kind:
    """A kind of file: its media type, the end of its name, and what makes its text."""

    media_type: str
    ending: str
    make: Callable[[Run], Iterable[str]]


def _json(run: Run) -> Iterable[str]:
    return [json.dumps(evidence.of(run), allow_nan=False, indent=1)]


def _html(run: Run) -> Iterable[str]:
    return [page.of(run)]


def _log(run: Run) -> Iterable[str]:
    """What was printed; of a run over several generators that of each part too, below its name."""
    yield from _printed(run)
    for part in run.parts.order_by("number"):
        yield f"\n--- generator {part.generator}, {part}\n"
        yield from _printed(part)


def _printed(run: Run) -> Iterable[str]:
    output = RunOutput.objects.filter(run=run).first()
    return [output.stderr, output.stdout] if output else []


MAKERS = {
    "csv": Kind("text/csv; charset=utf-8", "csv", tables.samples),
    "json": Kind("application/json", "json", _json),
    "html": Kind("text/html; charset=utf-8", "html", _html),
    "log": Kind("text/plain; charset=utf-8", "log", _log),
}


def answer(run: Run, kind: str) -> HttpResponseBase:
    """The file, to be saved under a name of ours: nothing typed gets into the header."""
    made = MAKERS[kind]
    response = StreamingHttpResponse(made.make(run), content_type=made.media_type)
    response["Content-Disposition"] = f'attachment; filename="pooldeck-run-{run.number}.{made.ending}"'
    return response
