"""Values of the fields of runs, comparisons and experiments in examples."""

from collections.abc import Mapping

from benchmarks.experiments.tables import ExperimentArmRow
from benchmarks.models.advice import CellFigures, RecommendedSize
from benchmarks.models.conditions import RunConditions
from benchmarks.models.generators import RoundTrip
from benchmarks.models.thresholds import Threshold
from benchmarks.results.export.comparison_tables import ArmRow, ComparedRun
from pools.api.example_values import CLUSTER, POOL
from pools.api.pooler_examples import POOLER

RUN = "a3f1c2d4-5b6e-4f70-8192-a3b4c5d6e7f8"
RUNS = ("a3f1c2d4-5b6e-4f70-8192-a3b4c5d6e7f8", "b4e2d3c5-6f70-4182-93a4-b5c6d7e8f901")
GROUP = "d6c5b4a3-9281-4706-9f5e-4d3c2b1a0f9e"
SCRIPT = "e7d6c5b4-a392-4817-8a6f-5e4d3c2b1a0f"
PROFILE = "f8e7d6c5-b4a3-4928-9b70-6f5e4d3c2b1a"
EXTERNAL = "1a0f9e8d-7c6b-4a59-8f4e-3d2c1b0a9f8e"
LOAD_HOST = "7b2e0d4f-3a5c-4f68-8c91-2d3e4f5a6b71"
EXPERIMENT = "2b1a0f9e-8d7c-4b6a-9f5e-4d3c2b1a0f9f"
SCRIPT_TEXT = "\\set id random(1, 100000)\nSELECT state FROM orders WHERE id = :id;\n"
OPTIONS = {"builtin": "select-only", "clients": 10, "threads": 2, "duration": 30, "connect": True}
PLAYBOOK_TEXT = """name = "orders-pooling"
title = "What a pool is worth for orders"
engine = "pgbench"
baseline = { endpoint = "none" }
metrics = ["tps", "latency_avg_ms"]

[quick]
repeats = 3
dataset = { scale = 10 }
options = { duration = 10 }

[published_scale]
repeats = 5
dataset = { scale = 100 }

[options]
builtin = "select-only"
connect = true
duration = 30

[axes]
clients = [10, 50]

[[axes.endpoint]]
key = "none"
label = "no pooler"
endpoint = { kind = "direct" }

[[axes.endpoint]]
key = "pgbouncer"
label = "PgBouncer"
endpoint = { kind = "pgbouncer", mode = "transaction", size = 10 }
"""
STARTED = {"started_at": "2026-03-05T16:00:01Z", "finished_at": "2026-03-05T16:00:32Z"}
SUMMARY: dict[str, float | None] = {
    "tps": 1261.63,
    "tps_including_connections": 1260.91,
    "latency_avg_ms": 7.926,
    "latency_stddev_ms": 2.114,
    "latency_p50_ms": 7.4,
    "latency_p90_ms": 10.6,
    "latency_p95_ms": 12.1,
    "latency_p99_ms": 16.8,
    "latency_p99_9_ms": 24.9,
    "latency_samples": 37849,
    "transactions": 37849,
    "failed": 0,
    "retried": None,
    "initial_connection_ms": None,
    "average_connection_ms": 3.108,
    "effective_clients": 10.0,
}
PRINTED_BY_SOME = ("latency_p90_ms", "latency_p99_9_ms", "latency_samples")  # left out where there are none
COMPARED_RUN: ComparedRun = {
    "id": RUN,
    "number": 12,
    "outcome": "succeeded",
    "outcome_words": "succeeded",
    "value": 1261.63,
}
ARM: ArmRow = {
    "key": "b",
    "label": "pooled, orders",
    "runs": [COMPARED_RUN],
    "n_valid": 3,
    "outcome": "succeeded",
    "outcome_words": "3 of 3 valid",
    "median": 1261.63,
    "low": 1248.2,
    "high": 1270.14,
    "ratio": 2.41,
    "interval": [2.35, 2.47],
    "verdict": "faster",
    "clients_at_work": None,
    "clients_asked": None,
}
EXPERIMENT_ARM: ExperimentArmRow = {
    **ARM,
    "key": "pgbouncer",
    "label": "PgBouncer",
    "values": {"clients": "10", "endpoint": "pgbouncer"},
    "baseline": "none",
    "published": {},
    "figures": {"tps": 1261.63, "latency_avg_ms": 7.926},
    "derived": {"gain_percent": 141.0},
    "skipped": "",
}
EXPERIMENT_FIELDS: dict[str, object] = {
    "id": EXPERIMENT,
    "number": 4,
    "playbook": "reconnect",
    "cluster": CLUSTER,
    "cluster_name": "orders",
    "pooler": POOLER,
    "generators": ["local"],
    "quick": True,
    "repeats": 3,
    "minutes": None,
    "seconds": None,
    "wanted_blocks": 0,
    "seed": 20260305,
    "state": "running",
    "phase": "measure",
    "reasons": [],
    "notes": [],
    "recommendation": None,
    "started_at": "2026-03-05T16:00:01Z",
    "finished_at": None,
    "conclusion": "PgBouncer is faster than no pooler: tps ×2.41 (95 % interval ×2.35 to ×2.47, 3 runs each).",
    "blocks_to_decide": 0,
}

CELLS: list[CellFigures] = [
    {"size": 12, "clients": 50, "tps": 1288.0, "latency_avg_ms": 38.8, "runs": 3},
    {"size": 16, "clients": 50, "tps": 1302.4, "latency_avg_ms": 38.4, "runs": 3},
]
RECOMMENDATION: RecommendedSize = {
    "size": 12,
    "reserve": 3,
    "interval": [10, 14],
    "knee": 12,
    "best": {"size": 16, "tps": 1302.4},
    "law": {"rate": 182.4, "contention": 0.021, "coherency": 0.0004},
    "clients": 50,
    "cells": CELLS,
    "left_of_budget": 82,
    "not_seen": ["Your application's own transactions, unless the workload was a script of them."],
}

CONDITIONS: RunConditions = {
    "ping": {"count": 10, "min_ms": 0.21, "avg_ms": 0.26, "max_ms": 0.44, "connect_ms": 4.8},
}
ROUND_TRIP: RoundTrip = {"count": 10, "min_ms": 0.21, "avg_ms": 0.26, "max_ms": 0.44, "connect_ms": 4.8}
THRESHOLD: Threshold = {"metric": "tps", "at_least": 1000.0}

COMPONENTS: dict[str, Mapping[str, object]] = {
    "Arm": ARM,
    "Bar": {"from_ms": 7.0, "to_ms": 8.0, "count": 9120},
    "Ceiling": {
        "id": 2,
        "cluster": CLUSTER,
        "holder": "staff",
        "clients": 200,
        "threads": 8,
        "duration": 600,
        "scale": 1000,
    },
    "ComparedRun": COMPARED_RUN,
    "Comparison": {
        "metric": "tps",
        "baseline": "a",
        "conclusion": "Pooled, orders is faster than direct: tps ×2.41 (95 % interval ×2.35 to ×2.47, 3 runs each).",
        "noise": 0.012,
    },
    "Difference": {"name": "endpoint", "values": ["direct", "pooled"]},
    "Engine": {"name": "pgbench", "generators": {"local": "17.6"}, "missing": ""},
    "Experiment": EXPERIMENT_FIELDS,
    "ExperimentArm": EXPERIMENT_ARM,
    "ExternalEndpoint": {
        "id": EXTERNAL,
        "name": "rds-proxy",
        "uri": "postgresql://orders_app@proxy.example.org:5432/orders?sslmode=require",
        "pooled_by": "RDS Proxy",
        "cluster": CLUSTER,
        "cluster_database": "orders",
    },
    "Generator": {
        "name": "local",
        "kind": "worker",
        "ssh_host": None,
        "fault": "",
        "script_fault": "",
        "last_seen_at": "2026-03-05T16:12:03Z",
        "alive": True,
        "started_at": "2026-03-05T08:00:00Z",
        "host": "bench1.example.org",
        "cores": 8,
        "engines": {"pgbench": "17.6", "sysbench": "1.0.20"},
        "files": {"jmeter": {"orders.jmx": ""}},
        "round_trips": {CLUSTER: ROUND_TRIP},
        "queue": "runs-local",
        "run": RUN,
        "runs": [RUN],
        "queued": 0,
    },
    "ListedExperiment": EXPERIMENT_FIELDS,
    "Log": {"stdout": "tps = 1261.632871 (without initial connection time)\n", "stderr": "", "truncated": False},
    "Observation": {
        "t": 4.0,
        "figures": {"wait_ms": 0.0, "service_ms": 7.9, "transactions_per_s": 1264.0},
    },
    "Percentiles": {"p50": 7.4, "p90": 10.6, "p95": 12.1, "p99": 16.8, "p99_9": 24.9},
    "Playbook": {
        "name": "orders-pooling",
        "title": "What a pool is worth for orders",
        "summary": "",
        "engine": "pgbench",
        "axes": {"clients": [{"key": "10", "label": "10", "explains": ""}]},
        "baseline": {"endpoint": "none"},
        "metrics": ["tps", "latency_avg_ms"],
        "derived": [],
        "published": [],
        "quick": {"repeats": 3, "dataset": {"scale": 10}, "options": {"duration": 10}, "axes": {}},
        "published_scale": {"repeats": 3, "dataset": {"scale": 10}, "options": {}, "axes": {}},
        "needs": ["a PgBouncer with a configuration folder"],
        "toml": PLAYBOOK_TEXT,
    },
    "PlaybookArm": {
        "key": "clients=10,endpoint=pgbouncer",
        "label": "10 clients, PgBouncer",
        "values": {"clients": "10", "endpoint": "pgbouncer"},
        "options": OPTIONS,
        "in_quick": True,
    },
    "Profile": {
        "id": PROFILE,
        "name": "larger-memory",
        "description": "For the playbook tuning",
        "values": {"shared_buffers": "4GB", "work_mem": "32MB"},
    },
    "ProfileVerdict": {
        "refusal": "",
        "warnings": [],
        "to_restart": ["shared_buffers"],
    },
    "Progress": {"done": 8, "total": 36, "eta_s": 420.0},
    "Run": {
        "id": RUN,
        "number": 12,
        "name": "orders, pooled",
        "group": GROUP,
        "engine": "pgbench",
        "options": OPTIONS,
        "status": "succeeded",
        "reasons": [],
        "command": ["pgbench", "-n", "-b", "select-only", "-c", "10", "-j", "2", "-T", "30", "-C"],
        "generator": "local",
        "generators": [],
        "parent": None,
        "parts": [],
        "progress_percent": None,
        **STARTED,
        "exit_code": 0,
        "statements": [],
        "conditions": CONDITIONS,
        "note": "",
        "tags": ["nightly"],
        "client_version": "17.6",
        "server_version": "17.6",
    },
    "Sample": {
        "tps": 1258.0,
        "latency_ms": 7.94,
        "stddev_ms": 2.1,
        "lag_ms": None,
        "skipped": None,
        "retried": None,
        "retries": None,
        "latency_p50_ms": None,
        "latency_p95_ms": None,
        "latency_p99_ms": None,
    },
    "Script": {
        "id": SCRIPT,
        "name": "order-lookup",
        "description": "One order by its id",
        "text": SCRIPT_TEXT,
        "version": 2,
        "changed_at": "2026-03-05T15:40:11Z",
    },
    "SettingFinding": {
        "name": "shared_buffers",
        "value": "4GB",
        "now": "128MB",
        "needs_restart": True,
        "changes": True,
        "problem": "",
        "warning": "",
    },
    "Spread": {
        "count": 37849,
        "is_firm": True,
        "note": "All 37,849 transactions of run 12.",
    },
    "Summary": SUMMARY,
    "Target": {
        "cluster": CLUSTER,
        "database": "orders",
        "pool": POOL,
        "external": None,
        "pooled_by": "",
        "label": "pgbouncer-1/orders",
        "removed": "",
    },
    "Threshold": {**THRESHOLD, "value": 1261.63, "passed": True},
    "Version": {"id": 31, "number": 2, "text": SCRIPT_TEXT, "author": "admin"},
    "Waiting": {"run": RUN, "left_s": 18.0, "ahead": 1, "sentences": ["Run 12 on the same target ends in about 18 s."]},
}
