"""The table of acts that a second person can be required for: what each touches, and how it reads.

A verb enters by `held_back` (`pools.approvals.holding`); `tests/pools/approvals` holds each row and each verb against
this table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.utils.translation import gettext as _

from core.audit import redaction
from pools.approvals.arguments import Arguments
from pools.models import Act, ApprovalRules, Cluster, Pool, Pooler

Rules = QuerySet[ApprovalRules]


@dataclass(frozen=True)
class HeldAct:
    """One row. Each of its functions takes the arguments of the verb by name.

    `rules` returns those that ask for a second person; `state` what must still be so when it is approved.
    """

    verb: str
    operation: str
    rules: Callable[[Arguments], Iterable[ApprovalRules]]
    text: Callable[[Arguments], str]
    record: Callable[[Arguments], Model]
    state: Callable[[Arguments], Mapping[str, object]]


def all_rules() -> Rules:
    """Return the rules of all clusters, with these."""
    return ApprovalRules.objects.select_related("cluster")


def _for(act: Act, clusters: Q) -> list[ApprovalRules]:
    return [rules for rules in all_rules().filter(clusters) if act in rules.acts]


def _first(given: Arguments) -> Any:  # noqa: ANN401 (the record that the verb is about)
    return next(iter(given.values()))


def _behind(pooler: Pooler) -> Q:
    """Return the clusters that a pooler leads to, by its pools and by its entries."""
    pools = Pool.objects.filter(Q(pooler=pooler) | Q(through=pooler)).values("cluster")
    return Q(cluster__in=pools) | Q(cluster__in=pooler.entries.exclude(cluster=None).values("cluster"))


def _of_cluster(act: Act) -> Callable[[Arguments], list[ApprovalRules]]:
    return lambda given: _for(act, Q(cluster=_first(given)))


def _of_pool(act: Act) -> Callable[[Arguments], list[ApprovalRules]]:
    return lambda given: _for(act, Q(cluster=_first(given).cluster_id))


def _of_pooler(act: Act) -> Callable[[Arguments], list[ApprovalRules]]:
    return lambda given: _for(act, _behind(_first(given)))


def _address(given: Arguments) -> dict[str, object]:
    server = _first(given)
    return {"name": server.name, "host": server.host, "port": server.port}


def _pool_s_place(given: Arguments) -> dict[str, object]:
    pool = _first(given)
    place = {"name": pool.name, "database": pool.database, "cluster": str(pool.cluster_id)}
    return {**place, "pooler": [str(pool.pooler_id), pool.pooler.host, pool.pooler.port]}


def _files(given: Arguments) -> dict[str, object]:
    pooler = _first(given)
    names = ("config_dir", "config_file", "delivery", "ssh_host_id", "generator")
    return {**_address(given), **{name: str(getattr(pooler, name) or "") for name in names}}


def _version(given: Arguments) -> dict[str, object]:
    return {"version": _first(given).version}


def _cluster_named(given: Arguments) -> Cluster | None:
    """Return the cluster of the values of a pool, which have the record or its id."""
    named = given["values"].get("cluster")
    if isinstance(named, Cluster):
        return named
    try:
        return Cluster.objects.filter(pk=UUID(str(named))).first()
    except ValueError:
        return None


def _over(cluster_id: UUID, size: object, before: int = 0) -> list[ApprovalRules]:
    """Return the rules whose limit this size is beyond; one that does not grow needs nobody."""
    if not isinstance(size, int) or size <= before:
        return []
    return list(all_rules().filter(cluster=cluster_id, pool_size__lt=size))


def _of_new_pool(given: Arguments) -> list[ApprovalRules]:
    cluster = _cluster_named(given)
    return _over(cluster.pk, given["values"].get("size")) if cluster else []


def _of_changed_pool(given: Arguments) -> list[ApprovalRules]:
    pool = given["pool"]
    return _over(pool.cluster_id, given["values"].get("size"), pool.size)


def _of_roll_back(given: Arguments) -> Iterator[ApprovalRules]:
    """Yield the rules of what a rollback removes, and of pools that it makes larger than their limit."""
    specs = given["revision"].specs or {}  # a revision that never was live may have none; the verb refuses it
    wanted = {record["id"]: record for record in specs.get("pools", [])}
    for pool in given["pooler"].pools.wanted():
        if str(pool.pk) not in wanted:
            yield from _for(Act.REMOVE, Q(cluster=pool.cluster_id))
    sizes = {str(pool.pk): pool.size for pool in given["pooler"].pools.wanted()}
    for key, record in wanted.items():
        yield from _over(UUID(record["cluster_id"]), record["size"], sizes.get(key, 0))


def _loosened(given: Arguments) -> list[ApprovalRules]:
    """Return the rules of a cluster where the new ones ask for less."""
    rules = all_rules().filter(cluster=given["cluster"]).first()
    if rules is None or rules.is_empty:
        return []
    limit, new = rules.pool_size, given["pool_size"]
    is_looser = limit is not None and (new is None or new > limit)
    return [rules] if is_looser or set(rules.acts) - set(given["acts"]) else []


def _changes(given: Arguments) -> str:
    """Return the fields of a pool and their new values, passwords as `changed`."""
    pool = given.get("pool")
    found = []
    for name, value in given["values"].items():
        is_same = pool is not None and getattr(pool, name, None) == value
        if is_same or value in (None, "", {}, []):
            continue
        shown = redaction.safe({name: str(value)})[name]  # type: ignore[index]  # of a mapping it returns one
        before = f"{getattr(pool, name)} → " if pool is not None and hasattr(pool, name) else ""
        found.append(f"{name} {before}{shown}")
    return "; ".join(found)


def _rules_text(given: Arguments) -> str:
    chosen = [str(act.label) for act in Act if act in given["acts"]]
    if given["pool_size"] is not None:
        chosen.append(_("pools larger than %(size)s") % {"size": given["pool_size"]})
    listed = "; ".join(chosen) or _("nothing")
    return _("Change what needs a second person on cluster %(cluster)s to: %(listed)s") % {**given, "listed": listed}


def _let_go_state(given: Arguments) -> dict[str, object]:
    taken = given["pooler"].take_overs.holding().first()
    return {**_address(given), "take_over": str(taken.pk) if taken else ""}


DROP_DATABASE = HeldAct(
    "database.drop",
    "database.change",
    _of_cluster(Act.DROP),
    lambda given: _("Drop database %(name)s of cluster %(cluster)s") % given,
    _first,
    _address,
)
DROP_ROLE = HeldAct(
    "role.drop",
    "role.change",
    _of_cluster(Act.DROP),
    lambda given: _("Drop role %(name)s of cluster %(cluster)s") % given,
    _first,
    _address,
)
KILL = HeldAct(
    "pool.kill",
    "pool.console",
    _of_pool(Act.KILL),
    lambda given: (
        _("Kill pool %(pool)s on pooler %(pooler)s, and hold it for %(hold)s s")
        % {"pool": given["pool"].name, "pooler": given["pool"].pooler, "hold": given.get("hold_s", 0)}
    ),
    _first,
    _pool_s_place,
)
REMOVE_POOL = HeldAct(
    "pool.remove",
    "pool.remove",
    _of_pool(Act.REMOVE),
    lambda given: _("Remove pool %(pool)s from pooler %(pooler)s") % {**given, "pooler": given["pool"].pooler},
    _first,
    _pool_s_place,
)
REMOVE_POOLER = HeldAct(
    "pooler.remove",
    "pooler.remove",
    _of_pooler(Act.REMOVE),
    lambda given: _("Remove pooler %(pooler)s from the panel") % given,
    _first,
    _address,
)
REMOVE_CLUSTER = HeldAct(
    "cluster.remove",
    "cluster.remove",
    _of_cluster(Act.REMOVE),
    lambda given: _("Remove cluster %(cluster)s from the panel") % given,
    _first,
    _address,
)
GIVE_BACK_CLUSTER = HeldAct(
    "cluster.give_back",
    "cluster.remove",
    lambda given: [*_of_cluster(Act.REMOVE)(given), *_of_cluster(Act.DROP)(given)],
    lambda given: _("Give cluster %(cluster)s back to the shelf, or have it deleted") % given,
    _first,
    _address,
)
TAKE_OVER = HeldAct(
    "pooler.take_over",
    "pooler.take_over",
    _of_pooler(Act.TAKE_OVER),
    lambda given: (
        _("Take over pooler %(pooler)s with the main file %(file)s and the entries %(names)s")
        % {
            "pooler": given["pooler"],
            "file": given["config_file"] or _("that it was started with"),
            "names": _("that can become pools") if given["names"] is None else ", ".join(given["names"]) or "–",
        }
    ),
    _first,
    _files,
)
LET_GO = HeldAct(
    "pooler.let_go",
    "pooler.take_over",
    _of_pooler(Act.TAKE_OVER),
    lambda given: _("Let pooler %(pooler)s go, with the files that it had before") % given,
    _first,
    _let_go_state,
)
CREATE_POOL = HeldAct(
    "pool.create",
    "pool.create",
    _of_new_pool,
    lambda given: _("Create a pool: %(values)s") % {"values": _changes(given)},
    lambda given: _cluster_named(given) or Cluster(),
    lambda given: _address({"cluster": _cluster_named(given)}),
)
CHANGE_POOL = HeldAct(
    "pool.change",
    "pool.change",
    _of_changed_pool,
    lambda given: _("Change pool %(pool)s: %(values)s") % {"pool": given["pool"], "values": _changes(given)},
    _first,
    _version,
)
ROLL_BACK = HeldAct(
    "pooler.roll_back",
    "pooler.apply",
    _of_roll_back,
    lambda given: (
        _("Roll pooler %(pooler)s back to revision %(number)s, which removes or enlarges pools")
        % {"pooler": given["pooler"], "number": given["revision"].number}
    ),
    _first,
    lambda given: {
        **_version(given),
        "pools": [[str(one.pk), one.version] for one in given["pooler"].pools.order_by("pk")],
    },
)
CHANGE_RULES = HeldAct(
    "cluster.change_approval_rules",
    "cluster.change",
    _loosened,
    _rules_text,
    _first,
    lambda given: {
        "rules": [[one.acts, one.pool_size] for one in ApprovalRules.objects.filter(cluster=given["cluster"])]
    },
)

ACTS = {
    act.verb: act
    for act in (
        *(DROP_DATABASE, DROP_ROLE, KILL, REMOVE_POOL, REMOVE_POOLER, REMOVE_CLUSTER, GIVE_BACK_CLUSTER),
        *(TAKE_OVER, LET_GO, CREATE_POOL, CHANGE_POOL, ROLL_BACK, CHANGE_RULES),
    )
}
