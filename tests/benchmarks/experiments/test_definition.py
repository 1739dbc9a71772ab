"""The playbook that a question to a pool becomes."""

import tomllib

from benchmarks.experiments.advice import definition
from benchmarks.experiments.advice.definition import Clients
from benchmarks.experiments.playbook import EndpointTable


def test_scripts_are_written_whole_and_what_is_none_is_left_out() -> None:
    text = 'SELECT "a"\n\\set n 1\n🐘'
    load = {"scripts": [{"text": text, "weight": 2, "version": None}], "protocol": None}
    pooled = EndpointTable(kind="pgbouncer", size=4, mode="session")
    found = tomllib.loads(definition.of_pooling("as before", load, pooled, Clients(["kept", "crowd"], 108, 6)))
    assert found["options"] == {"threads": 2, "scripts": [{"text": text, "weight": 2}]}
    assert found["baseline"] == {"endpoint": "direct"}
    assert [one["options"] for one in found["axes"]["connections"]] == [{}, {"clients": 108, "duration": 6}]
    assert found["exclude"] == [{"connections": "crowd", "endpoint": "direct"}]
    assert [one["endpoint"]["kind"] for one in found["axes"]["endpoint"]] == ["direct", "pgbouncer"]
