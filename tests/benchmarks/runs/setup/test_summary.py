"""What was done around a load, as people read it."""

from benchmarks.runs.setup.summary import in_words

IDLE = {"connections": 1000, "opened_in_s": 12.34}


def test_nothing_noted_is_nothing_told():
    assert in_words({}) == []
    assert in_words({"something_newer": {"x": 1}}) == []


def test_every_condition_has_its_sentence():
    noted = {
        "warm_up": {"seconds": 30.4},
        "checkpoint": {"seconds": 0.21},
        "vacuum": {"tables": ["a", "b"], "seconds": 1.26},
        "idle": IDLE | {"memory": "measured", "memory_bytes_each": 3_670_016, "memory_bytes": 3_670_016_000},
        "settings_profile": {"name": "tuned", "values": {"work_mem": "16MB"}, "before": {"work_mem": None}},
        "ping": {"count": 10, "min_ms": 0.05, "avg_ms": 0.0612, "max_ms": 0.1, "connect_ms": 4.25},
    }
    assert in_words(noted) == [
        ("Round trip to the endpoint", "0.0612 ms on average (0.05 to 0.1, 10 times), logging in 4.25 ms"),
        ("Settings profile", "tuned: work_mem = 16MB"),
        ("Idle connections", "1,000 opened in 12.3 s; 3.5 MB each, 3.4 GB in all, measured"),
        ("Vacuumed before", "2 tables in 1.3 s"),
        ("Checkpoint before", "0.2 s"),
        ("Warm-up, thrown away", "30.4 s"),
    ]


def test_a_warm_up_whose_clients_were_refused_says_so():
    noted = {"warm_up": {"seconds": 0.4, "refused": "sorry, too many clients already"}}
    told = "ended after 0.4 s, since clients were refused: sorry, too many clients already"
    assert in_words(noted) == [("Warm-up, thrown away", told)]


def test_a_dangerous_profile_carries_its_warning():
    noted = {"name": "fast", "values": {"fsync": "off"}, "before": {}, "warnings": ["fsync = off: never where data is"]}
    assert in_words({"settings_profile": noted})[0][1] == "fast: fsync = off; fsync = off: never where data is"


def test_an_estimate_and_a_pool_say_so():
    low = {"memory": "estimated", "memory_low_bytes": 5 * 1024**3, "memory_high_bytes": 10 * 1024**3}
    assert in_words({"idle": IDLE | low})[0][1].endswith("about 5.0 GB to 10.0 GB in all, estimated")
    pooled = in_words({"idle": IDLE | {"memory": "pooled", "closed_by_others": 3}})[0][1]
    assert "share the pool's server connections" in pooled
    assert pooled.endswith("3 were closed by the other side before the end")
