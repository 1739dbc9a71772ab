"""The export formats of a run as HTTP responses."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from benchmarks.models import Run, RunOutput
from benchmarks.results.export import csv, html, run_document
from core.lib.streams import one_by_one


@dataclass(frozen=True)
class Kind:
    """An export format: its media type, its file extension, and the function that makes its text."""

    media_type: str
    ending: str
    make: Callable[[Run], Iterable[str]]


def _html(run: Run) -> Iterable[str]:
    return [html.of(run)]


def _log(run: Run) -> Iterable[str]:
    """Yield the program's output; for a distributed run also that of each part under a heading."""
    yield from _printed(run)
    for part in run.parts.order_by("number"):
        yield f"\n--- generator {part.generator}, {part}\n"
        yield from _printed(part)


def _printed(run: Run) -> Iterable[str]:
    output = RunOutput.objects.filter(run=run).first()
    return [output.stderr, output.stdout] if output else []


MAKERS = {
    "csv": Kind("text/csv; charset=utf-8", "csv", csv.samples),
    "json": Kind("application/json", "json", run_document.of),
    "html": Kind("text/html; charset=utf-8", "html", _html),
    "log": Kind("text/plain; charset=utf-8", "log", _log),
}


def answer(run: Run, kind: str, request: HttpRequest) -> HttpResponseBase:
    """Return the run as a download; the file name holds no user input, since it is part of a header."""
    response = stream(run, kind, request)
    response["Content-Disposition"] = f'attachment; filename="pooldeck-run-{run.number}.{MAKERS[kind].ending}"'
    return response


def stream(run: Run, kind: str, request: HttpRequest) -> StreamingHttpResponse:
    """Stream the text while it is made."""
    make = MAKERS[kind]
    text = iter(make.make(run))
    pieces = one_by_one(text) if isinstance(request, ASGIRequest) else text
    return StreamingHttpResponse(pieces, content_type=make.media_type)
