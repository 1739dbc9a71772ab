"""Schedules for tests."""

from datetime import UTC, datetime
from typing import Any

from benchmarks.models import Schedule
from tests.benchmarks.records import a_finished_run
from tests.callers import person
from tests.pools.records import a_cluster

DUE = datetime(2026, 11, 28, 2, 15, tzinfo=UTC)


def a_schedule(**fields: Any) -> Schedule:
    """One of a run of an administrator's, each night at 02:15 UTC, next on 28 November 2026."""
    if "experiment" not in fields and "run" not in fields:
        fields["run"] = a_finished_run(0, cluster=a_cluster(protected=False))
    values = {"name": "nightly", "cron": "15 2 * * *", "time_zone": "UTC", "due_at": DUE}
    author = fields.pop("author") if "author" in fields else person()
    return Schedule.objects.create(**values | {"author": author} | fields)
