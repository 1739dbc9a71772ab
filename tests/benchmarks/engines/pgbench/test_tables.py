"""What the built-in scripts need of the tables, and below which scale their clients wait for each other."""

import pytest

from benchmarks.engines.pgbench.options import validate
from benchmarks.engines.pgbench.tables import tables_of


@pytest.mark.parametrize(
    ("options", "below"),
    [
        ({"builtin": "tpcb-like", "clients": 50}, 50),
        ({"builtin": "simple-update", "clients": 50}, 0),
        ({"builtin": "select-only", "clients": 50}, 0),
    ],
)
def test_only_clients_that_update_branches_wait_for_each_other(options: dict[str, object], below: int) -> None:
    wanted = tables_of(validate(options), purpose="load")
    assert wanted is not None
    assert wanted.contended_below == below


def test_a_preparation_has_no_clients() -> None:
    wanted = tables_of(validate({"scale": 3}, purpose="prepare"), purpose="prepare")
    assert wanted is not None
    assert (wanted.size, wanted.contended_below) == (3, 0)
