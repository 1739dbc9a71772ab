"""Bodies of the requests for experiments and for advice on a pool, validated."""

from typing import Any, Required, TypedDict

from django.utils.translation import gettext as _
from rest_framework import serializers

from benchmarks.errors import InvalidTarget
from benchmarks.experiments.advice import sweep, through_entry
from benchmarks.experiments.advice.request import AdviceTerms
from benchmarks.experiments.start import MOST_MINUTES, MOST_REPEATS, MOST_SECONDS, InvalidExperiment
from benchmarks.models import ExternalEndpoint
from benchmarks.targets import entries
from core.lib.known_fields import KnownFields
from core.rest.visible import VisibleField
from pools.models import Cluster, Entry, Pool, Pooler


class AskedExperiment(TypedDict, total=False):
    """The body of a request for an experiment, once it is validated."""

    playbook: Required[str]
    cluster: Required[Cluster]
    pooler: Pooler | None
    generators: list[str]
    quick: bool
    repeats: int | None
    minutes: int | None
    seconds: int | None
    options: dict[str, object]
    dataset: dict[str, object]
    arms: list[str]
    seed: int | None
    confirm: str


class AskedExperimentSerializer(KnownFields):
    """The experiment to start; `minutes` or `seconds` ask for the sequential mode, `options` replace the playbook's."""

    playbook = serializers.CharField(max_length=40)
    cluster: Any = VisibleField(queryset=Cluster.objects.all())
    pooler: Any = VisibleField(queryset=Pooler.objects.all(), required=False, allow_null=True)
    generators = serializers.ListField(child=serializers.CharField(max_length=63), default=list)
    quick = serializers.BooleanField(default=True)
    repeats = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MOST_REPEATS)
    minutes = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MOST_MINUTES)
    seconds = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=MOST_SECONDS)
    options = serializers.DictField(default=dict, help_text="Such as a shorter duration")
    dataset = serializers.DictField(default=dict, help_text="Such as a smaller scale")
    arms = serializers.ListField(child=serializers.CharField(max_length=100), default=list, help_text="None: all")
    seed = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=2**31 - 1)
    confirm = serializers.CharField(default="", allow_blank=True, help_text="The name of a protected cluster")


class AskedBlocksSerializer(KnownFields):
    """The number of blocks to add; each measures every arm once."""

    blocks = serializers.IntegerField(min_value=1, max_value=MOST_REPEATS)
    confirm = serializers.CharField(default="", allow_blank=True, help_text="The name of a protected cluster")


WORKLOAD = (
    "Options of pgbench as in `runs/`, such as `builtin`, `scripts` (`[{script, weight}]` of the library, or "
    "`[{text, weight}]`), `variables`, `protocol` and `clients`. `run`: the id of a run whose scripts are taken. "
    "`tables`: `own` (the default), pgbench's of that `scale` in a database that is removed afterwards, or `existing`, "
    "those of the pool's database, for scripts alone: what they write there stays. `recorded`: true for the queries "
    "that pg_stat_statements counted of the pool's user in its database, by their calls; they read the pool's tables."
)


class _AdviceBody(AdviceTerms, total=False):
    entry: Entry | None
    pool: Pool | None
    pooler: Pooler | None
    database: str
    user: str
    endpoint: ExternalEndpoint


class AskedAdvice(_AdviceBody, total=False):
    """The body of a request for advice, once each field is validated."""

    cluster: Cluster | None


class CheckedAdvice(_AdviceBody):
    """The same with the cluster of whatever was named, and with the login that is known of an entry."""

    cluster: Cluster


class AskedAdviceSerializer(KnownFields):
    """A pool, an entry that is not managed here, or a cluster to make a pool for, and the load to judge by."""

    entry: Any = VisibleField(
        queryset=Entry.objects.unmanaged().select_related("pooler", "cluster"),
        required=False,
        allow_null=True,
        help_text="Measured through it, by the login that was given at its `endpoint/`; `user` chooses one of several",
    )
    pool: Any = VisibleField(queryset=Pool.objects.wanted(), required=False, allow_null=True)
    cluster: Any = VisibleField(queryset=Cluster.objects.all(), required=False, allow_null=True)
    pooler: Any = VisibleField(
        queryset=Pooler.objects.all(),
        required=False,
        allow_null=True,
        help_text="Where the sweep makes its pools for a cluster; a pool and an entry have their own",
    )
    database = serializers.CharField(
        default="", allow_blank=True, help_text="Of existing tables, without a pool; otherwise the sweep has its own"
    )
    user = serializers.CharField(
        default="", allow_blank=True, help_text="The role that loads existing tables, unless the pool has a user"
    )
    question = serializers.ChoiceField(sweep.QUESTIONS, default=sweep.SIZE)
    workload = serializers.DictField(default=dict, help_text=WORKLOAD)
    minutes = serializers.IntegerField(default=5, min_value=1, max_value=MOST_MINUTES)
    confirm = serializers.CharField(default="", allow_blank=True, help_text="The name of a protected cluster")

    def validate(self, asked: AskedAdvice) -> CheckedAdvice:
        """Take the cluster of the pool or the entry; exactly one of the three is needed."""
        pool, entry, cluster = asked.get("pool"), asked.get("entry"), asked.get("cluster")
        named = [name for name, one in (("pool", pool), ("entry", entry), ("cluster", cluster)) if one]
        if len(named) > 1:
            text = _("name a pool, an entry, or a cluster: only one of them, not %(named)s")
            raise serializers.ValidationError({named[0]: [text % {"named": ", ".join(named)}]})
        _refuse_other_pooler(pool or entry, asked.get("pooler"))
        if entry:
            return self._through(entry, asked)
        if found := pool.cluster if pool else cluster:
            return {**asked, "cluster": found}
        raise serializers.ValidationError({"pool": [_("name a pool, an entry, or a cluster")]})

    def _through(self, entry: Entry, asked: AskedAdvice) -> CheckedAdvice:
        try:
            return {**asked, "cluster": through_entry.check(entry), "endpoint": entries.find(entry, asked["user"])}
        except (InvalidExperiment, InvalidTarget) as error:
            raise serializers.ValidationError(error.errors) from error


def _refuse_other_pooler(measured: Pool | Entry | None, named: Pooler | None) -> None:
    if measured and named and named != measured.pooler:
        text = _("%(name)s is on pooler %(pooler)s: leave the pooler out, which is for a cluster without a pool")
        raise serializers.ValidationError({"pooler": [text % {"name": measured, "pooler": measured.pooler}]})
