"""Every format carries the endpoint whole: what libpq and the shell read back equals what was put in."""

import shlex
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict

from pools import connection_strings
from pools.clusters.endpoints import Endpoint
from pools.connection_strings import FORMATS, UnknownFormat, render
from tests.pools.connection_strings.samples import ODD, PLAIN, SOCKET, endpoints, expected


@given(endpoint=endpoints)
def test_libpq_reads_the_uri_back(endpoint: Endpoint) -> None:
    assert conninfo_to_dict(render(endpoint, "uri", reveal=True)) == expected(endpoint)


@given(endpoint=endpoints)
def test_libpq_reads_the_keywords_back(endpoint: Endpoint) -> None:
    assert conninfo_to_dict(render(endpoint, "keywords", reveal=True)) == expected(endpoint)


@given(endpoint=endpoints)
def test_the_shell_reads_the_psql_command_back(endpoint: Endpoint) -> None:
    password, program, conninfo = shlex.split(render(endpoint, "psql", reveal=True))
    assert password == f"PGPASSWORD={endpoint.password}"
    assert program == "psql"
    assert conninfo_to_dict(conninfo) == expected(endpoint.without_password())


@given(endpoint=endpoints, as_=st.sampled_from(list(FORMATS)))
def test_a_hidden_password_is_in_no_format(endpoint: Endpoint, as_: str) -> None:
    canary = "c4nary-c4nary-c4nary"
    assert canary not in render(replace(endpoint, password=canary), as_, reveal=False)
    assert canary in render(replace(endpoint, password=canary), as_, reveal=True)


@pytest.mark.parametrize("endpoint", [PLAIN, ODD, SOCKET, replace(PLAIN, database="host=evil")])
def test_a_shell_takes_the_variables(endpoint: Endpoint) -> None:
    script = render(endpoint, "env", reveal=True) + "\nenv -0"
    ran = subprocess.run(["/bin/sh", "-c", script], env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=True)
    variables = dict(line.split("=", 1) for line in ran.stdout.decode().split("\0") if line.startswith("PG"))
    names = {"dbname": "PGDATABASE"}
    assert variables == {names.get(name, f"PG{name.upper()}"): value for name, value in expected(endpoint).items()}


@pytest.mark.parametrize(
    ("endpoint", "as_", "text"),
    [
        (PLAIN, "uri", "postgresql://app:s3cret@db.example:5432/shop"),
        (
            ODD,
            "uri",
            "postgresql://o%22neil:p%40ss%20w%2Fo%3Ard%27%22%25@[::1]:6432/my%20db"
            "?sslmode=verify-full&sslrootcert=%2Fca%20dir%2Fca.pem",
        ),
        (SOCKET, "uri", "postgresql://app:s3cret@/shop?host=%2Frun%2Fpostgresql&port=5433&sslmode=disable"),
        (PLAIN, "keywords", "host=db.example port=5432 dbname=shop user=app password=s3cret"),
        (PLAIN, "psql", "PGPASSWORD=s3cret psql 'host=db.example port=5432 dbname=shop user=app'"),
        (PLAIN, "pgpass", "db.example:5432:shop:app:s3cret"),
        (replace(ODD, password="a:b\\c"), "pgpass", '\\:\\:1:6432:my db:o"neil:a\\:b\\\\c'),
        (
            PLAIN,
            "pgbench",
            "PGPASSWORD=s3cret pgbench -n -S -c 10 -T 30 -P 1 'host=db.example port=5432 dbname=shop user=app'",
        ),
    ],
)
def test_texts(endpoint: Endpoint, as_: str, text: str) -> None:
    assert render(endpoint, as_, reveal=True) == text


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownFormat) as refused:
        connection_strings.render(PLAIN, "telnet", reveal=False)
    assert refused.value.errors == {
        "as": [f"'telnet' is not a format of connection strings: choose one of {', '.join(FORMATS)}"]
    }
