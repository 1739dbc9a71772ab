"""What pgpool.conf has no way to write is refused: a quote has no escape, and a line ends a value."""

import pytest

from pools.poolers import KINDS, settings_schema
from pools.poolers.settings_schema import Scope

CATALOG = KINDS["pgpool"].catalog


@pytest.mark.parametrize("value", ["a'b", "a''b", "a\\'b", "'", "a\nport = 1", "a\rport = 1", "a\0b", "\ud800"])
def test_a_value_that_pgpool_conf_can_not_hold_is_refused(value: str) -> None:
    found = dict(settings_schema.problems(CATALOG, Scope.PROGRAM, {"log_line_prefix": value}, (4, 3)))
    assert list(found) == ["log_line_prefix"]


@pytest.mark.parametrize("value", ["%m: pid %p: ", "a\\b", 'a"b', "ä # no comment"])
def test_other_signs_are_taken(value: str) -> None:
    assert dict(settings_schema.problems(CATALOG, Scope.PROGRAM, {"log_line_prefix": value}, (4, 3))) == {}
