"""A run as a file of some kind, ready to be sent to a browser."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from benchmarks.models import Run, RunOutput
from benchmarks.results.export import csv, html, run_document


@dataclass(frozen=True)
class Kind:
    """A kind of file: its media type, the end of its name, and what makes its text."""

    media_type: str
    ending: str
    make: Callable[[Run], Iterable[str]]


def _html(run: Run) -> Iterable[str]:
    return [html.of(run)]


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
    "csv": Kind("text/csv; charset=utf-8", "csv", csv.samples),
    "json": Kind("application/json", "json", run_document.of),
    "html": Kind("text/html; charset=utf-8", "html", _html),
    "log": Kind("text/plain; charset=utf-8", "log", _log),
}


def answer(run: Run, kind: str, request: HttpRequest) -> HttpResponseBase:
    """The file, to be saved under a name of ours: nothing typed gets into the header."""
    response = stream(run, kind, request)
    response["Content-Disposition"] = f'attachment; filename="pooldeck-run-{run.number}.{MAKERS[kind].ending}"'
    return response


def stream(run: Run, kind: str, request: HttpRequest) -> StreamingHttpResponse:
    """The text as it is made: under ASGI Django would gather all of a synchronous iterator before it sends any."""
    made = MAKERS[kind]
    text = iter(made.make(run))
    pieces = _one_by_one(text) if isinstance(request, ASGIRequest) else text
    return StreamingHttpResponse(pieces, content_type=made.media_type)


async def _one_by_one(text: Iterator[str]) -> AsyncIterator[str]:
    """Each piece made in the thread that this request's database connection belongs to."""
    while (piece := await sync_to_async(partial(next, text, None))()) is not None:
        yield piece
