"""The dashboard: clusters, poolers and pools with their problems, and the latest runs."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Count, Model, Q, QuerySet, Window
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from benchmarks.analysis import sparklines
from benchmarks.models import Purpose, Run, Status
from benchmarks.models.run_states import ACTIVE
from core.accounts.access import Access, needs
from core.accounts.team_lists import access_of
from pools.inventory import budget
from pools.inventory.entries import unmanaged
from pools.models import Cluster, ClusterState, Entry, Event, EventKind, Pool, Pooler, PoolerState, PoolState
from pools.views.live import UNASKED, entry_rows, pool_rows
from pools.views.pools import LISTED

R = TypeVar("R", bound=Model)
CLUSTERS_SHOWN = 6
POOLS_SHOWN, LEAST_ENTRIES = 8, 3
RUNS_SHOWN = 7
PROBLEMS_SHOWN = 5
RUN_COLUMNS = ("number", "name", "purpose", "target_label", "created_at", "status", "error", "summary")
CLUSTER_COLUMNS = ("name", "memory_mb", "set_aside_connections", "status__state", "status__error")
STATE_HAS_ITS_OWN = [
    EventKind.CLUSTER_DOWN,
    EventKind.POOLER_DOWN,
    EventKind.NOT_APPLIED,
    EventKind.DRIFT,
    EventKind.FAILING,
]
SUBJECTS: dict[str, str | Promise] = {
    "cluster": gettext_lazy("cluster %(name)s"),
    "pooler": gettext_lazy("pooler %(name)s"),
    "pool": gettext_lazy("pool %(name)s"),
    "entry": gettext_lazy("entry %(name)s"),
    "trail": gettext_lazy("%(name)s"),
}
UNWELL = [PoolState.FAILED, PoolState.FAILING, PoolState.ROLLED_BACK, PoolState.DRIFTED]


@dataclass(frozen=True)
class Problem:
    """A problem: its state, what has it, why, and the page about it."""

    state: str
    subject: str
    reason: str
    url: str


@require_safe
@needs("dashboard.view")
def dashboard(request: HttpRequest) -> HttpResponse:
    """Show the dashboard. It loads at once: `dashboard_live` polls the consoles afterwards."""
    access = access_of(request)
    pools = list(_pools(access).only(*LISTED))
    context = {
        "totals": _totals(access),
        "troubles": _problems(access),
        "clusters": _clusters(access),
        "rows": [{"pool": pool, **UNASKED} for pool in pools],
        "entries": [{"entry": entry, **UNASKED} for entry in _entries(access, len(pools))],
        "runs": _runs(access),
        "first_pool": _first_pool(access),
    }
    return render(request, "panel/dashboard.html", context)


def _first_pool(access: Access) -> Pool | None:
    """Return the oldest pool that is live, which the page offers to measure."""
    live = access.visible(Pool.objects.wanted().of_people().filter(state=PoolState.APPLIED))
    rows = live.select_related("pooler", "cluster").only(*LISTED, "pooler__kind", "cluster__protected")
    return rows.order_by("created_at").first()


@require_safe
@needs("dashboard.view")
def dashboard_live(request: HttpRequest) -> HttpResponse:
    """Answer the part that is polled: the pools' figures from their consoles."""
    access = access_of(request)
    rows = pool_rows(_pools(access))
    others = entry_rows(_entries(access, len(rows)))
    waiting = sum(row["figures"].cl_waiting for row in [*rows, *others])
    context = {"rows": rows, "entries": others, "waiting": waiting}
    return render(request, "panel/includes/dashboard_live.html", context)


def _totals(access: Access) -> dict[str, dict[str, int]]:
    """Count the records of each kind (`all`), and those that are fine (`well`)."""
    clusters = _counts(access.visible(Cluster.objects.all()), "status__state")
    poolers = _counts(access.visible(Pooler.objects.all()), "state")
    pools = _counts(access.visible(Pool.objects.wanted().of_people()), "state")
    runs = _measurements(access).order_by()
    at_work = _counts(runs.filter(status__in=[Status.QUEUED, *ACTIVE]), "status")  # few, of which an index tells
    return {
        "clusters": {"all": clusters.total(), "well": clusters[ClusterState.ONLINE]},
        "poolers": {"all": poolers.total(), "well": poolers[PoolerState.ONLINE]},
        "pools": {"all": pools.total(), "well": pools[PoolState.APPLIED]},
        "entries": {"all": access.visible(unmanaged()).count()},
        "runs": {
            "all": runs.count(),
            "now": at_work[Status.RUNNING] + at_work[Status.STARTING],
            "queued": at_work[Status.QUEUED],
        },
    }


def _counts(rows: QuerySet[Any], field: str) -> Counter[str]:
    """Count the rows by a field: not their keys, which would have to be read, where an index has the rest."""
    return Counter(dict(rows.order_by().values_list(field).annotate(count=Count("*"))))


def _clusters(access: Access) -> list[dict[str, object]]:
    rows = access.visible(Cluster.objects.select_related("status").only(*CLUSTER_COLUMNS))
    found = list(rows.order_by("name")[:CLUSTERS_SHOWN])
    budgets = budget.of_clusters(found)
    return [{"cluster": cluster, "budget": budgets[cluster.pk]} for cluster in found]


def _pools(access: Access) -> QuerySet[Pool]:
    rows = access.visible(Pool.objects.wanted().of_people().select_related("pooler", "cluster"))
    return rows.order_by("name")[:POOLS_SHOWN]


def _entries(access: Access, shown: int) -> QuerySet[Entry]:
    """Return the first entries that are not managed here, as far as the shown pools leave room, and at least some."""
    return access.visible(unmanaged())[: max(POOLS_SHOWN - shown, LEAST_ENTRIES)]


def _runs(access: Access) -> list[dict[str, object]]:
    """Return the latest runs with sparklines of their throughput."""
    found = list(_measurements(access).only(*RUN_COLUMNS)[:RUNS_SHOWN])
    courses = sparklines.of_runs(found)
    return [{"run": run, **_course(courses.get(run.pk, []))} for run in found]


def _measurements(access: Access) -> QuerySet[Run]:
    """Return all runs but those of experiments, and preparations of datasets, which measure nothing."""
    return access.visible(Run.objects.top_level().of_people().exclude(purpose=Purpose.PREPARE))


def _course(points: list[float]) -> dict[str, object]:
    return {"path": sparklines.path(points), "top": max(points, default=None)}


def _problems(access: Access) -> dict[str, object]:
    """Return the first problems as `shown`, and the number of further ones as `more`."""
    own = access.visible(Pooler.objects.only("name", "error", "drift", "settings_state", "settings_reason"))
    unreachable = Cluster.objects.filter(status__state=ClusterState.UNREACHABLE).select_related("status")
    clusters = access.visible(unreachable.only("name", "status__error"))
    pools = (
        access.visible(Pool.objects.of_people())
        .filter(Q(state__in=UNWELL) | ~Q(state_reason=""))
        .order_by("-updated_at")
        .only("name", "state", "state_reason")
    )
    events = (
        access.visible(Event.objects.ongoing()).exclude(kind__in=STATE_HAS_ITS_OWN).order_by("severity", "-opened_at")
    )
    groups = [
        _first(clusters, lambda one: _problem("unreachable", "cluster", one, one.status.error)),
        _first(own.exclude(error=""), lambda one: _problem("unreachable", "pooler", one, one.error)),
        _first(own.exclude(drift=[]), _drift_problem),
        _first(own.filter(settings_state__in=[PoolState.FAILED, PoolState.ROLLED_BACK]), _settings_problem),
        _first(events.exclude(kind=EventKind.VULNERABLE), _event_problem),
        _first(pools, lambda one: _problem(one.state, "pool", one, one.state_reason)),
        _first(events.filter(kind=EventKind.VULNERABLE), _event_problem),  # last: they last until an upgrade
    ]
    shown = [problem for problems, _count in groups for problem in problems][:PROBLEMS_SHOWN]
    return {"shown": shown, "more": sum(count for _problems, count in groups) - len(shown)}


def _first(rows: QuerySet[R], described: Callable[[R], Problem]) -> tuple[list[Problem], int]:
    """Return the first problems of a kind and how many there are, which one reading of them tells."""
    found = list(rows.annotate(in_all=Window(Count("*")))[:PROBLEMS_SHOWN])
    return [described(one) for one in found], int(vars(found[0])["in_all"]) if found else 0


def _problem(state: str, noun: str, record: Cluster | Pooler | Pool, reason: str) -> Problem:
    return Problem(state, _subject(noun, record), reason, reverse(f"{noun}-detail", args=[record.pk]))


def _subject(noun: str, name: object) -> str:
    return str(SUBJECTS[noun]) % {"name": name}


def _drift_problem(pooler: Pooler) -> Problem:
    """Describe drift of a pooler's files, which changes no pool's state."""
    found = "; ".join(f"{one['where']}: {one['what']}" for one in pooler.drift)
    return Problem(PoolState.DRIFTED, _subject("pooler", pooler), found, reverse("pooler-drift", args=[pooler.pk]))


def _settings_problem(pooler: Pooler) -> Problem:
    subject = _("settings of pooler %(name)s") % {"name": pooler}
    return Problem(pooler.settings_state, subject, pooler.settings_reason, reverse("pooler-settings", args=[pooler.pk]))


def _event_problem(event: Event) -> Problem:
    subject = _subject(event.subject_type, event.subject_name)
    return Problem(event.severity, subject, event.message, event.log_url or event.get_absolute_url())


urlpatterns: list[URLPattern] = [
    path("", dashboard, name="dashboard"),
    path("live/", dashboard_live, name="dashboard-live"),
]
