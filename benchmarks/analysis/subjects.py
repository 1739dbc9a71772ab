"""Runs as comparisons see them; pure."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks.analysis import comparison
from benchmarks.analysis.conclusions import ENDPOINT_KINDS, Outcome
from benchmarks.analysis.connection_refusals import Refusal
from benchmarks.models.options import RunOptions
from benchmarks.models.summaries import Summary


@dataclass(frozen=True)
class Subject:
    """The fields of a run that a comparison needs.

    Runs of one `group` were started together; the order of their numbers pairs them.
    """

    id: str
    number: int
    endpoint_kind: str
    target: str
    engine: str
    options: RunOptions
    summary: Summary
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    refusal: Refusal | None = None
    server_version: str = ""
    group: str = ""
    within_percent: float | None = None  # half the 95 % interval of its mean tps; None with too few samples
    called: str = ""  # a label more precise than the endpoint's kind: pooled by Odyssey
    contention: float | None = None  # percent of its generator's host that others and the hypervisor took
    is_only_contended: bool = False  # nothing else makes it suspect

    @property
    def counts(self) -> bool:
        """True if its figures may be compared."""
        return self.outcome is Outcome.SUCCEEDED

    @property
    def is_pooled(self) -> bool:
        return self.endpoint_kind == "pooled"

    @property
    def label(self) -> str:
        """The endpoint as people read it: `direct`, `pooled by Odyssey`."""
        return self.called or str(ENDPOINT_KINDS.get(self.endpoint_kind, self.endpoint_kind))

    @property
    def refusal_sentence(self) -> str:
        """The refusal in words; empty where its clients were let in."""
        return self.refusal.sentence(pooled=self.is_pooled) if self.refusal else ""

    @property
    def words(self) -> str:
        """The outcome with its reasons, unless these begin with it: `suspect: the load lasted 15 s instead of 10 s`.

        A refusal is its own sentence, which says so already.
        """
        if self.refusal_sentence:
            return self.refusal_sentence
        label, why = str(self.outcome.label), "; ".join(self.reasons)
        is_whole = not why or why.startswith(label)
        return why or label if is_whole else _("%(outcome)s: %(reasons)s") % {"outcome": label, "reasons": why}

    @property
    def at_work(self) -> tuple[float, float] | None:
        """(busy clients, clients asked for) where the two differ by a tenth or more; else None."""
        return comparison.idle_clients(self.options, self.summary)

    @property
    def settings(self) -> dict[str, object]:
        """Its configuration as name → value, for people."""
        return comparison.settings_in_words(self.options, self.engine, self.server_version)


def key_of(run: Subject) -> str:
    """Return the key of a run's configuration: endpoint kind and a digest of target, engine and options but seeds."""
    options = {name: value for name, value in run.options.items() if name not in comparison.SEEDS}
    made_of = json.dumps([run.endpoint_kind, run.target, run.engine, options], sort_keys=True, default=str)
    return f"{run.endpoint_kind}-{hashlib.sha256(made_of.encode()).hexdigest()[:8]}"


def values_of(runs: Sequence[Subject], key: str) -> list[float]:
    """Return the figure of each run that has it, in their order."""
    return [value for run in runs if isinstance(value := run.summary.get(key), int | float)]
