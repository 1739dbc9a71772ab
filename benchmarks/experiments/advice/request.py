"""A question to a pool, an entry or a cluster, with the load to judge by."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypedDict

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from benchmarks.experiments.advice import recorded, workload
from benchmarks.experiments.advice.recorded import RecordedMix
from benchmarks.experiments.advice.workload import Workload
from benchmarks.experiments.start import InvalidExperiment
from benchmarks.models import ExternalEndpoint
from core.accounts.access import Access
from pools.models import Cluster, Entry, Pool, Pooler


class AdviceTerms(TypedDict, total=False):
    """The fields of an `AdviceRequest` that a form asks for."""

    question: str
    minutes: int
    confirm: str
    workload: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class AdviceRequest:
    """A request for advice on a pool, or on a cluster where there is no pool yet.

    `workload` is as `workload.read` takes it; `minutes` is the time to spend in all. `database` and `user` name the
    tables that exist where there is no pool. For an `entry` that is not managed here, `endpoint` has the login that
    somebody gave; `is_new_login` where it was tried and is to be saved with the sweep. `access` is that of
    the person who asks.
    """

    cluster: Cluster
    author: User | None
    pool: Pool | None = None
    pooler: Pooler | None = None
    question: str = "size"  # a key of sweep.QUESTIONS
    workload: Mapping[str, object] = field(default_factory=dict)
    minutes: int = 5
    database: str = ""
    user: str = ""
    confirm: str = ""
    entry: Entry | None = None
    endpoint: ExternalEndpoint | None = None
    is_new_login: bool = False
    access: Access | None = None

    @cached_property
    def load(self) -> Workload:
        """The workload, checked; raises `InvalidExperiment` and `InvalidOptions`."""
        if self.entry:
            return workload.read_through_entry(self.workload, self.access)
        return workload.read(self.workload, self.recorded.scripts if self.recorded else None, self.access)

    @cached_property
    def recorded(self) -> RecordedMix | None:
        """The pool's recorded mix where that is the workload; raises `InvalidExperiment` and `ClusterUnreachable`."""
        if not workload.is_recorded(self.workload):
            return None
        if self.pool is None:
            message = _("only a pool has a recorded mix: name one, or give scripts")
            raise InvalidExperiment({"workload": [message]})
        return recorded.read(self.pool)
