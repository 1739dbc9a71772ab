"""Statement tables side by side: the same statement of the same script in one row, differences to the first run."""

from typing import Any

from benchmarks.analysis.statements import StatementCell, StatementRow, compare


def row(statement: str, latency_ms: float | None, script: int = 1, **counts: int) -> dict[str, Any]:
    return {"script": script, "statement": statement, "latency_ms": latency_ms, **counts}


def test_differences_are_to_the_first_run():
    first = [row("BEGIN;", 0.1), row("UPDATE a;", 2.0, failures=1, retries=2)]
    second = [row("BEGIN;", 0.1), row("UPDATE a;", 3.0, failures=4, retries=0)]
    assert compare([first, second]) == [
        StatementRow(1, "BEGIN;", (StatementCell(0.1), StatementCell(0.1, 0.0, 1.0))),
        StatementRow(
            1,
            "UPDATE a;",
            (
                StatementCell(2.0, failures=1, retries=2),
                StatementCell(3.0, 1.0, 1.5, failures=4, retries=0),
            ),
        ),
    ]


def test_a_statement_that_stands_twice_meets_itself_in_order():
    table = [row("SELECT 1;", 1.0), row("SELECT 1;", 5.0)]
    found = compare([table, table])
    assert [(one.cells[0].latency_ms, one.cells[1].ratio) for one in found] == [(1.0, 1.0), (5.0, 1.0)]


def test_what_only_one_run_has_stays_empty_in_the_others():
    found = compare([[row("A;", 1.0)], [row("B;", 2.0), row("A;", 2.0, script=2)], []])
    assert [(one.script, one.statement, [cell.latency_ms for cell in one.cells]) for one in found] == [
        (1, "A;", [1.0, None, None]),
        (1, "B;", [None, 2.0, None]),
        (2, "A;", [None, 2.0, None]),
    ]


def test_runs_that_may_not_be_compared_get_no_judgment_and_zero_no_ratio():
    found = compare([[row("A;", 0.0)], [row("A;", 2.0)], [row("A;", None)]])
    assert found[0].cells[1:] == (StatementCell(2.0, 2.0), StatementCell(None))


def test_no_tables_make_no_rows():
    assert compare([[], []]) == []
