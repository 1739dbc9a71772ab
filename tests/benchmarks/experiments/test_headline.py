"""What an experiment's page leads with: what was found, in a sentence; then, folded, what could not be measured."""

import pytest

from benchmarks.experiments import results
from benchmarks.experiments.report import presentation
from benchmarks.experiments.report.headline import headline
from tests.benchmarks.experiments.records import a_measured_experiment

pytestmark = pytest.mark.django_db
NONE, POOLED, PGPOOL = "10-scram-none", "10-scram-pgbouncer", "10-scram-pgpool"
STEADY = [100.0, 101.0, 99.0]


def found(figures, **fields):
    return results.of(a_measured_experiment(figures, **fields))


@pytest.mark.parametrize(
    ("tps", "begins"),
    [
        (
            [210.0, 212.0, 208.0],
            "“10 clients, SCRAM, PgBouncer” did 2.10 times the work of “10 clients, SCRAM, no pooler”",
        ),
        ([50.0, 50.5, 49.5], "“10 clients, SCRAM, PgBouncer” did 50 % less work than “10 clients, SCRAM, no pooler”"),
        ([90.0, 160.0, 70.0], "No difference was shown: the arms did between "),
    ],
)
def test_the_strongest_difference_comes_first(tps, begins):
    said = headline(found({NONE: STEADY, POOLED: tps}))
    assert said.startswith(begins), said


def test_too_few_runs_say_nothing():
    assert headline(found({NONE: [100.0], POOLED: [200.0]})) == "Nothing can be said yet: too few runs count."
    assert headline(found({NONE: [100.0]})) == ""


def test_each_reason_is_said_once_and_with_its_way_out():
    reason = "pg_hba.conf of demo demands SCRAM: allow md5 for role x, or leave the arm out"
    arms = ["10-md5-none", "10-md5-pgbouncer"]
    shown = presentation.show(
        a_measured_experiment({NONE: STEADY, POOLED: STEADY}, skipped=dict.fromkeys(arms, reason))
    )
    (one,) = (one for one in shown.unmeasured if one.reason == reason)
    assert len(one.arms) == 2
    assert not any(reason in claim.text for claim in shown.judged)
    assert {row.note for row in shown.chart.rows if row.label in one.arms} == {"not measured"}
