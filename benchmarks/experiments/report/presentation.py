"""What pages and reports show of an experiment: verdict, table with the published figures, chart, conditions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks import engines
from benchmarks.analysis.arms import Verdict
from benchmarks.experiments import conclusions, library, results
from benchmarks.experiments.advice import sweep
from benchmarks.experiments.conclusions import Claim, Finding
from benchmarks.experiments.report import advice, chart, headline, unmeasured
from benchmarks.experiments.report.advice import Advice
from benchmarks.experiments.report.chart import Chart
from benchmarks.experiments.report.unmeasured import UnmeasuredArms
from benchmarks.experiments.results import ArmResult, Progress, Result
from benchmarks.experiments.start import arms_of
from benchmarks.models import Experiment, Generator, Purpose, Run, metrics
from benchmarks.models.options import RunOptions

DERIVED = {
    "gain_percent": (gettext_lazy("Gain"), "%"),
    "ratio": (gettext_lazy("Ratio"), "×"),
    "effective_clients": (gettext_lazy("Clients at work"), ""),
    "refused_clients": (gettext_lazy("Refused clients"), ""),
    "end_ms": (gettext_lazy("END (commit)"), "ms"),
    "ping_ms": (gettext_lazy("Ping"), "ms"),
}
CHANGES = frozenset({"gain_percent"})
# metrics that other pages do not show, and that have no label therefore
LABELS = {
    "tps_including_connections": (gettext_lazy("Throughput, connecting included"), "tps"),
    "latency_min_ms": (gettext_lazy("Latency, minimum"), "ms"),
    "latency_max_ms": (gettext_lazy("Latency, maximum"), "ms"),
}


@dataclass(frozen=True)
class Cell:
    """A measured figure beside the published one; None where there is none. `label` is the column's, with the unit.

    One that `is_change` is shown with its sign.
    """

    label: str
    measured: float | None
    published: float | str | None
    is_change: bool = False


@dataclass(frozen=True)
class TableRow:
    """An arm with a cell for each column, and its runs."""

    arm: ArmResult
    cells: tuple[Cell, ...]
    runs: tuple[Run, ...]
    run_by: str = ""  # the generator of an arm of another host, with that host

    @property
    def tone(self) -> str:
        """The color class of its verdict."""
        return {Verdict.FASTER: "better", Verdict.SLOWER: "worse"}.get(self.arm.verdict or Verdict.NOT_ENOUGH, "none")


@dataclass(frozen=True)
class ExperimentPresentation:
    """An experiment as its page and its report show it."""

    experiment: Experiment
    result: Result
    progress: Progress
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    rows: tuple[TableRow, ...]
    chart: Chart | None
    metric: str
    advice: Advice | None = None
    headline: str = ""
    unmeasured: tuple[UnmeasuredArms, ...] = ()

    @property
    def has_published(self) -> bool:
        """True if its source published a figure for any arm."""
        return any(arm.published for arm in (row.arm.spec for row in self.rows))

    @property
    def has_verdicts(self) -> bool:
        """True if its arms are judged one by one; a sweep of sizes is judged as a whole."""
        return self.advice is None or self.advice.question != sweep.SIZE

    @property
    def has_remarks(self) -> bool:
        """True if an arm was skipped or refused."""
        return any(row.arm.skipped or (row.arm.arm and row.arm.arm.refusal) for row in self.rows)

    @property
    def judged(self) -> tuple[Claim, ...]:
        """The claims to show: until the end those alone that can be judged already.

        Those of arms that could not be measured are left to `unmeasured`, which says each reason once.
        """
        measured = [claim for claim in self.claims if not any(one.reason in claim.text for one in self.unmeasured)]
        if self.experiment.has_ended:
            return tuple(measured)
        return tuple(claim for claim in measured if claim.finding != Finding.NOT_JUDGED)

    @property
    def is_undecided(self) -> bool:
        """True if more blocks could decide something: an arm whose interval is missing, or excludes nothing."""
        compared = [row.arm for row in self.rows if row.arm.baseline and not row.arm.skipped]
        return any(arm.verdict in (None, Verdict.NOT_ENOUGH, Verdict.NO_DIFFERENCE) for arm in compared)

    @property
    def percent(self) -> float:
        """The part of the plan that is done, in percent."""
        return 100 * self.progress.done / self.progress.total if self.progress.total else 0.0


def show(experiment: Experiment) -> ExperimentPresentation:
    """Return all that is shown of an experiment by now."""
    result = results.of(experiment)
    recommendation = advice.show(experiment, result)
    claims = [] if recommendation else conclusions.claims(result)
    metric = metrics.BY_KEY[result.spec.metric]
    return ExperimentPresentation(
        experiment=experiment,
        result=result,
        progress=results.progress(experiment),
        claims=tuple(claims),
        notes=tuple(experiment.notes) if recommendation else (*experiment.notes, *conclusions.notes(result)),
        columns=tuple(_columns(result)),
        rows=tuple(_row(result, one) for one in result.arms),
        chart=chart.draw(result),
        metric=_("%(label)s (%(unit)s)") % {"label": metric.label, "unit": metric.unit or "–"},
        advice=recommendation,
        headline="" if recommendation else headline.headline(result),
        unmeasured=unmeasured.of(result),
    )


def conclusion(result: Result) -> str:
    """Return the conclusion as one text: the answer of an advice, else the claims; empty before there are any."""
    return advice.conclusion(result) if result.experiment.advice else conclusions.text_of(result)


def conditions(experiment: Experiment) -> Mapping[str, str]:
    """Return the conditions of the measurement, name → text."""
    run = experiment.runs.exclude(server_version="").order_by("number").first()
    scale = _("quick form") if experiment.quick else _("as published")
    texts = {
        _("Workload"): _workload(experiment) if experiment.advice else "",
        _("Cluster"): experiment.cluster_name,
        _("Pooler"): experiment.pooler.name if experiment.pooler else _("the first that fits"),
        _("Size"): scale,
        _("Blocks"): _blocks(experiment),
        _("Order"): _("ABBA, drawn with seed %(seed)s") % {"seed": experiment.seed},
        _("Warm-up"): _warm_up(experiment),
        _("Server"): (run and run.server_version) or "–",
        _("Load program"): f"{run.engine} {run.client_version}" if run and run.client_version else "–",
        _("Generator"): _with_hosts(experiment.runs.filter(purpose=Purpose.LOAD).order_by("number")) or "–",
        _("Tables"): _tables(experiment),
    }
    return {name: value for name, value in texts.items() if value != ""}


def _blocks(experiment: Experiment) -> str:
    """Return the number of blocks; those that were measured where a budget of time decided."""
    if experiment.budget is None:
        return str(experiment.repeats)
    text = _("%(count)s, until all arms are decided or %(seconds)s s are over")
    measured = experiment.step // len(experiment.plan[0])
    return text % {"count": measured, "seconds": f"{experiment.budget.total_seconds():.0f}"}


def _warm_up(experiment: Experiment) -> str:
    """Return the duration of the warm-ups as a text; empty where there are none."""
    lengths = sorted({int(seconds) for arm in arms_of(experiment) if (seconds := arm.options.get("warm_up"))})
    text = _("%(seconds)s s of the same load before each run, thrown away")
    return text % {"seconds": "–".join(map(str, lengths))} if lengths else ""


def _workload(experiment: Experiment) -> str:
    """Return the scripts of an advice with their weights; TOML has no value for a script without a version."""
    options = arms_of(experiment)[0].options
    listed = [{"version": None} | one for one in options.get("scripts") or []]
    engine = engines.engine(library.spec_of(experiment).engine)
    return engine.scripts_in_words(cast("RunOptions", {**options, "scripts": listed}))


def _tables(experiment: Experiment) -> str:
    if existing := experiment.advice.get("existing"):
        text = _("those of database %(database)s, as role %(user)s")
        return text % {"database": existing["database"], "user": existing["user"]}
    return ", ".join(f"{name} {value}" for name, value in experiment.dataset.items()) or "–"


def column(key: str) -> tuple[str, str]:
    """Return the label and the unit of a metric."""
    label, unit = LABELS.get(key, (metrics.BY_KEY[key].label or key, metrics.BY_KEY[key].unit))
    return str(label), unit


def _columns(result: Result) -> list[tuple[str, str]]:
    return [*map(column, result.spec.metrics), *_derived_columns(result)]


def _derived_columns(result: Result) -> list[tuple[str, str]]:
    return [(str(DERIVED[name][0]), DERIVED[name][1]) for name in result.spec.derived]


def _row(result: Result, one: ArmResult) -> TableRow:
    published = one.spec.published
    figures: list[tuple[float | None, float | str | None]]
    figures = [(one.value(key), published.get(key)) for key in result.spec.metrics]
    figures += [(one.derived.get(name), _published_derived(result, one, name)) for name in result.spec.derived]
    labels = [f"{label} {unit}".strip() for label, unit in _columns(result)]
    names = [*result.spec.metrics, *result.spec.derived]
    cells = (Cell(label, *pair, name in CHANGES) for name, label, pair in zip(names, labels, figures, strict=True))
    runs = tuple(run for run in result.runs if run.arm == one.spec.key)
    return TableRow(one, tuple(cells), runs, _with_hosts(runs) if one.spec.other_host else "")


def _with_hosts(runs: Iterable[Run]) -> str:
    """Return the generators of runs, each with the host that it last reported: `east on db8`."""
    names = list(dict.fromkeys(run.generator for run in runs if run.generator))
    hosts = dict(Generator.objects.filter(name__in=names).values_list("name", "host")) if names else {}
    text = _("%(generator)s on %(host)s")
    return ", ".join(text % {"generator": name, "host": hosts[name]} if hosts.get(name) else name for name in names)


def _published_derived(result: Result, one: ArmResult, name: str) -> float | str | None:
    """Return a derived figure of the source: as it printed it, else out of its figures."""
    if name in one.spec.published:
        return one.spec.published[name]
    ratio = chart.published_ratio(result, one)
    if name == "gain_percent" and ratio:
        return (ratio - 1) * 100
    tps, latency = one.spec.published_figure("tps"), one.spec.published_figure("latency_avg_ms")
    return tps * latency / 1000 if name == "effective_clients" and tps and latency else None
