"""Summary of a run's observations: means, counts, and warnings; pure but for the rows it is given."""

from dataclasses import dataclass, field
from typing import cast

from django.conf import settings
from django.utils.translation import gettext as _

from benchmarks.engines import engine
from benchmarks.models import Observation, ObservationKind, Run
from benchmarks.models.conditions import ObservedSummary
from benchmarks.runs.observers import contention

FULL_PERCENT = 80.0  # share of a core beyond which the program itself slows the load down
SERVICE_FULL_PERCENT = 90.0  # share of the one core of a service, which answers one request after the other
PROCESSORS = (
    *("cpu_percent", "busy_percent", "pooler_cpu_percent", "service_cpu_percent", "host_cpu_percent"),
    *("others_percent", "steal_percent"),
)
SETTLED_S = 1.0  # earlier observations are of the start, when clients connect


@dataclass
class _Mean:
    total: float = 0.0
    weight: float = 0.0

    def add(self, value: float | None, weight: float = 1.0) -> None:
        if value is not None:
            self.total += value * weight
            self.weight += weight

    @property
    def value(self) -> float | None:
        return self.total / self.weight if self.weight else None


@dataclass
class ObservationTotals:
    """Sums over the observations of a run, fed as they are stored; its size does not grow with the run."""

    means: dict[str, _Mean] = field(default_factory=dict)
    checkpoints: dict[str, int] = field(default_factory=dict)
    hidden: str = ""
    server_here: bool = False
    uncounted_by: str = ""

    def add(self, observation: Observation) -> None:
        """Take an observation into the totals; one from before the load settled counts for checkpoints alone."""
        figures = observation.figures
        self.server_here = self.server_here or observation.kind == ObservationKind.HOST
        self.hidden = figures.get("hidden", self.hidden)
        self.uncounted_by = figures.get("uncounted_by", self.uncounted_by)
        if observation.kind == ObservationKind.SERVER and "checkpoints_timed" in figures:
            for name in ("checkpoints_timed", "checkpoints_requested"):
                self.checkpoints[name] = self.checkpoints.get(name, 0) + figures[name]
        if observation.t < SETTLED_S:
            return
        if observation.kind == ObservationKind.POOLER:
            for name, figure in (("queue_ms", "wait_ms"), ("service_ms", "service_ms")):
                self._mean(name).add(figures.get(figure), figures.get("transactions_per_s") or 0.0)
        if observation.kind == ObservationKind.GENERATOR:
            for name in PROCESSORS:
                self._mean(name).add(figures.get(name))

    def _mean(self, name: str) -> _Mean:
        return self.means.setdefault(name, _Mean())

    def summary(self) -> ObservedSummary:
        """Return the means and counts; what was not observed is left out.

        `queue_ms` and `service_ms` are means per transaction; processors' means are in percent of one core
        (`busy_percent`: of the cores that the load's threads can use). Beside them: checkpoints that began, what the
        panel's role could not see of the server (`hidden`), the pooler that counts no queue (`uncounted_by`), and
        whether the server runs on the generator's host (`server_here`).
        """
        means = {name: round(mean.value, 3) for name, mean in self.means.items() if mean.value is not None}
        other = {"hidden": self.hidden, "uncounted_by": self.uncounted_by, "server_here": self.server_here}
        known = {name: value for name, value in other.items() if value}
        return cast("ObservedSummary", {**means, **self.checkpoints, **known})

    def doubts(self) -> list[str]:
        """Return why the figures are unreliable, as sentences: others used the load's host."""
        reason = contention.unreliable_because(self.summary(), settings.CONTENTION_PERCENT)
        return [reason] if reason else []

    def warnings(self, run: Run) -> list[str]:
        """Return sentences on what limited the load apart from the server; the figures hold within these limits."""
        observed, words, sentences = self.summary(), engine(run.engine).terms, []
        if (busy := observed.get("busy_percent", 0.0)) > FULL_PERCENT:
            sentences.append(
                _(
                    "%(program)s itself took %(busy)s %% of what its threads can use of the processors: it may be the "
                    "limit, not the server (%(remedy)s); a generator with more cores helps too"
                )
                % {"program": words.program, "busy": f"{busy:.0f}", "remedy": words.busier}
            )
        if (percent := observed.get("pooler_cpu_percent", 0.0)) > FULL_PERCENT:
            sentences.append(
                _(
                    "PgBouncer took %(taken)s %% of the one core that a process of it can use: it may be the limit, "
                    "not the server; let several share its port (so_reuseport)"
                )
                % {"taken": f"{percent:.0f}"}
            )
        if (percent := observed.get("service_cpu_percent", 0.0)) > SERVICE_FULL_PERCENT:
            sentences.append(str(words.full_service) % {"taken": f"{percent:.0f}"})
        return sentences
