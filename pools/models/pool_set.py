"""Lazy set of one pooler's pools: only pools with pending changes are loaded, unchanged ones are keys."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from uuid import UUID

from django.db.models import TextField
from django.db.models.base import ModelState
from django.db.models.functions import Cast

from pools.models.clusters import Cluster
from pools.models.poolers import Pooler
from pools.models.pools import Pool, PoolQuerySet
from pools.models.states import LIVE_STATES

OF_SETTLED = ("id", "cluster_id", "name")
UNREAD = frozenset(
    {"pooler_id", "created_at", "updated_at", "state_reason", "paused_until", "proved_at", "proved_digest"}
)  # never rendered
OF_OTHERS = tuple(field.attname for field in Pool._meta.concrete_fields if field.attname not in UNREAD)
AS_TEXT = frozenset({"id", "cluster_id", "through_id", "settings", "taken_over"})  # slow to convert in Django


class PoolSet(Collection[Pool]):
    """All pools that should exist, by name. `settled` ones (key → state) are loaded when the set is iterated.

    `others` are loaded, and so are the `leaving` ones, which are not in the set.
    """

    def __init__(self, pooler: Pooler, order: Iterable[str], settled: Mapping[str, str], read: Iterable[Pool]) -> None:
        self.pooler, self.settled, self._order = pooler, settled, order
        self.others = [pool for pool in read if pool.removal_requested_at is None]
        self.leaving = [pool for pool in read if pool.removal_requested_at is not None]

    @classmethod
    def of(cls, pooler: Pooler, known: Collection[str]) -> "PoolSet":
        """Build the set from the database; settled pools that are not `known` (keys) are loaded at once."""
        if not known:
            return cls.whole(pooler)
        order = _states(pooler, known)
        settled = {key: state for key, (state, leaves) in order.items() if state in LIVE_STATES and not leaves}
        kept = {key: state for key, state in settled.items() if key in known}
        rows = Pool.objects.filter(pooler=pooler)
        if len(kept) == len(settled):  # This is the usual case.
            rows = rows.exclude(state__in=LIVE_STATES, removal_requested_at=None)
        return cls(pooler, order, kept, [pool for pool in _read(pooler, rows, OF_OTHERS) if pool.key not in kept])

    @classmethod
    def whole(cls, pooler: Pooler) -> "PoolSet":
        """Build the set with every pool loaded."""
        pools = _read(pooler, Pool.objects.filter(pooler=pooler), OF_OTHERS)
        return cls(pooler, [pool.key for pool in pools], {}, pools)

    def items(self) -> Iterator[tuple[str, Pool | None]]:
        """Yield each key with its pool, by name; None for a settled one."""
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
        settled = _read(self.pooler, Pool.objects.filter(pooler=self.pooler), OF_SETTLED) if self.settled else ()
        read = {pool.key: pool for pool in settled if pool.key in self.settled}
        for key, pool in read.items():  # the state at loading time, not the current one
            pool.state, pool.removal_requested_at = self.settled[key], None
        read |= {pool.key: pool for pool in self.others}
        return [read[key] for key in self._order if key in read]


def _states(pooler: Pooler, known: Collection[str]) -> dict[str, tuple[str, bool]]:
    """Map each key to its state and whether it is to be removed, by name; texts are faster than ids and times."""
    keys = {key.replace("-", ""): key for key in known}
    rows = Pool.objects.filter(pooler=pooler)
    texts = rows.annotate(text=Cast("id", TextField()), leaves=Cast("removal_requested_at", TextField()))
    return {
        keys.get(text.replace("-", "")) or str(UUID(text)): (state, leaves is not None)
        for text, state, leaves in texts.values_list("text", "state", "leaves")
    }


def _read(pooler: Pooler, rows: PoolQuerySet, names: tuple[str, ...]) -> list[Pool]:
    """Load pools by name with these fields only; other fields are loaded when they are used.

    The records are built as Django unpickles them: for ten thousand, `__init__` would take most of the time, and a join
    would build a separate cluster for each.
    """
    texts = {f"{name}_text": Cast(name, TextField()) for name in names if name in AS_TEXT}
    columns = [f"{name}_text" if name in AS_TEXT else name for name in names]
    records = list(rows.annotate(**texts).values_list(*columns))
    at = names.index("cluster_id")
    clusters = _clusters({record[at] for record in records})
    pooler_id, database, found = pooler.pk, pooler._state.db, []
    for record in records:
        pool = Pool.__new__(Pool)
        fields = pool.__dict__
        fields.update(zip(names, record, strict=True), pooler_id=pooler_id)
        cluster_id, cluster = clusters[record[at]]
        _give_types(fields, cluster_id)
        pool._state = state = ModelState()
        state.adding, state.db, state.fields_cache = False, database, {"cluster": cluster, "pooler": pooler}
        found.append(pool)
    return found


def _clusters(texts: Iterable[str]) -> dict[str, tuple[UUID, Cluster]]:
    """Map the texts of ids to ids and clusters."""
    ids = {text: UUID(text) for text in texts}
    found = Cluster.objects.in_bulk(ids.values())
    return {text: (pk, found[pk]) for text, pk in ids.items()}


def _give_types(fields: dict[str, object], cluster_id: UUID) -> None:
    """Convert the fields read `AS_TEXT`, and set the pool's `key`."""
    digits = str(fields["id"]).replace("-", "")
    fields["id"] = UUID(int=int(digits, 16))
    fields["key"] = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
    fields["cluster_id"] = cluster_id
    if text := fields.get("through_id"):
        fields["through_id"] = UUID(str(text))
    for name in ("settings", "taken_over"):
        if text := fields.get(name):
            fields[name] = {} if text == "{}" else json.loads(str(text))
