"""Reasons why a queued run has not started, and about how long it will wait."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.generators import host_files, registry
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.generators.selection import seen_ago
from benchmarks.models import ACTIVE, FINAL, Run, Status
from core.installation import pausing


class SharedResource(StrEnum):
    """The resources for which one run waits for another."""

    NOT_KNOWN = ""  # an earlier run of the queue
    GROUP = "group"
    CLUSTER = "cluster"
    GENERATOR = "generator"  # a generator that the run names
    SOONEST = "soonest"  # the first of several busy generators to become free


WAITS_FOR: dict[SharedResource, str | Promise] = {
    SharedResource.NOT_KNOWN: gettext_lazy("waits for %(run)s"),
    SharedResource.GROUP: gettext_lazy("waits for %(run)s of the same group"),
    SharedResource.CLUSTER: gettext_lazy("waits for %(run)s on cluster %(name)s"),
    SharedResource.GENERATOR: gettext_lazy("waits for %(run)s on generator %(name)s"),
    SharedResource.SOONEST: gettext_lazy("waits for %(run)s on generator %(name)s, as all are busy"),
}
WAITS_FOR_SECONDS: dict[SharedResource, str | Promise] = {
    SharedResource.NOT_KNOWN: gettext_lazy("waits for %(run)s, about %(seconds)s s left"),
    SharedResource.GROUP: gettext_lazy("waits for %(run)s of the same group, about %(seconds)s s left"),
    SharedResource.CLUSTER: gettext_lazy("waits for %(run)s on cluster %(name)s, about %(seconds)s s left"),
    SharedResource.GENERATOR: gettext_lazy("waits for %(run)s on generator %(name)s, about %(seconds)s s left"),
    SharedResource.SOONEST: gettext_lazy(
        "waits for %(run)s on generator %(name)s, as all are busy, about %(seconds)s s left"
    ),
}


@dataclass(frozen=True)
class QueueStatus:
    """The reasons for a wait: an earlier run (None: no run), what the two share, and what the generators lack.

    `name` is that of the cluster or generator they share; `ahead` counts the queued runs that come before it; `left_s`
    are the seconds left of `run` (None: not known).
    """

    run: Run | None
    ahead: int
    left_s: float | None
    shared: SharedResource = SharedResource.NOT_KNOWN
    name: str = ""
    missing: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """The reasons for the API and programs."""
        if self.run is None:
            return list(self.missing)
        if self.ahead <= 1:
            return [self._waits_for(), *self.missing]
        ahead = ngettext("%(count)s run goes before this one", "%(count)s runs go before this one", self.ahead)
        return [self._waits_for(), ahead % {"count": self.ahead}, *self.missing]

    def _waits_for(self) -> str:
        texts = WAITS_FOR if self.left_s is None else WAITS_FOR_SECONDS
        return str(texts[self.shared]) % {"run": self.run, "name": self.name, "seconds": f"{self.left_s or 0:.0f}"}


def waits_for(run: Run) -> QueueStatus | None:
    """Return why a queued run has not started; None when it will start at the next poll of a free generator."""
    if run.status != Status.QUEUED:
        return None
    same_place = Q(cluster=run.cluster_id) | Q(group=run.group) if run.group else Q(cluster=run.cluster_id)
    earlier = Run.objects.top_level().filter(status=Status.QUEUED, number__lt=run.number).filter(same_place)
    known, unknown = registry.known_or_remembered()
    first, shared, name = next(_before(run, known, earlier), (None, SharedResource.NOT_KNOWN, ""))
    if pausing.is_paused():
        return QueueStatus(None, 0, None, missing=(str(pausing.PAUSED),))
    missing = (*_blocking_experiment(run), *(() if unknown else _missing(run, known)))
    if first is None and not missing:
        return None
    return QueueStatus(first, earlier.count(), left_s(first) if first else None, shared, name, missing)


def _before(
    run: Run, known: list[GeneratorStatus], earlier: QuerySet[Run]
) -> Iterator[tuple[Run, SharedResource, str]]:
    """Yield the runs that have to end first, each with what they share and its name; the queued ones last."""
    if run.group:
        group = Run.objects.filter(group=run.group, number__lt=run.number).exclude(status__in=FINAL)
        yield from ((one, SharedResource.GROUP, "") for one in _first(group))
    if run.alongside:
        return
    # The run itself is left out: a worker may have claimed it since its row was read.
    active = Run.objects.top_level().filter(status__in=ACTIVE).exclude(pk=run.pk)
    if run.cluster_id:
        for one in _first(active.filter(cluster=run.cluster_id)):
            yield one, SharedResource.CLUSTER, str(one.cluster)
    for name in run.wanted_generators:
        carried = [one for status in known if status.name == name for one in status.runs if one != run]
        yield from ((one, SharedResource.GENERATOR, name) for one in carried[:1])
    need = host_files.needed(run.engine, run.options)
    able = [one for one in known if one.alive and not one.ssh_host and host_files.can_carry(one, run.engine, need)]
    if not run.wanted_generators and able and all(one.runs and run not in one.runs for one in able):
        soonest = min((one for one in able), key=lambda one: left_s(one.runs[0]) or float("inf"))
        yield soonest.runs[0], SharedResource.SOONEST if len(able) > 1 else SharedResource.GENERATOR, soonest.name
    for one in _first(earlier):
        yield (one, SharedResource.CLUSTER, str(one.cluster)) if one.cluster else (one, SharedResource.NOT_KNOWN, "")


def _first(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.select_related("cluster").order_by("number")[:1]


def _blocking_experiment(run: Run) -> Iterator[str]:
    """Yield the experiment that has the run's cluster for itself, where one does."""
    in_force = (
        Run.objects.with_settings_in_force().filter(cluster=run.cluster_id).select_related("cluster", "experiment")
    )
    if run.alongside or not run.cluster_id or (run.experiment_id and in_force.filter(experiment=run.experiment_id)):
        return
    for one in in_force[:1]:
        text = _("waits for %(experiment)s, which keeps its settings in force on cluster %(name)s until it ends")
        yield text % {"experiment": one.experiment, "name": one.cluster}


def _missing(run: Run, known: list[GeneratorStatus]) -> Iterator[str]:
    """Yield sentences on what the run's generators lack to start it."""
    by_name = {one.name: one for one in known}
    for name in run.wanted_generators:
        generator = by_name.get(name)
        if generator is None:
            yield _("its generator %(generator)s is not known any more") % {"generator": name}
        elif not generator.alive:
            text = _("its generator %(generator)s was last seen %(ago)s ago")
            yield text % {"generator": name, "ago": seen_ago(generator.last_seen_at)}
    if not run.wanted_generators:
        yield from _why_no_generator(run, [one for one in known if one.alive and not one.ssh_host])


def _why_no_generator(run: Run, alive: list[GeneratorStatus]) -> Iterator[str]:
    """Yield why no live generator can take a run that is bound to none; nothing where one can."""
    having = [one for one in alive if not one.lacks(run.engine)]
    need = host_files.needed(run.engine, run.options)
    faults = [host_files.wrong_with(one, need) for one in having]
    if not alive:
        yield _("no generator is alive: start a worker")
    elif not having:
        yield _("no generator that is alive has %(engine)s") % {"engine": run.engine}
    elif all(faults):
        yield from faults


def left_s(run: Run) -> float | None:
    """Return the seconds until the planned end of an active run's load, at least 0; None where none was planned."""
    duration = run.options.get("duration")
    if run.status not in ACTIVE or not duration or run.options.get("transactions"):
        return None
    began = run.load_began_at or run.started_at
    spent = (timezone.now() - began).total_seconds() if began else 0.0
    return max(0.0, float(duration) - spent)
