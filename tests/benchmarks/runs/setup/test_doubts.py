"""What went wrong around a load, as a reason not to rely on its figures."""

from benchmarks.runs.setup import unreliable_because


def test_nothing_wrong_is_no_doubt() -> None:
    assert unreliable_because({}) == []
    assert unreliable_because({"idle": {"connections": 5, "closed_by_others": 0}}) == []


def test_each_fault_is_named() -> None:
    found = {
        "idle": {"connections": 1_000, "closed_by_others": 2},
        "service": {"refused": "FATAL: sorry, too many clients already", "exit_code": -9},
    }
    assert unreliable_because(found) == [
        "2 of 1,000 idle connections were closed by the server or the pooler before the load ended",
        "the service that was loaded ended before the load did: what came after it only failed",
        "the service's pool was refused connections, so it was smaller than asked for: "
        "FATAL: sorry, too many clients already",
    ]
