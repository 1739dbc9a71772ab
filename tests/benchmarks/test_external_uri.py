"""What is read from the URI of an external endpoint, and what is refused in it."""

import pytest
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from benchmarks.engines.http import command as http_command
from benchmarks.engines.jmeter import command as jmeter_command
from benchmarks.engines.pgbench import command as pgbench_command
from benchmarks.engines.sysbench import command as sysbench_command
from benchmarks.errors import InvalidTarget
from benchmarks.models import ExternalEndpoint
from benchmarks.targets import external
from pools.clusters import connect
from pools.clusters.endpoints import Endpoint


def test_a_uri_says_all_of_a_login():
    read = external.read_uri("postgresql://app%40x:p%2Fw@proxy.example.org:6432/shop?sslmode=require")
    assert read == {
        "host": "proxy.example.org",
        "port": 6432,
        "database": "shop",
        "user": "app@x",
        "password": "p/w",
        "sslmode": "require",
        "parameters": {},
    }


def test_port_and_sslmode_have_libpqs_defaults():
    read = external.read_uri("postgres://app@db/shop")
    assert (read["port"], read["sslmode"], read["password"]) == (5432, "prefer", "")


def test_the_words_of_a_providers_uri_are_taken_along():
    query = "sslmode=require&channel_binding=require&target_session_attrs=read-write&sslsni=0"
    words = {"channel_binding": "require", "target_session_attrs": "read-write", "sslsni": "0"}
    read = external.read_uri(f"postgresql://app@db/shop?{query}")
    assert read["parameters"] == words
    kept = {name: value for name, value in read.items() if name != "password"}
    assert external.read_uri(external.uri_of(ExternalEndpoint(name="neon", **kept))) == read


def test_every_word_of_libpq_is_taken_along_or_refused_for_a_reason_of_its_own():
    for option in pq.Conninfo.get_defaults():
        name = option.keyword.decode()
        if name in external.TAKEN | set(external.TAKEN_ALONG):
            continue
        with pytest.raises(InvalidTarget) as refused:
            external.read_uri(f"postgresql://app@db/shop?{name}=1")
        assert f"leave out {name}: " in str(refused.value)
        assert "a run sets its own" not in str(refused.value)


def test_its_words_reach_every_load_program_and_the_panels_own_logins(tmp_path):
    endpoint = Endpoint("db", 5432, "shop", "app", parameters=(("channel_binding", "require"), ("sslsni", "0")))
    words = {"binary": "x", "home": tmp_path, "endpoint": endpoint, "application_name": "a"}
    pgbench = pgbench_command.build_command({"builtin": "select-only"}, purpose="load", version=(15, 0), **words)
    assert conninfo_to_dict(pgbench.argv[-1])["channel_binding"] == "require"
    assert "channel_binding=require" in next(one for one in sysbench_command._connection(endpoint) if "-db=" in one)
    environment = http_command.environment(tmp_path, endpoint, "a")
    assert (environment["PGCHANNELBINDING"], environment["PGSSLSNI"]) == ("require", "0")
    assert r"channelBinding\u003drequire" in jmeter_command._properties(endpoint, "a")
    assert connect._parameters(endpoint)["channel_binding"] == "require"


@pytest.mark.parametrize(
    ("uri", "described"),
    [
        ("host=db dbname=shop", "it begins with postgresql://"),
        ("https://db/shop", "it begins with postgresql://"),
        ("postgresql://app:se cret@[db/shop", "libpq can't read it"),
        ("postgresql://app@/shop", "it lacks the host"),
        ("postgresql://db/shop", "it lacks the user"),
        ("postgresql://app@db", "it lacks the dbname"),
        ("postgresql://app@a,b/shop", "name one host"),
        ("postgresql://app@db:70000/shop", "70000 is not a port"),
        ("postgresql://app@db/shop?sslmode=allow", "sslmode 'allow' is not taken"),
        ("postgresql://app@db/shop?sslrootcert=/etc/passwd", "leave out sslrootcert"),
        ("postgresql://app@db/shop?options=-crole%3Dpostgres", "leave out options"),
        ("postgresql://app@db/shop?hostaddr=127.0.0.1", "leave out hostaddr: give the address as the host"),
        ("postgresql://app@db/shop?connect_timeout=10", "leave out connect_timeout: the panel and its load programs"),
        ("postgresql://app@db/shop?application_name=web", "leave out application_name: a run names its own sessions"),
        ("postgresql://app@db/shop?pgbouncer=true&schema=x", "libpq does not know pgbouncer, schema: leave it out"),
        ("postgresql://app@/shop?host=[::1]", "'[::1]' has brackets, which only URLs need: write ::1"),
        ("postgresql://app@db/" + "s" * 64, "the dbname is longer than 63 bytes"),
    ],
)
def test_what_is_no_login_of_one_server_is_refused_without_the_password(uri, described):
    with pytest.raises(InvalidTarget) as refused:
        external.read_uri(uri)
    assert described in str(refused.value)
    assert "se cret" not in str(refused.value)
