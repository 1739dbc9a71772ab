"""What the arms of an experiment need, and the names of it; all of them carry the experiment's number."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError
from benchmarks.experiments.playbook import ArmSpec
from benchmarks.models import Experiment, ResourceKind
from pools.models import AuthMethod, Cluster, Pooler
from pools.poolers import KINDS

SCRAM, MD5 = "scram", "md5"
AUTH_METHODS = {SCRAM: AuthMethod.SCRAM, MD5: AuthMethod.MD5}
MAIN = "main"


class PoolTerms(TypedDict, total=False):
    """The requirements on a pool: the kind of its pooler, its mode and size, its user, and how that logs in."""

    kind: str
    mode: str
    size: int
    user: str
    auth: str


@dataclass(frozen=True)
class RequiredResource:
    """Something that arms need; `arms` are their keys, `values` are of a pool, `settings` of a profile."""

    kind: ResourceKind
    key: str
    name: str
    values: PoolTerms = field(default_factory=PoolTerms)
    settings: Mapping[str, str] = field(default_factory=dict)
    arms: tuple[str, ...] = ()


def name_of(experiment: Experiment, suffix: str = "") -> str:
    """Return the name that its role, its database and its pools begin with."""
    return f"pooldeck_experiment_{experiment.number}" + (f"_{suffix}" if suffix else "")


def maker_of(experiment: Experiment) -> str:
    """Return what its pools are marked as made for, which tells them from pools of other people with their names."""
    return f"experiment {experiment.number}"


def cluster_of(experiment: Experiment) -> Cluster:
    """Return its cluster; raises `BenchmarksError` where that was removed."""
    if experiment.cluster is None:
        raise BenchmarksError(_("cluster %(name)s was removed") % {"name": experiment.cluster_name})
    return experiment.cluster


def loads_existing(experiment: Experiment) -> bool:
    """Return whether it loads tables that exist, so that role and database are not its own."""
    return "existing" in experiment.advice


def database_of(experiment: Experiment) -> str:
    """Return the database that the experiment loads."""
    existing = experiment.advice.get("existing")
    return existing["database"] if existing else name_of(experiment)


def role_of(experiment: Experiment, auth: str) -> str:
    """Return the role that arms of this authentication log in as."""
    existing = experiment.advice.get("existing")
    return existing["user"] if existing else name_of(experiment, MD5 if auth == MD5 else "")


def pool_key(arm: ArmSpec) -> str:
    """Return the key of an arm's pool; empty for a direct arm."""
    endpoint = arm.endpoint
    return f"{endpoint.kind}-{endpoint.mode}-{endpoint.size}-{arm.auth or SCRAM}" if endpoint.is_pooled else ""


def kind_of(key: str) -> str:
    """Return the kind of the pooler of a pool by its key."""
    return key.partition("-")[0]


def profile_key(arm: ArmSpec) -> str:
    """Return the key of an arm's settings profile; empty where it has none."""
    return "_".join(sorted(f"{name}={value}" for name, value in arm.profile.items()))[:60]


def needs(experiment: Experiment, arms: Sequence[ArmSpec]) -> list[RequiredResource]:
    """Return all that the arms need, in the order in which it has to be made."""
    tables = [] if loads_existing(experiment) else _tables_of_its_own(experiment, arms)
    return [*tables, *_profiles(experiment, arms), *_pools(experiment, arms)]


def _tables_of_its_own(experiment: Experiment, arms: Sequence[ArmSpec]) -> list[RequiredResource]:
    """Return the roles and the database that it makes for itself."""
    auths = {SCRAM} | {arm.auth for arm in arms if arm.auth}
    needed = [RequiredResource(ResourceKind.ROLE, SCRAM, role_of(experiment, SCRAM))]
    if MD5 in auths:
        users = tuple(arm.key for arm in arms if arm.auth == MD5)
        needed.append(RequiredResource(ResourceKind.ROLE, MD5, role_of(experiment, MD5), arms=users))
    return [*needed, RequiredResource(ResourceKind.DATABASE, MAIN, name_of(experiment))]


def _profiles(experiment: Experiment, arms: Sequence[ArmSpec]) -> Iterator[RequiredResource]:
    keys = dict.fromkeys(profile_key(arm) for arm in arms if arm.profile)
    for at, key in enumerate(keys, 1):
        users = [arm for arm in arms if arm.profile and profile_key(arm) == key]
        name = f"experiment {experiment.number} profile {at}"
        arms_of_it = tuple(arm.key for arm in users)
        yield RequiredResource(ResourceKind.PROFILE, key, name, settings=dict(users[0].profile), arms=arms_of_it)


def _pools(experiment: Experiment, arms: Sequence[ArmSpec]) -> Iterator[RequiredResource]:
    """Yield the pools, first those whose pooler shares its connections: these aren't made fewer, others may be."""
    pooled = [arm for arm in arms if arm.endpoint.is_pooled]
    sharing_first = sorted(pooled, key=lambda arm: not KINDS[arm.endpoint.kind].shares_connections)
    keys = dict.fromkeys(pool_key(arm) for arm in sharing_first)
    for at, key in enumerate(keys, 1):
        users = [arm for arm in arms if pool_key(arm) == key]
        endpoint, auth = users[0].endpoint, users[0].auth
        values: PoolTerms = {
            "kind": endpoint.kind,
            "mode": endpoint.mode,
            "size": endpoint.size,
            "user": role_of(experiment, auth),
            "auth": auth,
        }
        only = KINDS[endpoint.kind].only_name(Pooler(kind=endpoint.kind), name_of(experiment))
        name = only or name_of(experiment, f"p{at}")
        yield RequiredResource(ResourceKind.POOL, key, name, values, arms=tuple(arm.key for arm in users))
