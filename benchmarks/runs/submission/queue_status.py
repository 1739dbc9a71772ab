"""What a queued run waits for, and for about how long."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.generators import host_files, registry
from benchmarks.generators.registry import Known
from benchmarks.generators.selection import seen_ago
from benchmarks.models import ACTIVE, FINAL, Run, Status
from panel.installation import pausing


@dataclass(frozen=True)
class Waiting:
    """What stands before a run: another one and where it is (None: no run), and what its generators lack.

    `ahead` are the queued runs that come before it, `left_s` the seconds left of `run` (None: not known).
    """

    run: Run | None
    ahead: int
    left_s: float | None
    place: str = ""
    missing: tuple[str, ...] = ()

    @property
    def sentences(self) -> list[str]:
        """For those who read no page."""
        if self.run is None:
            return list(self.missing)
        left = f", about {self.left_s:.0f} s left" if self.left_s is not None else ""
        others = f"; {self.ahead} runs go before this one" if self.ahead > 1 else ""
        return [f"waits for {self.run} {self.place}".rstrip() + left + others, *self.missing]


def waits_for(run: Run) -> Waiting | None:
    """Why a queued run has not started; None when nothing stands before it but a free generator's next look."""
    if run.status != Status.QUEUED:
        return None
    same_place = Q(cluster=run.cluster_id) | Q(group=run.group) if run.group else Q(cluster=run.cluster_id)
    earlier = Run.objects.wholes().filter(status=Status.QUEUED, number__lt=run.number).filter(same_place)
    known, unknown = registry.known_or_remembered()
    first, place = next(_before(run, known), (None, ""))
    if pausing.is_paused():
        return Waiting(None, 0, None, missing=(str(pausing.PAUSED),))
    first = first or (None if run.alongside else earlier.order_by("number").first())
    missing = () if unknown else tuple(_missing(run, known))
    if first is None and not missing:
        return None
    return Waiting(first, earlier.count(), left_s(first) if first else None, place, missing)


def _before(run: Run, known: list[Known]) -> Iterator[tuple[Run, str]]:
    """The runs that have to end first, each with where it is in its way."""
    if run.group:
        group = Run.objects.filter(group=run.group, number__lt=run.number).exclude(status__in=FINAL)
        yield from ((one, "of the same group") for one in _first(group))
    if run.alongside:
        return
    active = Run.objects.wholes().filter(status__in=ACTIVE)
    if run.cluster_id:
        yield from ((one, f"on cluster {one.cluster}") for one in _first(active.filter(cluster=run.cluster_id)))
    for name in run.wanted_generators:
        carried = next((one.runs for one in known if one.name == name), ())
        yield from ((one, f"on generator {name}") for one in carried[:1])
    need = host_files.needed(run.engine, run.options)
    able = [one for one in known if one.alive and host_files.can_carry(one, run.engine, need)]
    if not run.wanted_generators and able and all(one.runs for one in able):
        soonest = min((one for one in able), key=lambda one: left_s(one.runs[0]) or float("inf"))
        yield soonest.runs[0], f"on generator {soonest.name}" + (", as all are busy" if len(able) > 1 else "")


def _first(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.select_related("cluster").order_by("number")[:1]


def _missing(run: Run, known: list[Known]) -> Iterator[str]:
    """What its generators lack to start it, in sentences."""
    by_name = {one.name: one for one in known}
    for name in run.wanted_generators:
        found = by_name.get(name)
        if found is None:
            yield f"its generator {name} is not known any more"
        elif not found.alive:
            yield f"its generator {name} was last seen {seen_ago(found.last_seen_at)} ago"
    if not run.wanted_generators:
        yield from _why_nobody(run, [one for one in known if one.alive])


def _why_nobody(run: Run, alive: list[Known]) -> Iterator[str]:
    """Why none of those that live can take a run that any may take; nothing where one can."""
    having = [one for one in alive if not one.lacks(run.engine)]
    need = host_files.needed(run.engine, run.options)
    faults = [host_files.wrong_with(one, need) for one in having]
    if not alive:
        yield "no generator is alive: start a worker"
    elif not having:
        yield f"no generator that is alive has {run.engine}"
    elif all(faults):
        yield from faults


def left_s(run: Run) -> float | None:
    """Seconds until the planned end of an active run's load, never below 0; None when no time was planned."""
    duration = run.options.get("duration")
    if run.status not in ACTIVE or not duration or run.options.get("transactions"):
        return None
    began = run.load_began_at or run.started_at
    spent = (timezone.now() - began).total_seconds() if began else 0.0
    return max(0.0, float(duration) - spent)
