"""What pages and reports show of an experiment."""

import pytest

from benchmarks.experiments.report import presentation
from tests.benchmarks.experiments.records import a_measured_experiment

pytestmark = pytest.mark.django_db


def test_a_figure_that_comparisons_leave_out_is_shown_beside_the_published_one() -> None:
    experiment = a_measured_experiment({"20-new": [100, 102, 104], "20-pooled": [300, 302, 304]}, "app-pool")
    for run, shortest in zip(experiment.runs.filter(arm="20-pooled").order_by("number"), (1.5, 2.5, 9.0), strict=True):
        run.summary |= {"latency_min_ms": shortest}
        run.save(update_fields=["summary"])
    rows = {row.arm.spec.key: row for row in presentation.show(experiment).rows}
    cells = {cell.label: cell for cell in rows["20-pooled"].cells}
    assert (cells["Latency, minimum ms"].measured, cells["Latency, minimum ms"].published) == (2.5, 1.6)
    assert cells["Latency, maximum ms"].measured is None
    assert rows["20-pooled"].arm.spec.label == "20 workers, pooled"
