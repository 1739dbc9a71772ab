"""What the pages of runs write beside the panel's own filters."""

from typing import Any

import pytest

from benchmarks.analysis.arms import Figure
from benchmarks.models import Run
from benchmarks.templatetags import figures


@pytest.mark.parametrize(
    ("value", "written"),
    [(None, "–"), (0, "×0.00"), (0.00921, "×0.0092"), (0.0000121, "×0.000012"), (0.564, "×0.56"), (12.74, "×12.7")],
)
def test_ratios_keep_two_figures_at_least(value: float | None, written: str) -> None:
    assert figures.ratio(value) == written


@pytest.mark.parametrize(("key", "written"), [("p50", "p50"), ("p99_9", "p99.9")])
def test_a_percentile_is_written_with_a_point(key: str, written: str) -> None:
    assert figures.percentile(key) == written


@pytest.mark.parametrize(
    ("figure", "unit", "written"),
    [
        (Figure(812.25, 800.0, 820.0), "tps", "812.25 tps"),
        (Figure(3.0, 3.0, 3.0), "", "3.0"),
        (Figure(None, None, None), "ms", "not printed"),
        (Figure(1.5, 1.0, 2.0, missing="2 more valid runs"), "ms", "1.5 ms; missing for a verdict: 2 more valid runs"),
    ],
)
def test_a_tooltip_has_the_exact_figure_and_what_a_verdict_lacks(figure: Figure, unit: str, written: str) -> None:
    assert figures.exact(figure, unit) == written


@pytest.mark.parametrize(
    ("options", "count"), [({"clients": 10}, 10), ({"concurrency": 4}, 4), ({"clients": None}, None), ({}, None)]
)
def test_clients_are_counted_by_the_option_of_the_engine(options: dict[str, Any], count: int | None) -> None:
    assert figures.client_count(options) == count


@pytest.mark.parametrize(
    ("run", "named"),
    [
        (Run(engine="pgbench", options={"builtin": "select-only"}), "select-only"),
        (Run(engine="sysbench", options={"script": "oltp_read_only"}), "oltp_read_only"),
        (Run(engine="jmeter", options={}), "jmeter"),
    ],
)
def test_a_run_is_named_by_what_it_executes(run: Run, named: str) -> None:
    assert figures.workload(run) == named


def test_an_endpoint_is_named_by_its_kind() -> None:
    assert figures.endpoint_label(Run(pooled=False)) == "direct"
