"""The pools of one pooler as an apply finds them: nearly all of ten thousand are settled, and known by their keys."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import TextField
from django.db.models.base import ModelState
from django.db.models.functions import Cast

from pools.models.clusters import Cluster
from pools.models.poolers import Pooler
from pools.models.pools import Pool
from pools.models.states import PoolState

SETTLED = (PoolState.APPLIED, PoolState.DRIFTED)
OF_SETTLED = ("id", "name", "cluster_id")
TIMES = ("created_at", "updated_at")  # nobody renders them, and to read them takes longest
OF_OTHERS = tuple(field.attname for field in Pool._meta.concrete_fields if field.name not in TIMES)


class Standing(Collection[Pool]):
    """All pools that are wanted, by name. `settled` ones (key → state) are read when somebody looks at them all.

    `others` are read already, and so are the `leaving` ones, which are no part of the whole.
    """

    def __init__(self, pooler: Pooler, order: Iterable[str], settled: Mapping[str, str], read: Iterable[Pool]) -> None:
        self.pooler, self.settled, self._order = pooler, settled, order
        self.others = [pool for pool in read if pool.removal_requested_at is None]
        self.leaving = [pool for pool in read if pool.removal_requested_at is not None]

    @classmethod
    def of(cls, pooler: Pooler, known: Collection[str]) -> "Standing":
        """What stands in the records; of the settled pools those that are not `known` (keys) are read at once."""
        order = _states(pooler, known)
        settled = {key: state for key, (state, leaves) in order.items() if state in SETTLED and not leaves}
        kept = {key: state for key, state in settled.items() if key in known}
        rows = Pool.objects.filter(pooler=pooler)
        if len(kept) == len(settled):  # as nearly always
            rows = rows.exclude(state__in=SETTLED, removal_requested_at=None)
        read = {pool.key: pool for pool in _made(pooler, OF_OTHERS, rows.values_list(*OF_OTHERS))}
        return cls(pooler, order, kept, [read[key] for key in order if key in read and key not in kept])

    @classmethod
    def whole(cls, pooler: Pooler) -> "Standing":
        """All of them read."""
        return cls.of(pooler, ())

    def items(self) -> Iterator[tuple[str, Pool | None]]:
        """Each key with its pool, by name; None for one that is settled."""
        read = {pool.key: pool for pool in self.others}
        return ((key, read.get(key)) for key in self._order if key in read or key in self.settled)

    def __contains__(self, pool: object) -> bool:
        return pool in self._all

    def __iter__(self) -> Iterator[Pool]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self.others) + len(self.settled)

    @cached_property
    def _all(self) -> list[Pool]:
        rows = Pool.objects.filter(pooler=self.pooler).values_list(*OF_SETTLED) if self.settled else ()
        read = {pool.key: pool for pool in _made(self.pooler, OF_SETTLED, rows) if pool.key in self.settled}
        for key, pool in read.items():  # as it was found then, whatever became of it since
            pool.state, pool.removal_requested_at = self.settled[key], None
        read |= {pool.key: pool for pool in self.others}
        return [read[key] for key in self._order if key in read]


def _states(pooler: Pooler, known: Collection[str]) -> dict[str, tuple[str, bool]]:
    """Key → state and whether it is to be removed, by name; ids are read as text, since an UUID takes long to make."""
    keys = {key.replace("-", ""): key for key in known}
    rows = Pool.objects.filter(pooler=pooler).annotate(text=Cast("id", TextField()))
    return {
        keys.get(text.replace("-", "")) or str(UUID(text)): (state, bool(at))
        for text, state, at in rows.values_list("text", "state", "removal_requested_at")
    }


def _made(pooler: Pooler, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> list[Pool]:
    """Pools of which the other fields are read when they are used.

    Made as Django unpickles a record: of ten thousand, `__init__` would take most of the time; and a join would make a
    cluster of its own for each.
    """
    found = []
    for row in rows:
        pool = Pool.__new__(Pool)
        pool.__dict__.update(zip(names, row, strict=True), pooler_id=pooler.pk)
        pool._state = ModelState()
        pool._state.adding, pool._state.db = False, pooler._state.db
        found.append(pool)
    clusters = Cluster.objects.in_bulk({pool.cluster_id for pool in found})
    for pool in found:
        pool._state.fields_cache = {"cluster": clusters[pool.cluster_id], "pooler": pooler}
    return found
