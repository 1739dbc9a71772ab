"""A run's events as a stream (Server-Sent Events): history first, then live, until the end."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import ClassVar
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from benchmarks.models import Run
from benchmarks.runs.live import events as live_events
from benchmarks.runs.live import follower
from benchmarks.runs.live.events import State
from core.accounts import event_streams
from core.accounts.access import Access
from core.accounts.event_streams import Authorization, StreamView

HEARTBEAT_S = 15.0


class RunStreamView(StreamView):
    """Decides who may follow a run's events, by the same rules as the rest of the API."""

    operations: ClassVar = {"get": "run.view"}

    @extend_schema(exclude=True)
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the run's state if the caller may follow it; else 401, 403 or 404 with the reason."""
        run = get_object_or_404(Access.of(request).visible(Run.objects.only(*live_events.STATE_FIELDS)), pk=pk)
        return Response(live_events.state_payload(run))


_view = RunStreamView.as_view()


@login_not_required  # RunStreamView checks the token or session, and answers as the API does
def run_events(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Stream the events after `Last-Event-ID` or `?after=`, each with its id; a client occupies no thread."""
    authorization = Authorization(_view, request, pk=pk)
    answer = authorization.ask()
    if answer.status_code != 200:
        return answer
    after = request.headers.get("Last-Event-ID") or request.GET.get("after") or live_events.BEGINNING
    if live_events.position(after)[1] == live_events.END_SEQ:
        return HttpResponse(status=204)  # the client has the last event: 204 tells an EventSource not to reconnect
    return event_streams.serve(authorization, _stream(authorization, pk, after, answer.data), instead="samples/")


run_events.operations = {"get": "run.view"}  # type: ignore[attr-defined]  # for `core.accounts.routes`


async def _stream(authorization: Authorization, pk: UUID, after: str, state: State) -> AsyncGenerator[bytes, None]:
    """Yield the stream's bytes until the run ends or the client loses its permission."""
    sent_state = b""
    yield b"retry: 1000\n\n"
    async with aclosing(follower.follow(pk, after, state, HEARTBEAT_S)) as coming:
        async for events in coming:
            if not events:
                if not await authorization.still_holds():
                    return
                yield b": still here\n\n" + sent_state  # scripts in browsers get events only, no comments
                continue
            sent_state = next((one.wire for one in reversed(events) if one.name == "state"), sent_state)
            yield b"".join([one.wire for one in events])
