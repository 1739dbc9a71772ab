"""Pages that ask before a session or a client is ended, and tell what became of it; they work without JavaScript."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.functional import Promise
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from pools.clusters import topology
from pools.clusters.topology import Place
from pools.console import client_end
from pools.console.commands import Target
from pools.diagnosis import ending, shared
from pools.diagnosis.ending import ConfirmedSession, EndedSession
from pools.diagnosis.sessions import Session
from pools.errors import NotThere, PoolsError
from pools.models import Cluster, Entry, Pool

PAGES_OF = ("/pools/", "/entries/", "/poolers/", "/clusters/")


@dataclass(frozen=True)
class Ending:
    """A way to end something of a session; `start` names what has to be the same as on the page that was confirmed."""

    act: Callable[[Place, ConfirmedSession], EndedSession]
    label: str | Promise
    question: str | Promise
    start: Callable[[Session], datetime | None]
    effect: Callable[[Session], str]


def _effect_of_termination(session: Session) -> str:
    if session.transaction_start:
        return _(
            "Its connection is closed and its transaction is rolled back: all that it has changed since its start is "
            "lost. Its client gets an error."
        )
    return _("Its connection is closed. It has no open transaction, so that nothing is rolled back.")


def _effect_of_cancellation(session: Session) -> str:
    if not session.runs:
        return _("No statement runs in it now, so that there is nothing to cancel.")
    return _(
        "The statement ends with an error, and its transaction is rolled back, or the part of it since its last "
        "savepoint. The client stays connected."
    )


ENDINGS: Mapping[str, Ending] = {
    "cancel": Ending(
        ending.cancel,
        gettext_lazy("Cancel the statement"),
        gettext_lazy("Cancel the statement of process %(pid)s?"),
        lambda session: session.statement_start,
        _effect_of_cancellation,
    ),
    "terminate": Ending(
        ending.terminate,
        gettext_lazy("Terminate the session"),
        gettext_lazy("Terminate process %(pid)s?"),
        lambda session: session.transaction_start,
        _effect_of_termination,
    ),
}


def _label(_request: HttpRequest, word: str, **_kwargs: object) -> str:
    return str(ENDINGS[word].label) if word in ENDINGS else ""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("cluster.end_session", destroys=_label)
def session_end(request: HttpRequest, pk: UUID, pid: int, word: str) -> HttpResponse:
    """Show a session as it is now with what will happen, and do it on POST, unless it does something else by then.

    `?started=` is the start of its process, `?node=` its server, and `?next=` the page that leads here.
    """
    cluster = find(request, Cluster.objects.select_related("status").prefetch_related("nodes"), pk=pk)
    way, started = ENDINGS.get(word), parse_datetime(request.GET.get("started", ""))
    if way is None or started is None:
        raise Http404("a session is named by its pid and by the start of its process")
    place, back = _place(request, cluster), _back(request, reverse("cluster-insights", args=[pk]))
    question = str(way.question) % {"pid": pid}
    context: dict[str, object] = {"cluster": cluster, "place": place, "back": back, "ending": way, "question": question}
    status = 200
    if request.method == "POST":
        try:
            ended = way.act(place, _confirmed(request, pid, started))
        except PoolsError as error:
            context["refused"], status = str(error), error.status
        else:
            messages.success(request, ended.detail)
            return redirect(back)
    context |= _as_it_is(place, pid, started, way)
    return render(request, "pools/session_end.html", context, status=status)


def _place(request: HttpRequest, cluster: Cluster) -> Place:
    try:
        return topology.chosen(cluster, request.GET.get("node", ""))
    except NotThere as error:
        raise Http404(str(error)) from error


def _confirmed(request: HttpRequest, pid: int, started: datetime) -> ConfirmedSession:
    start = request.POST.get("start")
    return ConfirmedSession(pid, started, parse_datetime(start or ""), checks_start=start is not None)


def _as_it_is(place: Place, pid: int, started: datetime, way: Ending) -> dict[str, object]:
    """Return the session for the page, what will happen to it, and why it can't be ended or shown."""
    try:
        session = ending.find(place, pid, started)
    except PoolsError as error:
        return {"missing": str(error)}
    start = way.start(session)
    return {
        "session": session,
        "effect": way.effect(session),
        "kept": ending.refusal(session),
        "start": start.isoformat() if start else "",
    }


def _back(request: HttpRequest, otherwise: str) -> str:
    """Return `?next=` where it is a page of this panel that leads here."""
    address = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(address, allowed_hosts=None)
    return address if is_ours and address.startswith(PAGES_OF) else otherwise


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("pool.console", destroys=gettext_lazy("Disconnect the client"))
def pool_client_kill(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Show a client of a pool as it is now with what will happen, and disconnect it on POST.

    `?connected=` is its connect_time in SHOW CLIENTS, without which its number may be that of another client.
    """
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    return _client_page(request, pool, number, "pool-waiting")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("entry.console", destroys=gettext_lazy("Disconnect the client"))
def entry_client_kill(request: HttpRequest, pk: UUID, number: int) -> HttpResponse:
    """Do the same with a client of an entry; one that is a pool has the page of that."""
    entry = find(request, Entry.objects.select_related("pooler", "cluster"), pk=pk)
    if entry.pool_id:
        address = reverse("pool-client-kill", args=[entry.pool_id, number])
        return redirect(f"{address}?{request.GET.urlencode()}")
    return _client_page(request, entry, number, "entry-waiting")


def _client_page(request: HttpRequest, target: Target, number: int, page: str) -> HttpResponse:
    back, connected_at = _back(request, reverse(page, args=[target.pk])), request.GET.get("connected", "")
    detail = page.replace("waiting", "detail")
    context: dict[str, object] = {"pool": target, "number": number, "back": back, "detail_page": detail}
    status = 200
    if request.method == "POST":
        try:
            message = client_end.kill_client(target, str(number), connected_at, person(request.user))
        except PoolsError as error:
            context["refused"], status = str(error), error.status
        else:
            messages.success(request, message)
            return redirect(back)
    try:
        client = client_end.find(target, str(number), connected_at)
        context |= {"client": client, "session": _session_of(request, target, client.server_pid)}
    except PoolsError as error:
        context["missing"] = str(error)
    return render(request, "pools/client_kill.html", context, status=status)


def _session_of(request: HttpRequest, target: Target, pid: int | None) -> Session | None:
    """Return what the client's server connection does, for those who see the cluster."""
    if pid is None:
        return None
    holders = shared.read_by(Access.of(request), target).holders
    return next((holder.session for holder in holders if holder.session and holder.session.pid == pid), None)
