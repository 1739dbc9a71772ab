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


def test_what_a_pool_carried_and_the_server_refused_comes_first():
    figures = {"150-direct": [None] * 3, "150-pool97": [340.0, 350.0, 345.0], "50-direct": STEADY, "50-pool97": STEADY}
    said = headline(found(figures, playbook="burst"))
    assert said == (
        "The server refused clients of “150 clients, direct”; “150 clients, pool of 97” served them all, at 345 tps."
    )
    few = {"150-direct": [None], "150-pool97": [340.0]}
    assert headline(found(few, playbook="burst")) == "Nothing can be said yet: too few runs count."


def test_clients_that_were_refused_are_said_to_be_no_more_than_that():
    said = headline(found({"200-new": [None] * 3, "200-normal": [None] * 3}, playbook="app-pool"))
    assert said == "The server refused clients of “200 workers, one shared handle”."


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
    assert [row.note for row in shown.chart.rows].count("not measured") == 2
