"""What people read of a run's looks."""

from benchmarks.runs.observers.summary_text import in_words


def test_all_that_was_seen_is_told():
    found = {
        "queue_ms": 3.0,
        "service_ms": 1.0,
        "cpu_percent": 93.2,
        "busy_percent": 46.6,
        "pooler_cpu_percent": 71.0,
        "service_cpu_percent": 97.4,
        "checkpoints_timed": 0,
        "checkpoints_requested": 2,
        "hidden": "wait events: grant pg_monitor",
    }
    assert in_words(found) == [
        (
            "Latency at the pooler",
            "3 ms in the queue for a server connection (75% of both), 1 ms with one; "
            "means over the pool's transactions",
        ),
        ("Processors taken by the load", "93 % of a core, 47 % of what its threads can use"),
        ("Processor taken by PgBouncer", "71 % of the one core a process can use"),
        ("Processor taken by the service", "97 % of the one core it can use"),
        ("Checkpoints that began", "2 requested"),
        ("Hidden from the panel", "wait events: grant pg_monitor"),
    ]


def test_what_was_not_seen_is_not_told():
    assert in_words({}) == []
    assert in_words({"checkpoints_timed": 0, "checkpoints_requested": 0}) == [("Checkpoints that began", "none")]
    assert in_words({"queue_ms": 0.0, "service_ms": 0.0})[0][1].startswith("0 ms in the queue for a server connection,")


def test_a_queue_that_nobody_counts_is_said_not_to_be_counted():
    assert in_words({"uncounted_by": "Pgpool-II"}) == [
        ("Queue at the pooler", "not counted by Pgpool-II: waiting clients are in the kernel's queue")
    ]
