"""What Prometheus reads, parsed by its own parser."""

from dataclasses import replace

from prometheus_client.parser import text_string_to_metric_families

from pools.models import Pooler
from pools.monitoring import prometheus
from pools.monitoring.sampler import ConsoleSnapshot

NOW = 11.0
OLD = {
    "pools": [{"database": "web", "user": "app", "cl_active": 3, "cl_waiting": 2, "sv_tested": 1, "maxwait": 4}],
    "stats": [{"database": "web", "total_query_count": 7, "total_query_time": 2_500_000, "total_received": 80}],
    "databases": [{"name": "web", "host": None, "port": 5432, "database": "shop", "pool_size": 9, "reserve_pool": 2}],
    "counts": [{"databases": 2, "used_clients": 5, "dns_names": 1, "peers": 0}],
    "limits": [{"max_client_conn": "100"}],
}
NEW = {"databases": [{"name": "new", "pool_size": 4, "reserve_pool_size": 1}]}


def read(*snapshots: tuple[Pooler, ConsoleSnapshot]) -> dict[str, list[tuple[dict[str, str], float]]]:
    packed = [(pooler, prometheus.answer_of(pooler, snapshot).packed()) for pooler, snapshot in snapshots]
    answers = [(pooler, prometheus.Answer.unpacked(one)) for pooler, one in packed]
    text = b"".join(prometheus.exposition(answers, now=NOW)).decode()
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_names_and_labels_are_those_of_pgbouncer_exporter_and_the_pooler():
    found = read((Pooler(name="edge", server_version="PgBouncer 1.18.0"), ConsoleSnapshot(at=1.0, rows=OLD)))
    of_pool = {"pooler": "edge", "database": "web", "user": "app"}
    assert found["pgbouncer_up"] == [({"pooler": "edge"}, 1)]
    assert found["pgbouncer_pools_client_active_connections"] == [(of_pool, 3)]
    assert found["pgbouncer_pools_client_waiting_connections"] == [(of_pool, 2)]
    assert found["pgbouncer_pools_server_testing_connections"] == [(of_pool, 1)]
    assert found["pgbouncer_pools_client_maxwait_seconds"] == [(of_pool, 4)]
    of_stats = {"pooler": "edge", "database": "web"}
    assert found["pgbouncer_stats_queries_pooled_total"] == [(of_stats, 7)]
    assert found["pgbouncer_stats_queries_duration_seconds_total"] == [(of_stats, 2.5)]
    assert found["pgbouncer_stats_received_bytes_total"] == [(of_stats, 80)]
    labels = {"pooler": "edge", "name": "web", "host": "", "port": "5432", "database": "shop"}
    assert found["pgbouncer_databases_pool_size"] == [({**labels, "force_user": "", "pool_mode": ""}, 9)]


def test_lists_and_limits_are_those_of_the_whole_pooler():
    found = read((Pooler(name="edge"), ConsoleSnapshot(at=1.0, rows=OLD)))
    of_pooler = {"pooler": "edge"}
    assert found["pgbouncer_databases"] == [(of_pooler, 2)]
    assert found["pgbouncer_used_clients"] == [(of_pooler, 5)]
    assert found["pgbouncer_cached_dns_names"] == [(of_pooler, 1)]
    assert found["pgbouncer_config_max_client_connections"] == [(of_pooler, 100)]
    assert "pgbouncer_config_max_user_connections" not in found


def test_an_answer_that_another_release_of_the_panel_kept_is_not_read():
    answer = prometheus.answer_of(Pooler(name="edge"), ConsoleSnapshot(at=1.0, rows=OLD))
    assert prometheus.Answer.unpacked(replace(answer, lines=answer.lines[:-1]).packed()) is None
    assert prometheus.Answer.unpacked(answer.packed()) == answer


def test_a_column_that_a_later_release_renamed_keeps_its_metric():
    found = read(
        (Pooler(name="a"), ConsoleSnapshot(at=1.0, rows=OLD)), (Pooler(name="b"), ConsoleSnapshot(at=1.0, rows=NEW))
    )
    assert [value for _, value in found["pgbouncer_databases_reserve_pool"]] == [2, 1]


def test_a_dead_pooler_is_down_and_tells_nothing_else():
    found = read((Pooler(name="edge"), ConsoleSnapshot(at=1.0, error="refused")))
    of_pooler = {"pooler": "edge"}
    assert found == {"pgbouncer_up": [(of_pooler, 0)], "pooldeck_console_age_seconds": [(of_pooler, 10.0)]}


def test_a_pooler_of_which_nothing_is_known_is_down_without_an_age():
    assert [text.decode() for text in prometheus.exposition([(Pooler(name="edge"), None)], NOW)] == [
        "# HELP pgbouncer_up 1 when the console answered\n# TYPE pgbouncer_up gauge\n",
        'pgbouncer_up{pooler="edge"} 0.0\n',
        "# HELP pgbouncer_version_info The program's release\n# TYPE pgbouncer_version_info gauge\n",
        "# HELP pooldeck_console_age_seconds How old the console's last answer is\n"
        "# TYPE pooldeck_console_age_seconds gauge\n",
    ]


def test_odd_names_survive_the_format():
    rows = {"stats": [{"database": 'a"b\\c\nd é', "total_sent": 1}]}
    found = read((Pooler(name="edge"), ConsoleSnapshot(at=1.0, rows=rows)))
    assert found["pgbouncer_stats_sent_bytes_total"] == [({"pooler": "edge", "database": 'a"b\\c\nd é'}, 1)]
