"""Insights into a server with as many sessions as this machine holds, up to two thousand: right, and no dearer."""

import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.test import Client
from django.urls import reverse

from panel.quickstart.servers import PostgresServer, free_port
from pools.clusters import activity, health_check
from pools.clusters.activity import PROCESSES_MEASURED, Insights
from pools.models import Cluster
from tests.callers import person, queries_of
from tests.live.conftest import FAST
from tests.live.standbys import registered, until
from tests.pages import page_of

pytestmark = pytest.mark.django_db(transaction=True)

MEMINFO = Path("/proc/meminfo")
MOST = 2_000
EACH_KB = 6_000  # of memory, a session that idles
SPARE_FILES = 500
DATABASES, APPLICATIONS = 4, 50
PAGE_WITHIN_S = 20.0  # on two cores that others use too; most of it is the kernel's walk through page tables
PAGE_AT_MOST = 200_000  # characters


def crowd_size() -> int:
    """How many sessions memory and files allow for; a hundred is no crowd."""
    available_kb = next(int(line.split()[1]) for line in MEMINFO.read_text().splitlines() if "MemAvailable" in line)
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    size = min(MOST, available_kb // 2 // EACH_KB, most_files - SPARE_FILES)
    return size if size >= 100 else pytest.skip(f"this machine holds {size} sessions: that is no crowd")


@pytest.fixture(scope="module")
def size() -> Iterator[int]:
    """The number of sessions, with files enough for as many."""
    size, (soft, hard) = crowd_size(), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, size + SPARE_FILES), hard))
    yield size
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def server(size: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A server that lets so many in, to one of several databases."""
    settings = FAST | {"max_connections": str(size + 20)}
    with PostgresServer(tmp_path_factory.mktemp("crowd"), free_port(), password="s", settings=settings) as server:
        with server.connect() as session:
            session.execute("SET password_encryption = 'md5'")  # each SCRAM login costs both sides 4,096 hashes
            session.execute("ALTER SYSTEM SET password_encryption = 'md5'")
        for number in range(DATABASES):
            server.create_owner_and_database(f"app{number}", "app-secret", f"shop{number}")
        yield server


@pytest.fixture
def cluster(server: PostgresServer) -> Cluster:
    """Registered and checked."""
    cluster = registered(server)
    health_check.check_cluster(cluster)
    return cluster


@pytest.fixture
def sessions(server: PostgresServer, size: int) -> Iterator[list[psycopg.Connection]]:
    """All of them, idle."""
    opened = []
    for number in range(size):
        of, application = number % DATABASES, f"worker-{number % APPLICATIONS:02}"
        login = {"dbname": f"shop{of}", "user": f"app{of}", "password": "app-secret", "application_name": application}
        opened.append(psycopg.connect(host=server.host, port=server.port, connect_timeout=30, **login))
    yield opened
    for session in opened:
        session.close()


@pytest.fixture
def staff(client: Client) -> Client:
    """A browser in which staff is logged in."""
    client.force_login(person())
    return client


def seen(cluster: Cluster, connections: int) -> Insights:
    """A look, once the server counts this many."""
    return until(lambda: (found := activity.of_cluster(cluster)).connections == connections and found)


@pytest.mark.slow
def test_a_crowd_is_counted_whole_and_costs_the_panel_no_more(
    cluster: Cluster, sessions: list[psycopg.Connection], size: int, staff: Client
) -> None:
    url = reverse("cluster-insights", args=[cluster.pk])
    found = seen(cluster, size)
    assert {total.state: total.connections for total in found.states} == {"idle": size}
    assert sum(bar.connections for bar in found.by_database) == size
    assert [bar.connections for bar in found.by_role] == [len(range(of, size, DATABASES)) for of in range(DATABASES)]
    *_, rest = found.by_application
    assert rest.others == APPLICATIONS - activity.NAMES_SHOWN
    assert sum(bar.connections for bar in found.by_application) == size
    assert found.idle.connections == size
    assert found.idle.measured
    assert found.idle.measured.processes == PROCESSES_MEASURED
    began = time.monotonic()
    page = page_of(staff.get(url))
    took_s = time.monotonic() - began
    print(f"{size} sessions: the page took {took_s:.2f} s and has {len(page)} characters")
    assert re.search(rf">{size:,}<|>{size}<", page)
    assert took_s < PAGE_WITHIN_S
    assert len(page) < PAGE_AT_MOST
    crowded = queries_of(staff, url)
    for session in sessions[1:]:
        session.close()
    seen(cluster, 1)
    assert queries_of(staff, url) == crowded
