"""What the panel takes from its environment, and what it leaves there."""

import os

import pytest
from django.core.exceptions import ImproperlyConfigured

from core.lib import env


def test_the_variables_of_libpq_are_dropped_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGSERVICE", "PGHOSTADDR", "PGOPTIONS", "PGSSLROOTCERT", "PG_COLOR", "POOLDECK_PGBENCH", "PAGER"):
        monkeypatch.setenv(name, "set")
    env.remove_libpq_variables()
    kept = {name for name in os.environ if name.startswith("P") and os.environ[name] == "set"}
    assert kept == {"PG_COLOR", "POOLDECK_PGBENCH", "PAGER"}


@pytest.mark.parametrize("name", ["local", "rack-2", "host.example_1", "x" * 63])
def test_a_generators_name_is_a_word(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("POOLDECK_GENERATOR", name)
    assert env.read("POOLDECK_GENERATOR", "local", env.generator_name) == name


@pytest.mark.parametrize("name", ["any", "two words", "a,b", "-x", "x" * 64, "é"])
def test_another_name_stops_the_start_and_names_its_variable(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("POOLDECK_GENERATOR", name)
    with pytest.raises(ImproperlyConfigured, match=r"POOLDECK_GENERATOR=.*use 1 to 63 letters"):
        env.read("POOLDECK_GENERATOR", "local", env.generator_name)
