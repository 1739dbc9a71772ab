"""The chart of arms: beside each other on a wide screen, below each other on a narrow one."""

import pytest

from benchmarks.experiments import results
from benchmarks.experiments.report import chart
from benchmarks.experiments.report.chart import BOTTOM, TOP
from tests.benchmarks.experiments.records import a_measured_experiment, an_experiment

pytestmark = pytest.mark.django_db
FIGURES = {"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [200, 210, 195]}


def test_values_and_ratios_share_a_row_or_have_rows_of_their_own() -> None:
    wide = chart.draw(results.of(a_measured_experiment(FIGURES)))
    assert wide is not None
    narrow = wide.narrow
    assert narrow is not None
    assert narrow.frame.width <= 320  # of a screen of 390 px, without the margins of the page and the card
    rows = len(wide.rows)
    assert (wide.drop, wide.height) == (0, TOP + 30 * rows + BOTTOM)
    assert (narrow.drop, narrow.height) == (narrow.base + BOTTOM, 2 * (narrow.base + BOTTOM))
    for drawn in (wide, narrow):
        pooled = next(row for row in drawn.rows if row.label == "SCRAM, PgBouncer")
        marks = [*(dot.x for dot in pooled.dots), pooled.median, *[x for x, _ in drawn.ticks]]
        assert all(drawn.frame.values[0] <= x <= drawn.frame.values[1] for x in marks if x is not None)
        ratios = [pooled.ratio, *(pooled.ends or ()), pooled.published, *[x for x, _ in drawn.ratio_ticks]]
        assert all(drawn.frame.ratios[0] <= x <= drawn.frame.ratios[1] for x in ratios if x is not None)
        assert drawn.one < (pooled.ratio or 0)


def test_the_note_of_an_arm_does_not_reach_over_its_published_ratio() -> None:
    figures = FIGURES | {"10-md5-pgbouncer": [None, None, None]}
    wide = chart.draw(results.of(a_measured_experiment(figures)))
    assert wide is not None
    rows = {row.label: row for row in wide.rows}
    noted = rows["md5, PgBouncer"]
    assert noted.note
    assert (noted.note_characters, noted.published is not None) == (wide.frame.characters_of_values, True)
    assert rows["md5, no pooler"].note_characters == wide.frame.note_characters


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (["10 clients, md5, none", "10 clients, SCRAM, pool"], ["md5, none", "SCRAM, pool"]),
        (["10 clients, md5, none", "20 clients, md5, none"], ["10 clients, md5, none", "20 clients, md5, none"]),
        (["direct", "pooled"], ["direct", "pooled"]),
        (["a, b"], ["b"]),
        ([], []),
    ],
)
def test_labels_leave_out_what_all_rows_share(labels: list[str], shown: list[str]) -> None:
    assert chart.without_common_prefix(labels) == shown


def test_words_of_a_refusal_do_not_cover_the_dots_of_what_was_answered() -> None:
    experiment = a_measured_experiment(FIGURES | {"10-md5-none": [None] * 3, "10-md5-pgbouncer": [None] * 3})
    experiment.runs.filter(arm="10-md5-none").update(summary={"tps": 11.0})
    drawn = chart.draw(results.of(experiment))
    assert drawn is not None
    rows = {row.label: row for row in drawn.rows}
    assert (rows["md5, no pooler"].note, bool(rows["md5, PgBouncer"].note)) == ("", True)


def test_there_is_no_chart_before_a_figure() -> None:
    assert chart.draw(results.of(an_experiment())) is None
