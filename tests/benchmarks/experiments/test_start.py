"""What the start of an experiment says that it would change."""

from benchmarks.experiments import library, start


def test_pools_of_the_same_kind_and_size_are_named_once_with_their_number() -> None:
    spec = library.find("reconnect")
    changes = start.changes(spec, spec.arms(quick=True))
    assert changes[2:] == [
        "adds 2 pools of 20 connections (PgBouncer, transaction) and reloads their pooler",
        "adds a pool of 32 connections (Pgpool-II, session) and reloads its pooler",
    ]
