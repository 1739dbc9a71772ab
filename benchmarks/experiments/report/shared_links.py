"""Read-only links: issuing them, and what they show, which is figures alone.

What a run, a comparison or an experiment holds besides may be a secret or somebody's data: commands, statements,
output, notes, the reasons of a failure, settings, and the names of hosts, databases and roles. A page shows none of it,
for what is shown is chosen here by name, and nothing else reaches the template.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import dateformat, timezone
from django.utils.translation import gettext as _

from benchmarks.analysis.conclusions import ENDPOINT_KINDS
from benchmarks.experiments import results, tables
from benchmarks.models import Experiment, Run, SharedLink, metrics
from benchmarks.models.links import ComparedRuns
from benchmarks.results import comparisons
from benchmarks.results.export import comparison_tables
from benchmarks.results.export.html import drawings_of_arms, drawings_of_load
from core.accounts.models import digest

COUNTED_OPTIONS = ("clients", "threads", "duration", "transactions", "scale", "concurrency")
ARM_FIELDS = ("label", "n_valid", "median", "low", "high", "ratio", "interval", "verdict")
FEWEST_COMPARED = 2


@dataclass(frozen=True)
class ComparisonOf:
    """Two runs or more, in the order of the comparison, and the key of its baseline; empty: the arm of the first."""

    runs: Sequence[Run]
    baseline: str = ""

    @property
    def stored(self) -> ComparedRuns:
        """What a link keeps of it."""
        numbers = [run.number for run in self.runs]
        return {"runs": [str(run.pk) for run in self.runs], "numbers": numbers, "baseline": self.baseline}


Shown = Run | Experiment | ComparisonOf


def issue(shown: Shown, author: User, lifetime: timedelta) -> tuple[SharedLink, str]:
    """Store a new link and return it with its address, which nothing can show again."""
    token = secrets.token_urlsafe(32)
    run = shown.runs[0] if isinstance(shown, ComparisonOf) else shown
    link = SharedLink.objects.create(
        digest=digest(token),
        run=run if isinstance(run, Run) else None,
        experiment=run if isinstance(run, Experiment) else None,
        comparison=shown.stored if isinstance(shown, ComparisonOf) else None,
        author=author,
        expires_at=timezone.now() + lifetime,
    )
    return link, f"{settings.PUBLIC_URL}{reverse('shared', args=[token])}"


def of(shown: Shown) -> QuerySet[SharedLink]:
    """Return the links to a run with those to its comparisons, to an experiment, or to exactly this comparison."""
    if isinstance(shown, ComparisonOf):
        return SharedLink.objects.filter(run=shown.runs[0], comparison=shown.stored)
    return shown.links.all()


def find(token: str) -> SharedLink | None:
    """Return the link of a token, ended or not."""
    return SharedLink.objects.select_related("run", "experiment").filter(digest=digest(token)).first()


def figures(link: SharedLink) -> dict[str, Any]:
    """Return what the page of a link shows; empty where fewer than two runs of its comparison are left."""
    if link.comparison is not None:
        return _of_comparison(link.comparison)
    shown = link.shown
    return _of_run(shown) if isinstance(shown, Run) else _of_experiment(shown)


def _of_run(run: Run) -> dict[str, Any]:
    summary: dict[str, Any] = dict(run.summary)
    return {
        "name": _("Run %(number)s") % {"number": run.number},
        "heading": _("Run %(number)s, %(engine)s") % {"number": run.number, "engine": run.engine},
        "facts": [run.get_status_display(), run.get_validity_display(), *_started(run.started_at)],
        "options": _counted(run).items(),
        "figures": [(metric, summary[metric.key]) for metric in metrics.METRICS if summary.get(metric.key) is not None],
        "drawings": drawings_of_load(run),
    }


def _of_experiment(experiment: Experiment) -> dict[str, Any]:
    result, name = results.of(experiment), _("Experiment %(number)s") % {"number": experiment.number}
    return {
        "name": name,
        "heading": result.spec.title,
        "facts": [name, experiment.get_state_display(), *_started(experiment.started_at)],
        "metric": metrics.BY_KEY.get(result.spec.metric),
        "arms": [{name: row.get(name) for name in ARM_FIELDS} for row in tables.arms(result)],
    }


def _of_comparison(compared: ComparedRuns) -> dict[str, Any]:
    found = Run.objects.select_related("cluster", "pool").in_bulk(compared["runs"])
    runs = [run for key in compared["runs"] if (run := found.get(UUID(key)))]
    if len(runs) < FEWEST_COMPARED:
        return {}
    try:
        comparison = comparisons.compare(runs, baseline=compared["baseline"])
    except KeyError:  # the runs of that arm were removed
        comparison = comparisons.compare(runs)
    firsts = [found[UUID(arm.runs[0].id)] for arm in comparison.arms]
    labels = _labels(firsts)
    pairs = zip(comparison.arms, comparison.figures, strict=True)
    rows = [comparison_tables.arm_row(comparison, arm, figure) for arm, figure in pairs]
    name = _("Comparison of runs %(numbers)s") % {"numbers": ", ".join(str(run.number) for run in runs)}
    return {
        "name": name,
        "heading": name,
        "facts": list(_started(min((run.started_at for run in runs if run.started_at), default=None))),
        "metric": comparison.metric,
        "arms": [
            {name: row.get(name) for name in ARM_FIELDS} | {"label": label}
            for row, label in zip(rows, labels, strict=True)
        ],
        "drawings": drawings_of_arms(list(zip(labels, firsts, strict=True))),
    }


def _labels(firsts: Sequence[Run]) -> list[str]:
    """Label each arm by its endpoint's kind and the numbers in which the arms differ: its own label has names."""
    counted = [_counted(run) for run in firsts]
    differing = [name for name in COUNTED_OPTIONS if len({options.get(name) for options in counted}) > 1]
    labels = []
    for run, options in zip(firsts, counted, strict=True):
        kind = str(ENDPOINT_KINDS.get(run.endpoint_kind, run.endpoint_kind))
        labels.append(", ".join([kind, *(f"{name} {options[name]}" for name in differing if name in options)]))
    return [
        label if labels.count(label) == 1 else _("%(label)s (run %(number)s)") % {"label": label, "number": run.number}
        for label, run in zip(labels, firsts, strict=True)
    ]


def _counted(run: Run) -> dict[str, int]:
    options = {name: run.options.get(name) for name in COUNTED_OPTIONS}
    return {name: value for name, value in options.items() if isinstance(value, int) and not isinstance(value, bool)}


def _started(moment: datetime | None) -> Iterator[str]:
    if moment is not None:
        yield _("started %(moment)s") % {"moment": dateformat.format(timezone.localtime(moment), "Y-m-d H:i T")}
