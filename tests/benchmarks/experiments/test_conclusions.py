"""What experiments show, in words."""

import pytest

from benchmarks.experiments import conclusions, library, results
from benchmarks.experiments.conclusions import Finding
from benchmarks.models import Status, Validity
from tests.benchmarks.experiments.records import a_measured_experiment, an_experiment
from tests.benchmarks.experiments.test_playbook import SMALL
from tests.benchmarks.records import a_finished_run

pytestmark = pytest.mark.django_db


def findings(experiment) -> list[Finding]:
    return [claim.finding for claim in conclusions.claims(results.of(experiment))]


def test_a_pooler_that_gains_is_reproduced_and_one_that_does_not() -> None:
    figures = {"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [200, 210, 195], "10-scram-pgpool": [98, 99, 97]}
    assert findings(a_measured_experiment(figures))[-2:] == [Finding.REPRODUCED, Finding.REPRODUCED]


@pytest.mark.parametrize(
    ("pgpool", "finding"),
    [
        ([98, 99, 97], Finding.REPRODUCED),
        ([70, 130, 100], Finding.NOT_JUDGED),  # The interval shows no difference and excludes no gain.
        ([150, 151, 149], Finding.NOT_REPRODUCED),
    ],
)
def test_pgpool_gains_nothing_only_if_the_interval_says_so(pgpool, finding) -> None:
    figures = {"10-scram-none": [100, 101, 99], "10-scram-pgpool": pgpool}
    claims = conclusions.claims(results.of(a_measured_experiment(figures)))
    assert next(claim.finding for claim in claims if "Pgpool-II gains nothing" in claim.text) == finding


@pytest.mark.parametrize(("pooled", "is_of_that_size"), [([158, 165, 160], True), ([400, 410, 395], False)])
def test_an_effect_of_another_size_is_reproduced_in_its_direction_alone(pooled, is_of_that_size) -> None:
    figures = {"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": pooled}
    claims = conclusions.claims(results.of(a_measured_experiment(figures)))
    claim = next(one for one in claims if one.text.startswith("10 clients, SCRAM, PgBouncer: ×"))
    assert claim.finding == Finding.REPRODUCED
    ends = "; published: +58 to +62 %" if is_of_that_size else ": the direction is reproduced, the size is not"
    assert claim.text.endswith(ends)


def test_a_published_loss_has_a_minus_sign() -> None:
    figures = {"select-direct-0": [100, 101, 99], "select-direct-1000": [50, 51, 49]}
    text = conclusions.text_of(results.of(a_measured_experiment(figures, "idle-tax")))
    assert "published: −18.2 %: the direction is reproduced, the size is not." in text


def test_a_pooler_that_is_slower_is_not_reproduced() -> None:
    figures = {"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [80, 81, 79]}
    experiment = a_measured_experiment(figures)
    claim = next(one for one in conclusions.claims(results.of(experiment)) if one.finding == Finding.NOT_REPRODUCED)
    assert "×0.80 its baseline (95 % interval" in claim.text


@pytest.mark.parametrize(
    ("pooled", "begins"),
    [
        ([200, 210, 195], "Faster: 1 client, pool: ×2.02 its baseline (95 % interval"),
        ([50, 51, 49], "Slower: 1 client, pool: ×0.50 its baseline"),
        ([100, 100, 101], "No difference shown: 1 client, pool: ×1.0"),
        ([200], "Inconclusive: 1 client, pool: ×2.00 its baseline (1 of 1 runs valid; 3 are needed)."),
    ],
)
def test_where_nothing_was_published_the_verdict_is_the_finding(pooled: list[int], begins: str) -> None:
    library.add(SMALL, is_admin=True)
    figures = {"1-none": [100, 101, 99][: len(pooled)], "1-pool": pooled}
    experiment = a_measured_experiment(figures, "small")
    assert conclusions.text_of(results.of(experiment)).startswith(begins)


@pytest.mark.parametrize(
    ("ended", "text"),
    [
        ([Status.CANCELLED], "1 client, pool: 0 of 1 runs valid: cancelled"),
        ([Status.CANCELLED] * 2, "1 client, pool: 0 of 2 runs valid: cancelled"),
        ([Status.SUCCEEDED], "1 client, pool: 1 of 1 runs valid, but none of its baseline"),
        ([Status.SUCCEEDED, Status.CANCELLED], "1 client, pool: 1 of 2 runs valid: cancelled"),
    ],
)
def test_runs_that_do_not_count_are_told_in_a_sentence(ended: list[Status], text: str) -> None:
    library.add(SMALL, is_admin=True)
    experiment = an_experiment("small")
    for status in ended:
        counts = status == Status.SUCCEEDED
        fields = {"status": status, "error": "" if counts else "cancelled", "arm": "1-pool", "group": experiment.pk}
        fields |= {"validity": Validity.VALID if counts else Validity.INCOMPLETE, "experiment": experiment}
        a_finished_run(0, **fields)
    (one,) = (arm for arm in results.of(experiment).arms if arm.spec.key == "1-pool")
    assert conclusions.in_words(one) == text


def test_too_few_runs_are_not_judged() -> None:
    figures = {"10-scram-none": [100], "10-scram-pgbouncer": [200]}
    assert Finding.REPRODUCED not in findings(a_measured_experiment(figures))


def test_a_burst_that_the_server_refuses_and_the_pool_carries_is_reproduced() -> None:
    figures = {"150-direct": [None] * 3, "150-pool97": [340, 350, 345], "50-direct": [170, 172, 171]}
    figures["50-pool97"] = [171, 170, 172]
    experiment = a_measured_experiment(figures, "burst")
    assert findings(experiment) == [Finding.REPRODUCED, Finding.REPRODUCED]
    assert "the pool carried 150 clients at 345 tps" in conclusions.text_of(results.of(experiment))


@pytest.mark.parametrize(
    ("playbook", "refused", "carries"), [("burst", "150-direct", "150-pool97"), ("app-pool", "200-new", "200-pooled")]
)
def test_one_run_beside_a_refused_arm_proves_nothing(playbook: str, refused: str, carries: str) -> None:
    experiment = a_measured_experiment({refused: [None], carries: [340]}, playbook)
    (claim,) = [claim for claim in conclusions.claims(results.of(experiment)) if carries in claim.arms]
    assert claim.finding == Finding.NOT_JUDGED
    assert claim.text.endswith("(1 of the 3 runs that a verdict takes)")


def test_a_burst_that_the_pool_refuses_too_is_not_said_to_be_carried() -> None:
    experiment = a_measured_experiment({"150-direct": [None] * 3, "150-pool97": [None] * 3}, "burst")
    assert findings(experiment) == [Finding.NOT_REPRODUCED]
    text = conclusions.text_of(results.of(experiment))
    assert text.count("refused some of 150 clients: ") == 2
    assert "carried" not in text


def test_pooling_in_an_application_is_judged_by_the_verdicts_of_the_table() -> None:
    figures = {"20-new": [50, 51, 52], "20-normal": [80, 81, 79], "20-pooled": [150, 149, 151]}
    assert findings(a_measured_experiment(figures, "app-pool")) == [Finding.REPRODUCED, Finding.REPRODUCED]
    slower = a_measured_experiment(figures | {"20-new": [90, 91, 92]}, "app-pool")
    assert findings(slower) == [Finding.NOT_REPRODUCED, Finding.REPRODUCED]
    scattered = {"20-new": [34, 20, 60], "20-normal": [42, 21, 70], "20-pooled": [59, 30, 80]}
    text = conclusions.text_of(results.of(a_measured_experiment(scattered, "app-pool")))
    assert "Reproduced" not in text  # medians of 34, 42 and 59 say nothing where the table says nothing


def test_where_the_server_refuses_workers_without_a_pool_that_is_the_finding() -> None:
    figures = {"200-new": [None] * 3, "200-normal": [None] * 3, "200-pooled": [150, 149, 151]}
    experiment = a_measured_experiment(figures, "app-pool")
    assert findings(experiment) == [Finding.REPRODUCED, Finding.REPRODUCED]
    text = conclusions.text_of(results.of(experiment))
    assert "200 workers, one shared handle was refused as well" in text
    assert "200 workers, pooled answered 150 requests/s" in text


@pytest.mark.parametrize(
    ("beside_1000", "finding"),
    [
        ([100, 101, 99], Finding.REPRODUCED),
        ([70, 130, 100], Finding.NOT_JUDGED),  # The interval shows no difference and excludes none.
        ([50, 51, 49], Finding.NOT_REPRODUCED),
    ],
)
def test_idle_clients_cost_nothing_only_if_the_interval_says_so(beside_1000: list[int], finding: Finding) -> None:
    figures = {"select-pool20-0": [100, 100, 101], "select-pool20-1000": beside_1000}
    claims = conclusions.claims(results.of(a_measured_experiment(figures, "idle-tax")))
    assert next(claim.finding for claim in claims if "pool of 20" in claim.text) == finding


@pytest.mark.parametrize(
    ("beside_1000", "finding"),
    [
        ([98, 99, 97], Finding.NOT_REPRODUCED),
        ([70, 110, 95], Finding.NOT_JUDGED),  # the published fall of 18 % is within the interval
        ([80, 81, 79], Finding.REPRODUCED),
    ],
)
def test_a_published_change_within_the_interval_is_not_ruled_out(beside_1000: list[int], finding: Finding) -> None:
    figures = {"select-direct-0": [100, 100, 101], "select-direct-1000": beside_1000}
    claims = conclusions.claims(results.of(a_measured_experiment(figures, "idle-tax")))
    assert next(claim.finding for claim in claims if "direct" in claim.text) == finding


def test_the_memory_that_idle_connections_held_is_named() -> None:
    experiment = a_measured_experiment({"select-direct-0": [100], "select-direct-1000": [80]}, "idle-tax")
    notes = conclusions.notes(results.of(experiment))
    assert not any("held" in note for note in notes)  # nothing measured, nothing claimed
    held = {"connections": 1000, "memory": "measured", "memory_bytes": 17_400_000_000, "memory_bytes_each": 17_400_000}
    experiment.runs.filter(arm="select-direct-1000").update(conditions={"idle": held})
    notes = conclusions.notes(results.of(experiment))
    assert "1,000 idle connections held 17,400 MB of the server's memory, 17.4 MB each" in notes[1]


def test_nothing_is_concluded_before_anything_is_measured() -> None:
    assert conclusions.sentences(results.of(an_experiment())) == []


@pytest.mark.parametrize(("waits", "fast", "is_the_disk"), [(7.6, 0.15, True), (3.21, 3.18, False)])
def test_a_commit_that_synchronous_commit_does_not_shorten_waits_for_something_else(
    waits: float, fast: float, is_the_disk: bool
) -> None:
    figures = {"defaults": [100, 101, 99], "async": [100, 101, 99]}
    experiment = a_measured_experiment(figures, "tuning")
    for arm, end_ms in (("defaults", waits), ("async", fast)):
        experiment.runs.filter(arm=arm).update(statements=[{"statement": "END;", "latency_ms": end_ms}])
    notes = conclusions.notes(results.of(experiment))
    assert any(note.startswith("A commit (END) took") for note in notes)
    assert any("hardly for the disk" in note for note in notes) != is_the_disk
