"""Which generators live and what each carries: what a dispatch asks, in narrower rows than those of the registry."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from benchmarks.generators import heartbeats
from benchmarks.generators.registry import GeneratorStatus
from benchmarks.models import ACTIVE, Generator, Run

LATE = timedelta(seconds=5)  # a worker beats every 2 s: one that is late may have died


@dataclass(frozen=True)
class Live:
    """The names of the live workers, late ones at the end, and of the hosts that they reach by SSH."""

    workers: tuple[str, ...]
    hosts: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        """All generators that a run may name."""
        return self.hosts.union(self.workers)


def live() -> Live:
    """Return the generators that may be given work; raise `QueueDown`."""
    now = timezone.now()
    beats = [one for one in heartbeats.seen() if one.is_alive(now)]
    hosts = frozenset(Generator.objects.filter(ssh_host__isnull=False).values_list("name", flat=True))
    beats.sort(key=lambda one: (now - one.last_seen_at > LATE, one.name))
    workers = tuple(one.name for one in beats if one.name not in hosts)
    return Live(workers, hosts if beats else frozenset())


def carried() -> Counter[str]:
    """Return generator → number of its active runs; a part of a distributed run counts as one."""
    active = Run.objects.unfinished().filter(status__in=ACTIVE).order_by()
    return Counter(active.values_list("generator", flat=True))


def reported(names: Collection[str]) -> list[GeneratorStatus]:
    """Return these workers with the programs and files that each reported, in this order."""
    rows = Generator.objects.filter(name__in=names).only("name", "engines", "files")
    found = {row.name: {"engines": row.engines, "files": row.files} for row in rows}
    now = timezone.now()
    return [GeneratorStatus(name, now, True, **found.get(name, {})) for name in names]
