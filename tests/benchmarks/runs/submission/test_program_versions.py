"""The version that counts is the oldest that may carry the run, so that a run accepted now can be carried out then."""

import pytest

from benchmarks.engines import ENGINES
from benchmarks.engines.binaries import Program, ProgramMissing
from benchmarks.engines.pgbench import binary
from benchmarks.errors import InvalidOptions, QueueDown
from benchmarks.generators import heartbeats
from benchmarks.models import Generator
from benchmarks.runs.submission import options

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent() -> None:
        raise QueueDown("redis can't be reached")

    monkeypatch.setattr(heartbeats, "seen", silent)


def generator(name: str, **engines: str) -> None:
    Generator.objects.create(name=name, engines=engines)


def test_the_oldest_of_all_generators_counts():
    generator("new", pgbench="18.4")
    generator("old", pgbench="9.6")
    generator("none", sysbench="1.0")
    assert options.known_program_version("pgbench") == (9, 6)


def test_of_named_generators_only_those_count():
    generator("new", pgbench="18.4")
    generator("old", pgbench="15.18")
    assert options.known_program_version("pgbench", ["new"]) == (18, 4)
    assert options.known_program_version("pgbench", ["any"]) == (15, 18)


@pytest.mark.parametrize("text", ["", "unknown", "devel.1", "18.beta"])
def test_a_version_that_can_not_be_read_is_none(text: str):
    generator("odd", pgbench=text)
    generator("new", pgbench="18.4")
    assert options.known_program_version("pgbench") == (18, 4)


def test_without_generators_the_program_here_counts(monkeypatch: pytest.MonkeyPatch):
    assert options.known_program_version("pgbench") == binary.find().version

    def find() -> Program:
        raise ProgramMissing("none")

    monkeypatch.setitem(vars(ENGINES["pgbench"]), "find", find)
    assert options.known_program_version("pgbench") is None
    options.check_program_version("pgbench", {"continue_on_error": True})


def test_an_option_that_the_program_lacks_is_refused_by_name():
    generator("old", pgbench="16.2")
    options.check_program_version("pgbench", {"max_tries": 3})
    with pytest.raises(InvalidOptions) as caught:
        options.check_program_version("pgbench", {"exit_on_abort": True})
    assert caught.value.errors == {"exit_on_abort": ["--exit-on-abort needs pgbench 17 or newer; this one is 16.2"]}
