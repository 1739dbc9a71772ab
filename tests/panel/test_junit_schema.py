"""The JUnit reports of `pooldeck run`, by a schema of the elements that Jenkins's JUnit plugin documents."""

from pathlib import Path

import pytest
import xmlschema

from panel.command_line import reports
from panel.command_line.records import Run
from tests.panel.test_command_line_reports import a_run, limit

JUNIT = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))
REFUSED = a_run(validity="", status="failed", error="FATAL: <no & \x00\x1b[31m ]]> entry>")


@pytest.mark.parametrize(
    ("runs", "ratio_faults", "has_pair"),
    [
        ([], [], False),
        ([a_run()], [], False),
        ([a_run(7, thresholds=[limit(3, passed=False)]), a_run(8)], ["ratio at least 3: it is 1.9"], True),
        ([REFUSED], [], False),
        ([a_run(target={"label": ""})], [], True),
    ],
)
def test_a_report_is_valid(runs: list[Run], ratio_faults: list[str], has_pair: bool) -> None:
    JUNIT.validate(reports.as_junit(runs, ratio_faults, has_pair=has_pair))


@pytest.mark.parametrize(
    "change", [("testcase name", "testcase title"), ("<failure", "<system-err/><failure"), ('tests="1"', 'tests="one"')]
)
def test_other_attributes_and_another_order_are_not(change: tuple[str, str]) -> None:
    text = reports.as_junit([a_run(thresholds=[limit(3, passed=False)])], [], has_pair=False)
    assert not JUNIT.is_valid(text.replace(*change))
