"""The page of generators: the workers that can execute runs, and what each executes now."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from benchmarks.engines import ENGINES
from benchmarks.errors import BenchmarksError
from benchmarks.generators import registry
from benchmarks.generators.registry import GeneratorStatus
from core.accounts.access import Access, needs
from pools.models import Cluster, Host, HostState

TRIPS_SHOWN = 3


@require_safe
@needs("generator.view")
def generator_list(request: HttpRequest) -> HttpResponse:
    """List all generators; while Redis is unreachable, those on record with an unknown state."""
    found, unknown = registry.known_or_remembered()
    known = registry.as_seen_by(Access.of(request), found)
    clusters = (
        Access.of(request)
        .visible(Cluster.objects.all())
        .in_bulk({UUID(key) for one in known for key in one.round_trips})
    )
    rows = [(one, _trips(one, clusters)) for one in known]
    return render(
        request, "benchmarks/generator_list.html", {"rows": rows, "unknown": unknown, "hosts": _possible_hosts()}
    )


def _trips(generator: GeneratorStatus, clusters: dict[UUID, Cluster]) -> dict[str, object]:
    """Return the round trips, nearest cluster first and unreachable ones last, split into `shown` and `more`."""
    found = [(clusters[UUID(key)], trip) for key, trip in generator.round_trips.items() if UUID(key) in clusters]
    found.sort(key=lambda one: one[1].get("avg_ms", float("inf")))
    return {"shown": found[:TRIPS_SHOWN], "more": found[TRIPS_SHOWN:]}


def _possible_hosts() -> list[Host]:
    """Return the hosts that can be made generators: the last check found an engine's program there."""
    online = Host.objects.filter(state=HostState.ONLINE, generator=None)
    return [host for host in online if any(engine.host_program in host.programs for engine in ENGINES.values())]


@require_POST
@needs("generator.change")
def generator_add_host(request: HttpRequest) -> HttpResponse:
    """Register a host that is reached by SSH as a generator."""
    host = next((one for one in _possible_hosts() if str(one.pk) == request.POST.get("ssh_host")), None)
    if host is None:
        messages.error(request, _("Choose a host that was checked and has pgbench."))
        return redirect("generator-list")
    try:
        generator = registry.add_host(host)
    except BenchmarksError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Generator %(name)s was added: choose it in a run.") % {"name": generator.name})
    return redirect("generator-list")


@require_POST
@needs("generator.change", destroys=gettext_lazy("Unregister the generator"))
def generator_forget(request: HttpRequest, name: str) -> HttpResponse:
    """Remove a generator that is gone; refuse it for a live one."""
    try:
        if not registry.forget(name):
            raise Http404
    except BenchmarksError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Generator %(name)s was removed.") % {"name": name})
    return redirect("generator-list")
