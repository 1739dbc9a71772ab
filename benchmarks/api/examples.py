"""Examples of the operations on runs, comparisons, playbooks and experiments."""

from django.utils.translation import gettext_lazy as _

from benchmarks.api.comparisons import ArmSerializer, ComparedRunSerializer, ComparisonSerializer
from benchmarks.api.example_values import (
    EXPERIMENT,
    EXTERNAL,
    LOAD_HOST,
    OPTIONS,
    PLAYBOOK_TEXT,
    RUN,
    RUNS,
    SCRIPT_TEXT,
)
from benchmarks.api.experiment_serializers import (
    ExperimentArmSerializer,
    ExperimentSerializer,
    RecommendationSerializer,
)
from benchmarks.api.serializers import RunSerializer, SummarySerializer
from benchmarks.experiments.tables import ExperimentArmRow
from benchmarks.results.export.comparison_tables import ArmRow
from core.rest.examples import Examples, Requests
from pools.api.example_values import CLUSTER, POOL, POOLER

PGBENCH_OUTPUT = """transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: 10
number of threads: 2
maximum number of tries: 1
duration: 30 s
number of transactions actually processed: 378489
number of failed transactions: 0 (0.000%)
latency average = 0.792 ms
initial connection time = 12.345 ms
tps = 12616.328710 (without initial connection time)
"""
OF_RUNS: Requests = {
    "runs_create": [
        (
            _("pgbench through a pool, a new connection for each transaction"),
            {"target": {"pool": POOL}, "engine": "pgbench", "options": OPTIONS, "name": "orders, pooled"},
        ),
        (
            _("sysbench on a database of a cluster"),
            {
                "target": {"cluster": CLUSTER, "database": "orders"},
                "engine": "sysbench",
                "options": {"script": "oltp_read_only", "threads": 16, "duration": 60, "tables": 4},
            },
        ),
        (
            _("HTTP requests to a service that has a pool of its own"),
            {
                "target": {"pool": POOL},
                "engine": "http",
                "options": {"connection": "pooled", "pool_size": 20, "concurrency": 50, "duration": 60},
            },
        ),
        (
            _("A JMeter plan on the generator"),
            {
                "target": {"pool": POOL},
                "engine": "jmeter",
                "options": {"plan": "orders.jmx", "clients": 20, "duration": 60},
                "generators": ["local"],
                "confirm": "orders",
            },
        ),
        (
            _("Three pairs of the same load, directly and through the pool, with limits for a CI job"),
            {
                "target": {"pool": POOL},
                "engine": "pgbench",
                "options": OPTIONS | {"warm_up": 10},
                "pair": True,
                "repeat": 3,
                "tags": ["nightly"],
                "thresholds": [{"metric": "tps", "at_least": 1000}, {"metric": "latency_p95_ms", "at_most": 20}],
            },
        ),
        (
            _("The same load with each of five numbers of clients, for a comparison over them"),
            {
                "target": {"pool": POOL},
                "engine": "pgbench",
                "options": OPTIONS,
                "sweep_clients": [1, 4, 16, 64, 256],
            },
        ),
        (
            _("A spike in one run: few clients, then 64, then few again at a rate"),
            {
                "target": {"pool": POOL},
                "engine": "pgbench",
                "options": {
                    "builtin": "select-only",
                    "stages": [
                        {"duration_s": 60, "clients": 8},
                        {"duration_s": 20, "clients": 64},
                        {"duration_s": 60, "clients": 8, "rate": 500},
                    ],
                },
            },
        ),
        (
            _("A script of your own with idle connections beside it, on an external endpoint"),
            {
                "target": {"external": EXTERNAL},
                "engine": "pgbench",
                "options": {
                    "scripts": [{"text": SCRIPT_TEXT, "weight": 1}],
                    "clients": 20,
                    "threads": 4,
                    "duration": 60,
                    "idle_connections": 100,
                },
                "confirm": "orders",
            },
        ),
        (
            _("The tables of pgbench, made before the first run"),
            {
                "target": {"cluster": CLUSTER, "database": "orders"},
                "engine": "pgbench",
                "purpose": "prepare",
                "options": {"scale": 50},
                "confirm": "orders",
            },
        ),
    ],
    "runs_partial_update": [(_("A note and tags"), {"note": "After the upgrade", "tags": ["nightly", "pg17"]})],
    "runs_import_create": [
        (_("The output of a pgbench on another host"), {"text": PGBENCH_OUTPUT, "name": "Laptop"}),
    ],
}
OF_LINKS: Requests = {
    "shared_links_create": [
        (_("to a run, for a week"), {"run": RUN, "lifetime_days": 7}),
        (_("to a comparison, for a month"), {"runs": list(RUNS), "lifetime_days": 30}),
        (_("to an experiment"), {"experiment": EXPERIMENT}),
    ],
}
OF_LIBRARY: Requests = {
    "generators_create": [(_("A host that is reached by SSH"), {"ssh_host": LOAD_HOST, "name": "load-1"})],
    "ceilings_partial_update": [(_("At most ten minutes"), {"duration": 600})],
    "entries_endpoint_create": [
        (
            _("A login that the pooler lets in through the entry"),
            {"user": "orders_app", "password": "PASSWORD"},
        )
    ],
    "external_endpoints_create": [
        (
            _("A proxy of a cloud provider, in front of a registered cluster"),
            {
                "name": "rds-proxy",
                "uri": "postgresql://orders_app:PASSWORD@proxy.example.org:5432/orders?sslmode=require",
                "pooled_by": "RDS Proxy",
                "cluster": CLUSTER,
            },
        )
    ],
    "external_endpoints_partial_update": [(_("Another name"), {"name": "rds-proxy-eu"})],
    "schedules_create": [
        (
            _("Three pairs each night"),
            {"run": RUN, "name": "orders, each night", "cron": "15 2 * * *", "time_zone": "Europe/Berlin", "repeat": 3},
        )
    ],
    "schedules_partial_update": [(_("On weekdays alone"), {"cron": "15 2 * * 1-5"})],
    "scripts_partial_update": [(_("A new version of the text"), {"text": SCRIPT_TEXT.replace("100000", "200000")})],
    "scripts_dry_run_create": [(_("One transaction through a pool"), {"target": {"pool": POOL}, "confirm": "orders"})],
    "settings_profiles_partial_update": [
        (_("Other values"), {"values": {"shared_buffers": "8GB", "work_mem": "64MB"}}),
    ],
}
OF_EXPERIMENTS: Requests = {
    "playbooks_create": [(_("Direct and pooled, with few and with many clients"), {"toml": PLAYBOOK_TEXT})],
    "experiments_measure_more_create": [(_("Five blocks more"), {"blocks": 5, "confirm": "orders"})],
    "experiments_create": [
        (
            _("The quick form of a built-in playbook"),
            {"playbook": "reconnect", "cluster": CLUSTER, "pooler": POOLER, "quick": True, "confirm": "orders"},
        ),
        (
            _("The whole playbook with shorter runs, until the intervals are narrow enough or two hours have passed"),
            {
                "playbook": "burst",
                "cluster": CLUSTER,
                "pooler": POOLER,
                "quick": False,
                "minutes": 120,
                "options": {"duration": 30},
                "confirm": "orders",
            },
        ),
    ],
    "advice_pool_size_create": [
        (
            _("The size of a pool for fifty clients"),
            {
                "pool": POOL,
                "question": "size",
                "workload": {"builtin": "tpcb-like", "clients": 50, "scale": 50},
                "minutes": 15,
                "confirm": "orders",
            },
        ),
        (
            _("The size of a pool for the queries that pg_stat_statements recorded of its user"),
            {"pool": POOL, "workload": {"recorded": True, "clients": 50}, "minutes": 15, "confirm": "orders"},
        ),
        (
            _("Whether to pool at all, on a cluster that has no pool yet"),
            {"cluster": CLUSTER, "pooler": POOLER, "question": "pooling", "minutes": 10, "confirm": "orders"},
        ),
    ],
}
BASELINE_ARM: ArmRow = {
    **ArmSerializer.example,
    "key": "a",
    "label": "direct",
    "runs": [{**ComparedRunSerializer.example, "id": RUNS[1], "number": 11, "value": 523.1}],
    "median": 523.1,
    "low": 519.8,
    "high": 527.4,
    "ratio": None,
    "interval": None,
    "verdict": None,
}
COMPARISON = {
    **ComparisonSerializer.example,
    "arms": [BASELINE_ARM, ArmSerializer.example],
    "differs_in": [{"name": "endpoint", "values": ["direct", "pooled"]}],
}
STARTED = {name: RunSerializer.example[name] for name in ("started_at", "finished_at")}
EVIDENCE: dict[str, object] = {
    "format": "pooldeck run 1",
    "run": {"id": RUN, "number": 12, "engine": "pgbench", "options": OPTIONS},
    "result": {"status": "succeeded", "validity": "valid", **STARTED, "summary": SummarySerializer.example},
    "conditions": {},
    "surroundings": {},
    "samples": [{"t": 1.0, "tps": 1258.0, "latency_ms": 7.94, "stddev_ms": 2.1, "failed": 0}],
    "pool_samples": [],
    "looks": [],
    "latency_histogram": None,
    "output": {"stdout": "tps = 1261.632871 (without initial connection time)\n", "stderr": "", "truncated": False},
    "parts": [],
}
REPORT: dict[str, object] = {
    "experiment": EXPERIMENT,
    "number": 4,
    "playbook": "reconnect",
    "state": "succeeded",
    "quick": True,
    "seed": 20260305,
    "plan": [["none", "pgbouncer"], ["pgbouncer", "none"]],
    "started_at": "2026-03-05T16:00:01Z",
    "finished_at": "2026-03-05T16:24:40Z",
    "arms": [ExperimentArmSerializer.example],
    "conclusion": ExperimentSerializer.example["conclusion"],
    "recommendation": None,
    "reasons": [],
    "conditions": [],
    "toml": PLAYBOOK_TEXT,
}

PRINTED_BY_SOME = ("latency_p90_ms", "latency_p99_9_ms", "latency_samples", "stages")  # left out where there are none
QUEUED: dict[str, object] = {
    "status": "queued",
    "validity": "",
    "command": [],
    "generator": "",
    "attempt": 0,
    "started_at": None,
    "finished_at": None,
    "exit_code": None,
    "summary": {name: None for name in SummarySerializer.example if name not in PRINTED_BY_SOME},
    "conditions": {},
    "gate": "",
    "client_version": "",
    "server_version": "",
}
OF_A_HOST: dict[str, object] = {
    "name": "load-1",
    "kind": "ssh",
    "ssh_host": LOAD_HOST,
    "started_at": None,
    "host": "load-1",
    "cores": None,
    "engines": {"pgbench": "17.6"},
    "files": {},
    "round_trips": {},
    "queue": "runs",
    "run": None,
    "runs": [],
}
STARTED_EXPERIMENT: dict[str, object] = {
    "state": "queued",
    "phase": "setup",
    "progress": {"done": 0, "total": 36, "eta_s": None},
    "recommendation": None,
    "started_at": None,
    "arms": [],
    "conclusion": "",
    "blocks_to_decide": 3,
}
CELL_ARM: ExperimentArmRow = {
    **ExperimentArmSerializer.example,
    "key": "12-50",
    "label": "12, 50 clients",
    "values": {"size": "12", "clients": "50"},
    "baseline": None,
    "ratio": None,
    "interval": None,
    "verdict": None,
    "derived": {},
}
ADVICE: dict[str, object] = {
    "playbook": "pool-size",
    "state": "succeeded",
    "phase": "teardown",
    "progress": {"done": 18, "total": 18, "eta_s": 0.0},
    "recommendation": RecommendationSerializer.example,
    "finished_at": "2026-03-05T16:15:20Z",
    "arms": [CELL_ARM],
    "blocks_to_decide": None,
    "conclusion": "12 connections are enough for 50 clients: the smallest size within 3 % of the best throughput.",
}

EXAMPLES = Examples(
    requests=OF_RUNS | OF_LINKS | OF_LIBRARY | OF_EXPERIMENTS,
    responses={
        "comparisons_retrieve": COMPARISON,
        "runs_evidence_retrieve": EVIDENCE,
        "experiments_report_retrieve": REPORT,
    },
    changes={
        "advice_pool_size_create": STARTED_EXPERIMENT | {"playbook": "pool-size"},
        "experiments_create": STARTED_EXPERIMENT,
        "experiments_retrieve": ADVICE,
        "experiments_measure_more_create": STARTED_EXPERIMENT | {"wanted_blocks": 10},
        "experiments_cancel_create": {"state": "cancelled", "phase": "teardown", "finished_at": "2026-03-05T16:09:00Z"},
        "generators_create": OF_A_HOST,
        "runs_baseline_create": {"is_baseline": True},
        "runs_cancel_create": QUEUED | {"status": "cancelled", "finished_at": "2026-03-05T16:00:09Z"},
        "runs_create": QUEUED,
        "runs_import_create": {"name": "Laptop", "purpose": "import", "group": None, "command": [], "generator": ""},
        "runs_partial_update": {"note": "After the upgrade", "tags": ["nightly", "pg17"]},
        "scripts_dry_run_create": QUEUED | {"group": None},
    },
)
