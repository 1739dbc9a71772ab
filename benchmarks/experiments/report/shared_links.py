"""Read-only links: issuing them, and what they show, which is figures alone.

What a run or an experiment holds besides may be a secret or somebody's data: commands, statements, output, notes, the
reasons of a failure, settings, and the names of hosts, databases and roles. A page shows none of it, for what is shown
is chosen here by name, and nothing else reaches the template.
"""

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from benchmarks.experiments import results, tables
from benchmarks.models import Experiment, Run, SharedLink, metrics
from benchmarks.results.export.html import drawings_of_load
from core.accounts.models import digest

COUNTED_OPTIONS = ("clients", "threads", "duration", "transactions", "scale", "concurrency")
ARM_FIELDS = ("label", "n_valid", "median", "low", "high", "ratio", "interval", "verdict")


def issue(shown: Run | Experiment, author: User, lifetime: timedelta) -> tuple[SharedLink, str]:
    """Store a new link and return it with its address, which nothing can show again."""
    token = secrets.token_urlsafe(32)
    link = SharedLink.objects.create(
        digest=digest(token),
        run=shown if isinstance(shown, Run) else None,
        experiment=shown if isinstance(shown, Experiment) else None,
        author=author,
        expires_at=timezone.now() + lifetime,
    )
    return link, f"{settings.PUBLIC_URL}{reverse('shared', args=[token])}"


def find(token: str) -> SharedLink | None:
    """Return the link of a token, ended or not."""
    return SharedLink.objects.select_related("run", "experiment").filter(digest=digest(token)).first()


def figures(link: SharedLink) -> dict[str, Any]:
    """Return what the page of a link shows."""
    shown = link.shown
    return _of_run(shown) if isinstance(shown, Run) else _of_experiment(shown)


def _of_run(run: Run) -> dict[str, Any]:
    options = [(name, run.options.get(name)) for name in COUNTED_OPTIONS]
    summary: dict[str, Any] = dict(run.summary)
    return {
        "number": run.number,
        "engine": run.engine,
        "state": run.get_status_display(),
        "validity": run.get_validity_display(),
        "started_at": run.started_at,
        "kind": run.endpoint_kind,
        "options": [(name, value) for name, value in options if isinstance(value, int) and not isinstance(value, bool)],
        "figures": [(metric, summary[metric.key]) for metric in metrics.METRICS if summary.get(metric.key) is not None],
        "drawings": drawings_of_load(run),
    }


def _of_experiment(experiment: Experiment) -> dict[str, Any]:
    result = results.of(experiment)
    rows = [{name: row.get(name) for name in ARM_FIELDS} for row in tables.arms(result)]
    return {
        "number": experiment.number,
        "title": result.spec.title,
        "state": experiment.get_state_display(),
        "started_at": experiment.started_at,
        "arms": rows,
    }
