"""What each framework's own reader makes of its format equals what was put in."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlsplit

import playwright
import pytest
import yaml
from django.db import ConnectionHandler
from django.db.backends.postgresql.base import DatabaseWrapper
from hypothesis import given
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import make_url

from core.lib.env import BASE_DIR
from pools.clusters.endpoints import Endpoint
from pools.connection_strings import render
from tests.pools.connection_strings.samples import ODD, PLAIN, SOCKET, endpoints, expected

NODE = Path(playwright.__file__).parent / "driver" / "node"  # comes with Playwright: no other need be installed
HIDDEN = replace(PLAIN, password=None)
EVERY = [PLAIN, ODD, SOCKET, HIDDEN, replace(PLAIN, password="\\u0041${x}`日本\u2028😀")]
PG = BASE_DIR / "static" / "node_modules" / "pg"
ASK = """
const read = new pg.Client(pool.options).connectionParameters, ssl = read.ssl;
const named = ["host", "port", "database", "user", "password"].map((name) => [name, read[name]]);
const login = Object.fromEntries(named.filter(([, value]) => value));
const checks = ssl?.ca ? { ...ssl, ca: ssl.ca.toString() } : ssl;
console.log(JSON.stringify({ login, ssl: checks }, (_, value) => typeof value === "function" ? "any" : value));
"""


def django_settings(text: str) -> dict[str, Any]:
    """The default database of settings with this text, Django's own defaults filled in."""
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102 (our own text)
    return ConnectionHandler(names["DATABASES"]).settings["default"]


@given(endpoint=endpoints)
def test_django_hands_psycopg_the_same(endpoint: Endpoint) -> None:
    parameters = DatabaseWrapper(django_settings(render(endpoint, "django", reveal=True))).get_connection_params()
    assert {name: parameters.get(name) for name in expected(endpoint)} == expected(endpoint)


@given(endpoint=endpoints)
def test_sqlalchemy_hands_psycopg_the_same(endpoint: Endpoint) -> None:
    _, parameters = PGDialect_psycopg().create_connect_args(make_url(render(endpoint, "sqlalchemy", reveal=True)))
    assert {name: str(value) for name, value in parameters.items()} == expected(endpoint)


@given(endpoint=endpoints)
def test_rails_hands_libpq_the_same_and_erb_finds_nothing_to_run(endpoint: Endpoint) -> None:
    text = render(replace(endpoint, password=f"<%= 1 %>{endpoint.password}"), "rails", reveal=True)
    read = yaml.safe_load(text)["production"]
    names = {"database": "dbname", "username": "user"}
    assert read.pop("adapter") == "postgresql"
    assert read.pop("password") == f"<%= 1 %>{endpoint.password}"
    assert {names.get(name, name): str(value) for name, value in read.items()} == expected(endpoint.without_password())
    assert "<%" not in text


@given(endpoint=endpoints)
def test_the_string_in_the_go_line_is_read_by_libpq(endpoint: Endpoint) -> None:
    text = render(endpoint, "go", reveal=True)
    literal = text.removeprefix("pool, err := pgxpool.New(context.Background(), ").removesuffix(")")
    assert conninfo_to_dict(json.loads(literal)) == expected(endpoint)


@given(endpoint=endpoints)
def test_the_jdbc_url_decodes_as_the_driver_does(endpoint: Endpoint) -> None:
    url = urlsplit(render(endpoint, "jdbc", reveal=True).removeprefix("jdbc:"))
    options = {name: values for name, [*values] in parse_qs(url.query, strict_parsing=True).items()}
    assert unquote_plus(url.path.removeprefix("/")) == endpoint.database
    assert url.netloc == (f"localhost:{endpoint.port}" if endpoint.is_socket else endpoint.address)
    assert (options["user"], options["password"]) == ([endpoint.user], [endpoint.password])
    assert options.get("socketFactoryArg") == ([endpoint.address] if endpoint.is_socket else None)


def node_reads(endpoint: Endpoint, folder: Path) -> dict[str, Any]:
    """What node-postgres makes of the module: its own reading of the options, without a login."""
    (folder / "node_modules").symlink_to(PG.parent)
    (folder / "database.mjs").write_text(render(endpoint, "node", reveal=True) + ASK, encoding="utf-8")
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}  # it reads PG* variables, and a password file
    ran = subprocess.run([NODE, folder / "database.mjs"], env=clean, capture_output=True, check=True, timeout=30)
    read: dict[str, Any] = json.loads(ran.stdout)
    return read


@pytest.mark.parametrize("endpoint", EVERY)
def test_node_hands_node_postgres_the_same(endpoint: Endpoint, tmp_path: Path) -> None:
    login = {
        "host": endpoint.host,
        "port": endpoint.port,
        "database": endpoint.database,
        "user": endpoint.user,
        "password": endpoint.password,
    }
    read = node_reads(replace(endpoint, sslmode="prefer"), tmp_path)
    assert read == {"login": {name: value for name, value in login.items() if value}, "ssl": False}


@pytest.mark.parametrize(
    ("sslmode", "certified", "ssl"),
    [
        ("disable", False, False),
        ("require", False, {"rejectUnauthorized": False}),
        ("require", True, {"ca": "the authority", "checkServerIdentity": "any"}),
        ("verify-ca", False, {"checkServerIdentity": "any"}),
        ("verify-ca", True, {"ca": "the authority", "checkServerIdentity": "any"}),
        ("verify-full", False, True),
        ("verify-full", True, {"ca": "the authority"}),
    ],
)
def test_node_checks_what_libpq_would(sslmode: str, certified: bool, ssl: object, tmp_path: Path) -> None:
    authority = tmp_path / 'ca "1".pem'
    authority.write_text("the authority")
    endpoint = replace(PLAIN, sslmode=sslmode, sslrootcert=str(authority) if certified else "")
    assert node_reads(endpoint, tmp_path)["ssl"] == ssl


@pytest.mark.parametrize(
    ("sslmode", "sslrootcert", "query"),
    [
        ("prefer", "", ""),
        ("disable", "", "&sslmode=disable"),
        ("require", "", "&sslmode=require"),
        ("require", "/ca.pem", "&sslmode=verify-ca&sslrootcert=%2Fca.pem"),
        ("verify-full", "/ca.pem", "&sslmode=verify-full&sslrootcert=%2Fca.pem"),
    ],
)
def test_jdbc_checks_what_libpq_would(sslmode: str, sslrootcert: str, query: str) -> None:
    endpoint = replace(HIDDEN, sslmode=sslmode, sslrootcert=sslrootcert)
    assert render(endpoint, "jdbc", reveal=True) == f"jdbc:postgresql://db.example:5432/shop?user=app{query}"


@pytest.mark.parametrize("as_", ["jdbc", "node"])
def test_a_socket_asks_for_no_tls_where_the_driver_would_insist(as_: str) -> None:
    assert "ssl" not in render(replace(SOCKET, sslmode="verify-full", sslrootcert="/ca.pem"), as_, reveal=True)


@pytest.mark.parametrize(
    ("endpoint", "as_", "text"),
    [
        (
            ODD,
            "jdbc",
            "jdbc:postgresql://[::1]:6432/my%20db?user=o%22neil&password=p%40ss%20w%2Fo%3Ard%27%22%25"
            "&sslmode=verify-full&sslrootcert=%2Fca%20dir%2Fca.pem",
        ),
        (
            SOCKET,
            "jdbc",
            "jdbc:postgresql://localhost:5433/shop?user=app&password=s3cret"
            "&socketFactory=org.newsclub.net.unix.AFUNIXSocketFactory%24FactoryArg"
            "&socketFactoryArg=%2Frun%2Fpostgresql%2F.s.PGSQL.5433",
        ),
        (
            replace(ODD, password=None),
            "django",
            "DATABASES = {\n"
            '    "default": {\n'
            '        "ENGINE": "django.db.backends.postgresql",\n'
            '        "NAME": "my db",\n'
            '        "USER": "o\\"neil",\n'
            '        "HOST": "::1",\n'
            '        "PORT": "6432",\n'
            '        "OPTIONS": {"sslmode": "verify-full", "sslrootcert": "/ca dir/ca.pem"},\n'
            "    },\n"
            "}",
        ),
        (PLAIN, "sqlalchemy", "postgresql+psycopg://app:s3cret@db.example:5432/shop"),
        (replace(HIDDEN, database="my db"), "sqlalchemy", "postgresql+psycopg://app@db.example:5432/?dbname=my%20db"),
        (
            SOCKET,
            "sqlalchemy",
            "postgresql+psycopg://app:s3cret@/shop?host=%2Frun%2Fpostgresql&port=5433&sslmode=disable",
        ),
        (
            HIDDEN,
            "go",
            'pool, err := pgxpool.New(context.Background(), "host=db.example port=5432 dbname=shop user=app")',
        ),
        (
            replace(PLAIN, sslmode="verify-full", sslrootcert="/ca.pem"),
            "node",
            'import { readFileSync } from "node:fs";\n'
            'import pg from "pg";\n'
            "\n"
            "const pool = new pg.Pool({\n"
            '  host: "db.example",\n'
            "  port: 5432,\n"
            '  database: "shop",\n'
            '  user: "app",\n'
            '  password: "s3cret",\n'
            '  ssl: { ca: readFileSync("/ca.pem") },\n'
            "});",
        ),
        (
            SOCKET,
            "rails",
            "production:\n"
            "  adapter: postgresql\n"
            '  host: "/run/postgresql"\n'
            "  port: 5433\n"
            '  database: "shop"\n'
            '  username: "app"\n'
            '  password: "s3cret"\n'
            '  sslmode: "disable"',
        ),
    ],
)
def test_texts(endpoint: Endpoint, as_: str, text: str) -> None:
    assert render(endpoint, as_, reveal=True) == text
