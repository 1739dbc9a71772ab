"""The experiment's table says what each arm reached, and what it is worth."""

from typing import Any

from panel.quickstart.once import Arm, table


def arm(label: str, validity: str = "valid", status: str = "succeeded", **summary: float) -> Arm:
    run: dict[str, Any] = {"status": status, "validity": validity, "summary": summary, "reasons": [], "error": ""}
    return Arm(label, run)


def test_ratios_are_to_the_direct_arm_of_the_same_story() -> None:
    kept = [arm("kept, direct", tps=20000.0, latency_avg_ms=0.5), arm("kept, pooled", tps=10000.0, latency_avg_ms=1.0)]
    anew = [arm("anew, direct", tps=100.0, latency_avg_ms=100.0), arm("anew, pooled", tps=300.0, latency_avg_ms=33.3)]
    assert table([kept, anew]).splitlines() == [
        "pgbench select-only, 10 clients     tps  latency ms  to direct  validity",
        "------------------------------------------------------------------------",
        "kept, direct                     20,000       0.500       1.00  valid",
        "kept, pooled                     10,000       1.000       0.50  valid",
        "anew, direct                        100     100.000       1.00  valid",
        "anew, pooled                        300      33.300       3.00  valid",
    ]


def test_an_arm_without_a_figure_says_why_instead() -> None:
    failed = arm("kept, pooled", validity="incomplete", status="failed")
    failed.run["reasons"], failed.run["error"] = ["exit code 1"], "no connection"
    last = table([[arm("kept, direct", tps=10.0, latency_avg_ms=1.0), failed]]).splitlines()[-1]
    assert last.split("  ")[-1] == "incomplete (exit code 1; no connection)"
    assert not failed.is_valid


def test_reconnecting_arms_are_told_with_their_time_to_connect() -> None:
    assert arm("anew", tps=500.0, tps_including_connections=100.0).tps == 100.0


def test_only_a_valid_success_counts() -> None:
    assert arm("a", tps=1.0).is_valid
    assert not arm("a", validity="suspect", tps=1.0).is_valid
    assert not arm("a", status="cancelled", tps=1.0).is_valid
