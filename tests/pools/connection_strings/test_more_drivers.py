"""Formats whose own reader is libpq, psycopg, Node's URL, or a rule of .NET's that is repeated here."""

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pools.clusters.endpoints import Endpoint
from pools.connection_strings import render
from pools.connection_strings.service import section
from tests.pools.connection_strings.samples import ODD, PLAIN, SOCKET, endpoints, expected
from tests.pools.connection_strings.test_drivers import NODE

HIDDEN = replace(PLAIN, password=None)
SHARED_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
NET_PAIR = re.compile(r'([^=;]+)=(?:"((?:[^"]|"")*)"|([^;]*))(?:;|$)')
URLS = """const read = (text) => { const url = new URL(text); return {
  user: decodeURIComponent(url.username), password: decodeURIComponent(url.password), host: url.hostname,
  database: decodeURIComponent(url.pathname.slice(1)), options: Object.fromEntries(url.searchParams) } };
console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(0, "utf8")).map(read)));
"""


@pytest.fixture
def service_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What libpq reads as the user's service file; nothing else in the environment counts."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    monkeypatch.setenv("PGSYSCONFDIR", str(tmp_path))
    return tmp_path / "services"


@SHARED_FOLDER
@given(endpoint=endpoints)
def test_libpq_reads_the_service_back(endpoint: Endpoint, service_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service_file.write_text("[other]\nhost=elsewhere\n\n" + render(endpoint, "service", reveal=True) + "\n", "utf-8")
    monkeypatch.setenv("PGSERVICE", section(endpoint))
    read = {one.keyword.decode(): one.val.decode() for one in pq.Conninfo.get_defaults() if one.val is not None}
    kept = {name: value for name, value in expected(endpoint).items() if value == value.rstrip(" \t\n\r\f\v")}
    assert {name: read.get(name) for name in kept} == kept


def test_a_blank_at_the_end_is_said_to_be_lost() -> None:
    text = render(replace(PLAIN, password="secret "), "service", reveal=True)
    assert (
        text.splitlines()[-1] == "# password ends with a blank, which a service file can't hold: set it in another way"
    )


@given(endpoint=endpoints)
def test_psycopg_takes_the_arguments(endpoint: Endpoint) -> None:
    text = render(endpoint, "psycopg", reveal=True)
    call = text.removeprefix("import psycopg\n\nconnection = psycopg.connect")
    given_arguments = eval(f"dict{call}")  # noqa: S307 (our own text: psycopg.connect would connect)
    assert conninfo_to_dict(make_conninfo(**given_arguments)) == expected(endpoint)


@given(endpoint=endpoints)
def test_r2dbc_decodes_each_part(endpoint: Endpoint) -> None:
    url = urlsplit(render(endpoint, "r2dbc", reveal=True).removeprefix("r2dbc:"))
    login, _, place = url.netloc.rpartition("@")
    user, _, password = login.partition(":")
    options = {name: values[0] for name, values in parse_qs(url.query, strict_parsing=bool(url.query)).items()}
    assert (unquote(user), unquote(password)) == (endpoint.user, endpoint.password)
    assert unquote(url.path.removeprefix("/")) == endpoint.database
    assert place == (f"localhost:{endpoint.port}" if endpoint.is_socket else endpoint.address)
    assert options.get("socket") == (endpoint.address if endpoint.is_socket else None)


@given(endpoint=endpoints)
def test_npgsql_reads_the_pairs_back(endpoint: Endpoint) -> None:
    pairs = NET_PAIR.findall(render(endpoint, "dotnet", reveal=True))
    read = {name: plain or quoted.replace('""', '"') for name, quoted, plain in pairs}
    wanted = {
        "Host": endpoint.host,
        "Port": str(endpoint.port),
        "Database": endpoint.database,
        "Username": endpoint.user,
        "Password": endpoint.password,
        "Root Certificate": endpoint.sslrootcert,
    }
    read.pop("SSL Mode", None)
    assert read == {name: value for name, value in wanted.items() if value}


def test_nodes_url_reads_prismas_back() -> None:
    samples = [PLAIN, ODD, SOCKET, replace(PLAIN, password="\\u0041${x}`日本\u2028😀", database="a/b?c#d")]
    texts = [render(one, "prisma", reveal=True) for one in samples]
    urls = [text.removeprefix('DATABASE_URL="').removesuffix('"') for text in texts]
    ran = subprocess.run(
        [NODE, "-e", URLS], input=json.dumps(urls), capture_output=True, text=True, check=True, timeout=30
    )
    for endpoint, read in zip(samples, json.loads(ran.stdout), strict=True):
        assert (read["user"], read["password"]) == (endpoint.user, endpoint.password)
        assert read["database"] == endpoint.database
        assert read["options"].get("host") == (endpoint.host if endpoint.is_socket else None)
        assert endpoint.is_socket or read["host"].strip("[]") == endpoint.host
    assert not any(sign in url for url in urls for sign in ' "$`\\')


@pytest.mark.parametrize(
    ("sslmode", "sslrootcert", "prisma", "dotnet", "r2dbc"),
    [
        ("prefer", "", "", "", "?sslMode=prefer"),
        ("disable", "", "?sslmode=disable", ";SSL Mode=Disable", "?sslMode=disable"),
        ("require", "", "?sslmode=require", ";SSL Mode=Require", "?sslMode=require"),
        (
            "require",
            "/ca.pem",
            "?sslmode=require&sslaccept=strict&sslcert=%2Fca.pem",
            ";SSL Mode=VerifyCA;Root Certificate=/ca.pem",
            "?sslMode=verify-ca&sslRootCert=%2Fca.pem",
        ),
        (
            "verify-full",
            "/ca.pem",
            "?sslmode=require&sslaccept=strict&sslcert=%2Fca.pem",
            ";SSL Mode=VerifyFull;Root Certificate=/ca.pem",
            "?sslMode=verify-full&sslRootCert=%2Fca.pem",
        ),
    ],
)
def test_they_check_at_least_what_libpq_would(
    sslmode: str, sslrootcert: str, prisma: str, dotnet: str, r2dbc: str
) -> None:
    endpoint = replace(HIDDEN, sslmode=sslmode, sslrootcert=sslrootcert)
    assert render(endpoint, "prisma", reveal=True) == f'DATABASE_URL="postgresql://app@db.example:5432/shop{prisma}"'
    assert render(endpoint, "dotnet", reveal=True) == f"Host=db.example;Port=5432;Database=shop;Username=app{dotnet}"
    assert render(endpoint, "r2dbc", reveal=True) == f"r2dbc:postgresql://app@db.example:5432/shop{r2dbc}"


@pytest.mark.parametrize(
    ("endpoint", "as_", "text"),
    [
        (PLAIN, "service", "[shop]\nhost=db.example\nport=5432\ndbname=shop\nuser=app\npassword=s3cret"),
        (
            replace(HIDDEN, database="my db", sslmode="require"),
            "service",
            "[my_db]\nhost=db.example\nport=5432\ndbname=my db\nuser=app\nsslmode=require",
        ),
        (
            SOCKET,
            "psycopg",
            "import psycopg\n\nconnection = psycopg.connect(\n"
            '    host="/run/postgresql",\n    port=5433,\n    dbname="shop",\n    user="app",\n    password="s3cret",\n'
            '    sslmode="disable",\n)',
        ),
        (
            ODD,
            "dotnet",
            'Host=::1;Port=6432;Database="my db";Username="o""neil";Password="p@ss w/o:rd\'""%";'
            'SSL Mode=VerifyFull;Root Certificate="/ca dir/ca.pem"',
        ),
        (
            SOCKET,
            "r2dbc",
            "r2dbc:postgresql://app:s3cret@localhost:5433/shop?socket=%2Frun%2Fpostgresql%2F.s.PGSQL.5433",
        ),
        (SOCKET, "prisma", 'DATABASE_URL="postgresql://app:s3cret@localhost:5433/shop?host=%2Frun%2Fpostgresql"'),
    ],
)
def test_texts(endpoint: Endpoint, as_: str, text: str) -> None:
    assert render(endpoint, as_, reveal=True) == text
