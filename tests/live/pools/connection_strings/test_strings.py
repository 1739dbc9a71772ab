"""What the connection box gives out works as it stands in the programs it is for."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from django.db import ConnectionHandler
from psycopg import sql
from sqlalchemy import create_engine, text

from panel.quickstart.servers import PostgresServer
from pools import connection_strings, deployment
from pools.clusters import endpoints
from pools.clusters.endpoints import Endpoint
from pools.connection_strings import service
from pools.inventory import pools
from pools.models import Cluster, Pool, Pooler, PoolState

pytestmark = pytest.mark.django_db

PASSWORDS = [
    "p@ss w/o:rd'\"%",
    "$HOME `id` \\ !#&?=+",
    "пароль;日本",
    "-x",
    "a" * 200,
    "'tisAPass",
    "(q=7R+<wXa1L8t$@%GrZ;<",
]
QUESTION = "SELECT current_user || ' in ' || current_database()"
ODD_DATABASE = "host=evil dbname='x' %"


@pytest.fixture
def odd(postgres: PostgresServer, request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """The login of a role with an odd name and an odd password to a database with an odd name."""
    role, password = 'o"neil @x', request.param
    names = {"role": sql.Identifier(role), "database": sql.Identifier(ODD_DATABASE), "password": sql.Literal(password)}
    with postgres.connect() as session:
        session.execute(sql.SQL("CREATE ROLE {role} LOGIN PASSWORD {password}").format(**names))
        session.execute(sql.SQL("CREATE DATABASE {database}").format(**names))
        yield Endpoint(postgres.host, postgres.port, ODD_DATABASE, role, password)
        session.execute(sql.SQL("DROP DATABASE {database} WITH (FORCE)").format(**names))
        session.execute(sql.SQL("DROP ROLE {role}").format(**names))


def answer(script: str, home: Path, *words: str) -> str:
    """What a shell without any PG* variable prints for the script."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    ran = subprocess.run(["/bin/sh", "-c", script, "sh", *words], env=clean, capture_output=True, text=True, timeout=20)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize("odd", PASSWORDS, indirect=True)
def test_every_format_logs_in_with_odd_names_and_passwords(odd: Endpoint, tmp_path: Path) -> None:
    uri, keywords, psql, env, pgpass = (
        connection_strings.render(odd, as_, reveal=True) for as_ in ("uri", "keywords", "psql", "env", "pgpass")
    )
    who = f"{odd.user} in {odd.database}"
    assert answer('psql -XAtw "$1" -c "$2"', tmp_path, uri, QUESTION) == who
    assert answer('psql -XAtw "$1" -c "$2"', tmp_path, keywords, QUESTION) == who
    assert answer(f'{psql} -XAtw -c "$1"', tmp_path, QUESTION) == who
    assert answer(f'{env}\npsql -XAtw -c "$1"', tmp_path, QUESTION) == who
    (tmp_path / ".pgpass").write_text(pgpass + "\n")
    (tmp_path / ".pgpass").chmod(0o600)
    (tmp_path / ".pg_service.conf").write_text(connection_strings.render(odd, "service", reveal=True) + "\n")
    assert answer('psql -XAtw "service=$1" -c "$2"', tmp_path, service.section(odd), QUESTION) == who
    masked = connection_strings.render(odd, "uri", reveal=False)
    assert answer('psql -XAtw "$1" -c "$2"', tmp_path, masked, QUESTION) == who


def test_the_uri_of_a_pool_works_as_it_stands(cluster: Cluster, pooler: Pooler, tmp_path: Path) -> None:
    made = {"pooler": pooler, "cluster": cluster, "database": "app", "size": 2}
    fixed = pools.create(made | {"name": "fixed.1-a", "user": "app"})
    inbound = pools.create(made | {"name": "inbound"})
    deployment.apply_pooler(pooler)
    for pool, role in ((fixed, ""), (inbound, "app")):
        assert Pool.objects.get(pk=pool.pk).state == PoolState.APPLIED
        uri = connection_strings.render(endpoints.of_pool(pool, role), "uri", reveal=True)
        assert answer('psql -XAtw "$1" -c "$2"', tmp_path, uri, QUESTION) == "app in app"


def test_the_pgbench_command_of_a_pool_runs(cluster: Cluster, pooler: Pooler, tmp_path: Path) -> None:
    values = {"pooler": pooler, "cluster": cluster, "database": "app", "user": "app", "size": 2, "name": "bench"}
    pool = pools.create(values)
    deployment.apply_pooler(pooler)
    command = connection_strings.render(endpoints.of_pool(pool), "pgbench", reveal=True)
    initialize = command.replace("-n -S -c 10 -T 30 -P 1", "-i -q")
    assert "scale" not in answer(initialize, tmp_path)
    assert "tps =" in answer(command.replace("-T 30", "-t 10"), tmp_path)


def test_the_uri_of_the_cluster_works_as_it_stands(cluster: Cluster, tmp_path: Path) -> None:
    uri = connection_strings.render(endpoints.of_cluster(cluster, "app"), "uri", reveal=True)
    assert answer('psql -XAtw "$1" -c "$2"', tmp_path, uri, QUESTION) == "postgres in app"
    other = replace(endpoints.of_cluster(cluster), host="localhost")
    uri = connection_strings.render(other, "uri", reveal=True)
    assert answer('psql -XAtw "$1" -c "$2"', tmp_path, uri, QUESTION) == "postgres in postgres"


@pytest.mark.parametrize("odd", PASSWORDS, indirect=True)
def test_python_frameworks_log_in_with_odd_names_and_passwords(odd: Endpoint) -> None:
    settings: dict[str, Any] = {}
    exec(connection_strings.render(odd, "django", reveal=True), settings)  # noqa: S102 (our own text)
    database = ConnectionHandler(settings["DATABASES"])["default"]
    engine = create_engine(connection_strings.render(odd, "sqlalchemy", reveal=True))
    rails = yaml.safe_load(connection_strings.render(odd, "rails", reveal=True))["production"]
    names = {"database": "dbname", "username": "user"}
    libpq = {names.get(name, name): value for name, value in rails.items() if name != "adapter"}
    with database.cursor() as by_django, engine.connect() as by_sqlalchemy, psycopg.connect(**libpq) as by_rails:
        answers = [
            by_django.execute(QUESTION).fetchone(),
            by_sqlalchemy.execute(text(QUESTION)).one(),
            by_rails.execute(QUESTION).fetchone(),
        ]
    database.close()
    engine.dispose()
    assert answers == [(f"{odd.user} in {odd.database}",)] * 3
