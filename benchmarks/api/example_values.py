"""What examples of several serializers and requests refer to; all else is the `example` of its serializer."""

RUN = "a3f1c2d4-5b6e-4f70-8192-a3b4c5d6e7f8"
RUNS = (RUN, "b4e2d3c5-6f70-4182-93a4-b5c6d7e8f901")
GROUP = "d6c5b4a3-9281-4706-9f5e-4d3c2b1a0f9e"
SCRIPT = "e7d6c5b4-a392-4817-8a6f-5e4d3c2b1a0f"
PROFILE = "f8e7d6c5-b4a3-4928-9b70-6f5e4d3c2b1a"
EXTERNAL = "1a0f9e8d-7c6b-4a59-8f4e-3d2c1b0a9f8e"
LOAD_HOST = "7b2e0d4f-3a5c-4f68-8c91-2d3e4f5a6b71"
EXPERIMENT = "2b1a0f9e-8d7c-4b6a-9f5e-4d3c2b1a0f9f"
SCHEDULE = "3c2b1a0f-9e8d-4c7b-8a6f-5e4d3c2b1a10"
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
