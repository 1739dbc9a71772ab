"""What the panel takes from its environment, and what it leaves there."""

import os

import pytest

from panel import env


def test_the_variables_of_libpq_are_dropped_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGSERVICE", "PGHOSTADDR", "PGOPTIONS", "PGSSLROOTCERT", "PG_COLOR", "POOLDECK_PGBENCH", "PAGER"):
        monkeypatch.setenv(name, "set")
    env.forget_libpq()
    kept = {name for name in os.environ if name.startswith("P") and os.environ[name] == "set"}
    assert kept == {"PG_COLOR", "POOLDECK_PGBENCH", "PAGER"}
