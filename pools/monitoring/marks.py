"""What happened while charts were drawn, as marks in them: revisions and size changes, restarts, events and runs."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.apps import apps
from django.db.models import Max, Q, QuerySet, TextChoices
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.accounts.access import Access
from pools.models import (
    Cluster,
    Entry,
    Event,
    EventKind,
    Pool,
    Pooler,
    Restart,
    RestartEvidence,
    Revision,
    RevisionState,
)
from pools.monitoring.windows import Window

MOST = 50  # of each kind, the latest: a pooler may get a revision each minute
SIZE_CHANGE = re.compile(r"(?P<pool>.+): size (?P<before>\S+) → (?P<after>\S+)")  # as a revision's summary has it


class MarkKind(TextChoices):
    """What a mark is about."""

    SIZE = "size", gettext_lazy("size changes")
    REVISION = "revision", gettext_lazy("revisions")
    RESTART = "restart", gettext_lazy("restarts")
    NORMAL = "normal", gettext_lazy("back to normal")
    EVENT = "event", gettext_lazy("events")
    RUN = "run", gettext_lazy("runs")


@dataclass(frozen=True)
class Mark:
    """One moment: a name that fits into a chart, the whole text, and the page about it."""

    at: datetime
    kind: MarkKind
    name: str
    text: str
    url: str

    @property
    def t(self) -> float:
        """The time that charts count in (Unix, s)."""
        return self.at.timestamp()


@dataclass(frozen=True)
class Latest:
    """When the latest of what is marked happened (Unix, s; 0 for never), and the last restart.

    A check notices a restart up to a minute after it, so that the time alone would not tell it from what came since.
    """

    at: float = 0.0
    restart: int = 0


def of_pool(pool: Pool, access: Access, window: Window) -> list[Mark]:
    """Return the marks of a pool: what happened to it, its pooler and its cluster, as far as the caller may see it."""
    about = Q(subject_id__in=[pool.pk, pool.pooler_id, pool.cluster_id])
    return _marks(access, window, pooler=pool.pooler_id, about=about, runs=pool.runs.all(), name=pool.name)


def of_entry(entry: Entry, access: Access, window: Window) -> list[Mark]:
    """Return the marks of an entry, as `of_pool` does; no run loads an entry."""
    about = Q(subject_id__in=[entry.pk, entry.pooler_id, entry.cluster_id])
    return _marks(access, window, pooler=entry.pooler_id, about=about)


def of_pooler(pooler: Pooler, access: Access, window: Window) -> list[Mark]:
    """Return the marks of a pooler and of all its pools."""
    about = Q(subject_id=pooler.pk) | Q(pooler_id=pooler.pk)
    runs = apps.get_model("benchmarks", "Run")._default_manager.filter(pool__pooler=pooler)
    return _marks(access, window, pooler=pooler.pk, about=about, runs=runs)


def of_cluster(cluster: Cluster, access: Access, window: Window) -> list[Mark]:
    """Return the marks of a cluster: its events and those of its pools, and all its runs."""
    about = Q(subject_id=cluster.pk) | Q(subject_id__in=cluster.pools.values("pk"))
    return _marks(access, window, pooler=None, about=about, runs=cluster.runs.all())


def of_poolers(poolers: Sequence[Pooler], access: Access, window: Window) -> dict[UUID, list[Mark]]:
    """Return the revisions and restarts of each pooler by its id, in one query for each kind; their texts name it."""
    names = {pooler.pk: pooler.name for pooler in poolers}
    found: dict[UUID, list[Mark]] = {key: [] for key in names}
    for pooler_id, mark in _of_revisions(access.visible(Revision.objects.filter(pooler__in=poolers)), window, None):
        text = _("%(pooler)s: %(text)s") % {"pooler": names[pooler_id], "text": mark.text}
        found[pooler_id].append(replace(mark, text=text))
    for pooler_id, mark in _of_restarts(access.visible(Restart.objects.filter(pooler__in=poolers)), window):
        found[pooler_id].append(mark)
    return found


def latest(pooler_id: UUID) -> Latest:
    """Return the latest of what is marked of a pooler, its pools and their clusters.

    It tells those who follow a pooler, whatever each of them may see, when it is worth to read the marks again.
    """
    clusters = Pool.objects.filter(pooler=pooler_id).values("cluster_id")
    about = Q(subject_id=pooler_id) | Q(pooler_id=pooler_id) | Q(subject_id__in=clusters)
    runs = apps.get_model("benchmarks", "Run")._default_manager.filter(pool__pooler=pooler_id, parent=None)
    restart = Restart.objects.filter(pooler=pooler_id).aggregate(at=Max("at"), id=Max("pk"))
    times = [
        restart["at"],
        *Revision.objects.filter(pooler=pooler_id).aggregate(Max("finished_at")).values(),
        *Event.objects.reportable().filter(about).aggregate(Max("opened_at"), Max("closed_at")).values(),
        *runs.aggregate(Max("started_at")).values(),
    ]
    return Latest(max((at.timestamp() for at in times if at), default=0.0), restart["id"] or 0)


def _marks(
    access: Access,
    window: Window,
    *,
    pooler: UUID | None,
    about: Q,
    runs: QuerySet[Any] | None = None,
    name: str | None = None,
) -> list[Mark]:
    found: list[Mark] = []
    if pooler:
        revisions, restarts = Revision.objects.filter(pooler=pooler), Restart.objects.filter(pooler=pooler)
        found += [mark for _pooler, mark in _of_revisions(access.visible(revisions), window, name)]
        found += [mark for _pooler, mark in _of_restarts(access.visible(restarts), window)]
    found += [*_of_events(access, window, about), *_of_ends(access, window, about)]
    if runs is not None:
        found += _of_runs(access.visible(runs), window)
    return sorted(found, key=attrgetter("at"))


def _of_revisions(rows: QuerySet[Revision], window: Window, name: str | None) -> Iterator[tuple[UUID, Mark]]:
    """Yield the mark of each revision that ended, with the id of its pooler."""
    ended = rows.filter(finished_at__gte=window.since, finished_at__lt=window.until)
    listed = ended.only("pooler_id", "number", "state", "summary", "cause", "created_at", "finished_at")
    for revision in listed.order_by("-finished_at")[:MOST]:
        size = _size_change(revision, name)
        kind = MarkKind.SIZE if size else MarkKind.REVISION
        short = size or _("revision %(number)d") % {"number": revision.number}
        url = reverse("pooler-revision", args=[revision.pooler_id, revision.number])
        at = revision.finished_at or revision.created_at
        yield revision.pooler_id, Mark(at, kind, short, _revision_text(revision), url)


def _size_change(revision: Revision, name: str | None) -> str:
    """Return the change of a size that a revision brought, of one pool or of any; empty for none."""
    if revision.state != RevisionState.APPLIED:
        return ""
    changes = filter(None, map(SIZE_CHANGE.fullmatch, revision.summary.split(" · ")))
    for change in changes:
        if name is None:
            return change[0]
        if change["pool"] == name:
            return _("size %(before)s → %(after)s") % change.groupdict()
    return ""


def _revision_text(revision: Revision) -> str:
    texts = {
        RevisionState.APPLIED: _("Revision %(number)d applied: %(summary)s"),
        RevisionState.ROLLED_BACK: _("Revision %(number)d rolled back: %(summary)s"),
        RevisionState.FAILED: _("Revision %(number)d failed: %(summary)s"),
    }
    params = {"number": revision.number, "summary": revision.summary or revision.cause or "–"}
    return texts[RevisionState(revision.state)] % params


def _of_restarts(rows: QuerySet[Restart], window: Window) -> Iterator[tuple[UUID, Mark]]:
    """Yield the mark of each restart, with the id of its pooler."""
    listed = rows.filter(at__gte=window.since, at__lt=window.until).select_related("pooler")
    for restart in listed.only("at", "process", "evidence", "pooler__name").order_by("-at")[:MOST]:
        words = {"pooler": restart.pooler.name, "process": restart.process}
        name = _("restart")
        if restart.evidence == RestartEvidence.COUNTERS:
            name, text = _("counters from 0"), _("The pooler counts from 0, after a restart or a KILL: %(pooler)s")
        elif restart.process:
            text = _("A process of the pooler restarted: %(pooler)s, %(process)s")
        else:
            text = _("The pooler restarted: %(pooler)s")
        url = reverse("pooler-detail", args=[restart.pooler_id])
        yield restart.pooler_id, Mark(restart.at, MarkKind.RESTART, name, text % words, url)


def _of_events(access: Access, window: Window, about: Q) -> Iterator[Mark]:
    rows = access.visible(Event.objects.reportable()).filter(about, opened_at__gte=window.since)
    for event in rows.filter(opened_at__lt=window.until)[:MOST]:
        words = {"event": capfirst(event.get_kind_display()), "subject": event.subject_name}
        text = _("%(event)s: %(subject)s") % words
        yield Mark(event.opened_at or event.crossed_at, MarkKind.EVENT, event.get_kind_display(), text, _url_of(event))


def _url_of(event: Event) -> str:
    return f"{reverse('event-list')}?{urlencode({'q': event.subject_name, 'kind': event.kind})}"


def _of_ends(access: Access, window: Window, about: Q) -> Iterator[Mark]:
    """Yield a mark where a pooler or a cluster answers again, and where no setting waits for a restart any more."""
    texts = {
        EventKind.POOLER_DOWN: (_("pooler answers again"), _("The pooler answers again: %(subject)s")),
        EventKind.CLUSTER_DOWN: (_("cluster answers again"), _("The cluster answers again: %(subject)s")),
        EventKind.RESTART: (_("no restart pending"), _("No setting waits for a restart any more: %(subject)s")),
    }
    rows = access.visible(Event.objects.ended()).filter(about, kind__in=texts, closed_at__gte=window.since)
    for event in rows.filter(closed_at__lt=window.until).order_by("-closed_at")[:MOST]:
        name, text = texts[EventKind(event.kind)]
        at = event.closed_at or event.crossed_at
        yield Mark(at, MarkKind.NORMAL, name, text % {"subject": event.subject_name}, _url_of(event))


def _of_runs(rows: QuerySet[Any], window: Window) -> Iterator[Mark]:
    started = rows.filter(parent=None, started_at__gte=window.since, started_at__lt=window.until)
    columns = ("number", "name", "target_label", "started_at", "pool_id", "cluster_id")
    for run in started.only(*columns).order_by("-started_at")[:MOST]:
        words = {"number": run.number, "name": run.name or run.target_label}
        text = _("Run %(number)d: %(name)s") % words if words["name"] else _("Run %(number)d") % words
        name = _("run %(number)d") % words
        yield Mark(run.started_at, MarkKind.RUN, name, text, reverse("run-detail", args=[run.pk]))


def as_rows(marks: Iterable[Mark]) -> list[dict[str, object]]:
    """Return marks as a page hands them to its charts."""
    return [{"t": one.t, "kind": one.kind.value, "label": one.name, "text": one.text, "url": one.url} for one in marks]


def kinds_of(marks: Iterable[Mark], *, is_live: bool) -> list[tuple[MarkKind, bool]]:
    """Return the kinds that a page has buttons for, and whether it has such a mark; live ones may come later."""
    found = {mark.kind for mark in marks}
    return [(kind, kind in found) for kind in sorted(MarkKind) if is_live or kind in found]
