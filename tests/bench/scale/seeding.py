"""The records of a large installation, made once for a database and the same each time."""

import random
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice
from unittest import mock

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from benchmarks.models import Generator, Run, Sample, Status, Tag, Validity
from core.accounts.models import Membership, Role, Team
from core.audit.tracking import TRACKED
from pools.models import (
    Cluster,
    ClusterState,
    ClusterStatus,
    Entry,
    Event,
    EventKind,
    Pool,
    Pooler,
    PoolState,
    Revision,
    RevisionContent,
    RevisionState,
    SubjectType,
)

TEAMS, CLUSTERS, POOLERS, POOLS, RUNS, SAMPLES = 20, 1_000, 200, 10_000, 100_000, 86_400
GENERATORS, REVISIONS_EACH, EVENTS, TAGS = 50, 5, 2_000, 100
AT_A_TIME = 5_000
ADMIN, MEMBER, MARK = "admin", "member", "seeded"  # the last is the account that is made when all else is there
CREATED = uuid.UUID("a0000000-0000-4000-8000-000000000000").int
FILES = {"pooldeck.ini": "[databases]\n" + "orders = host=10.1.0.1 dbname=orders_db pool_size=5\n" * 50}
WORDS = ("orders", "billing", "search", "users", "stock", "reports", "events", "carts", "prices", "mail")


def fill_once() -> None:
    """Migrate the database, and make the records unless they are there."""
    call_command("migrate", verbosity=0)
    if not User.objects.filter(username=MARK).exists():
        _fill()
    with connection.cursor() as cursor:
        # As autovacuum does: statistics, also of indexes that a migration has just made, and the visibility map,
        # without which each index-only scan reads the rows too.
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def _fill() -> None:
    began = time.monotonic()
    with mock.patch.dict(TRACKED, clear=True), transaction.atomic():  # nobody made them, and the trail is not measured
        teams = _people()
        clusters = _clusters(teams)
        pools = _pools(_poolers(teams), clusters)
        _runs(clusters, pools)
        _events(pools)
        User.objects.create_user(MARK)
    print(f"made the records in {time.monotonic() - began:.0f} s", file=sys.stderr)


def _key(kind: int, number: int) -> uuid.UUID:
    """Return the id of the nth record of a kind: spread over the index, as random ones are."""
    return uuid.UUID(int=random.Random(f"{kind} {number}").getrandbits(128), version=4)


def _save(records: Iterable[Model]) -> None:
    left = iter(records)
    while batch := list(islice(left, AT_A_TIME)):
        type(batch[0])._default_manager.bulk_create(batch, batch_size=500)


def _people() -> list[Team]:
    User.objects.create_superuser(ADMIN)
    member = User.objects.create_user(MEMBER)
    teams = [Team(pk=_key(1, at), name=f"team-{at:02}") for at in range(TEAMS)]
    _save(teams)
    _save(Membership(team=team, user=member, role=Role.OPERATOR) for team in teams[3:5])
    _save(
        Generator(name=f"generator-{at:02}", host=f"load-{at:02}", cores=8, engines={"pgbench": "17.2"})
        for at in range(GENERATORS)
    )
    _save(Tag(pk=at + 1, name=f"{WORDS[at % 10]}-{at:02}") for at in range(TAGS))
    return teams


def _clusters(teams: list[Team]) -> list[Cluster]:
    clusters = [
        Cluster(
            pk=_key(2, at),
            name=f"{WORDS[at % 10]}-{at:04}",
            host=f"127.1.{at // 250}.{at % 250}",  # nothing listens there
            port=1,
            admin_user="postgres",
            team=teams[at % TEAMS],
            memory_mb=16_384,
            protected=at % 3 == 0,
        )
        for at in range(CLUSTERS)
    ]
    _save(clusters)
    databases = [{"name": f"{word}_db", "owner": f"{word}_owner", "size_bytes": 9_000_000} for word in WORDS]
    roles = [{"name": f"{word}_{what}", "can_login": True} for word in WORDS for what in ("app", "owner")]
    _save(
        ClusterStatus(
            cluster=cluster,
            state=ClusterState.ONLINE,
            checked_at=timezone.now(),
            in_recovery=False,
            server_version="17.2",
            server_version_num=170_002,
            max_connections=500,
            superuser_reserved_connections=3,
            reserved_connections=0,
            used_connections=40,
            databases=databases,
            roles=roles,
        )
        for cluster in clusters
    )
    return clusters


def _poolers(teams: list[Team]) -> list[Pooler]:
    poolers = [
        Pooler(
            pk=_key(3, at),
            name=f"pgbouncer-{at:03}",
            host="127.0.0.1",
            port=1,
            config_dir="/etc/pgbouncer",
            team=teams[at % TEAMS],
            state="online",
            server_version="PgBouncer 1.24.1",
            checked_at=timezone.now(),
        )
        for at in range(POOLERS)
    ]
    _save(poolers)
    revisions = [
        Revision(
            pooler=pooler,
            number=number,
            state=RevisionState.APPLIED,
            summary="1 pool changed",
            finished_at=timezone.now(),
        )
        for pooler in poolers
        for number in range(1, REVISIONS_EACH + 1)
    ]
    _save(revisions)
    _save(RevisionContent.of(revision, FILES, {}, {"pools": []}) for revision in revisions)
    return poolers


def _pools(poolers: list[Pooler], clusters: list[Cluster]) -> list[Pool]:
    """Make 50 pools of each pooler, to clusters of its team."""
    each = POOLS // POOLERS
    pools = [
        Pool(
            pk=_key(4, at * each + nth),
            name=f"{WORDS[nth % 10]}_{nth:02}",
            pooler=pooler,
            cluster=clusters[at % TEAMS + TEAMS * ((at // TEAMS * each + nth) % (CLUSTERS // TEAMS))],
            database=f"{WORDS[nth % 10]}_db",
            user=f"{WORDS[nth % 10]}_app" if nth % 4 else "",
            size=5 + nth % 10,
            state=PoolState.FAILED if nth == each - 1 else PoolState.APPLIED,
            applied_at=timezone.now(),
        )
        for at, pooler in enumerate(poolers)
        for nth in range(each)
    ]
    _save(pools)
    _save(
        Entry(
            pooler=pool.pooler,
            pool=pool,
            cluster=pool.cluster,
            name=pool.name,
            host=pool.cluster.host,
            port=5432,
            database=pool.database,
            user=pool.user,
            size=pool.size,
            seen_at=timezone.now(),
        )
        for pool in pools
    )
    _save(
        Entry(pooler=pooler, name="legacy", host="10.3.0.1", port=5432, database="legacy", seen_at=timezone.now())
        for pooler in poolers
    )
    return pools


def _runs(clusters: list[Cluster], pools: list[Pool]) -> None:
    _save(_run(at + 1, clusters, pools) for at in range(RUNS))
    _save(Run.tags.through(run_id=_key(5, at), tag_id=at % TAGS + 1) for at in range(1, RUNS + 1, 10))
    chosen = random.Random(7)
    day = _key(5, RUNS)
    _save(
        Sample(
            run_id=day,
            attempt=1,
            seq=t,
            t=float(t),
            tps=1_000 + 200 * chosen.random(),
            latency_ms=8 + 2 * chosen.random(),
            stddev_ms=1 + chosen.random(),
        )
        for t in range(1, SAMPLES + 1)
    )
    for number in range(RUNS - 60, RUNS):
        _save(
            Sample(run_id=_key(5, number), attempt=1, seq=t, t=float(t), tps=900.0 + t, latency_ms=9.0)
            for t in range(1, 61)
        )


def _run(number: int, clusters: list[Cluster], pools: list[Pool]) -> Run:
    """Return a finished run: of a pool or of a cluster's database, some of them failed or suspect."""
    pool = pools[number * 7 % POOLS] if number % 2 else None
    cluster = pool.cluster if pool else clusters[number * 3 % CLUSTERS]
    database = pool.database if pool else f"{WORDS[number % 10]}_db"
    duration = SAMPLES if number == RUNS else 60
    ended = timezone.now() - timedelta(minutes=RUNS - number)
    failed = number % 17 == 0
    return Run(
        pk=_key(5, number),
        number=number,
        name=f"nightly {WORDS[number % 10]}" if number % 5 == 0 else "",
        cluster=cluster,
        pool=pool,
        pooled=pool is not None,
        team_id=cluster.team_id,
        database=database,
        target_label=f"{pool.name} on {pool.pooler.name}" if pool else f"{cluster.name}/{database}",
        options={"clients": 10, "threads": 2, "duration": duration, "progress": 1, "builtin": "tpcb-like"},
        status=Status.FAILED if failed else Status.SUCCEEDED,
        validity="" if failed else Validity.SUSPECT if number % 13 == 0 else Validity.VALID,
        error="pgbench: error: connection to server failed" if failed else "",
        exit_code=1 if failed else 0,
        command=["pgbench", "--client=10", "--jobs=2", f"--time={duration}", "--progress=1", database],
        generator=f"generator-{number % GENERATORS:02}",
        attempt=1,
        started_at=ended - timedelta(seconds=duration),
        load_began_at=ended - timedelta(seconds=duration),
        finished_at=ended,
        summary={} if failed else {"tps": 900.0 + number % 300, "latency_avg_ms": 9.1, "transactions": 60_000},
        client_version="pgbench (PostgreSQL) 17.2",
        server_version="17.2",
    )


def _events(pools: list[Pool]) -> None:
    """Make events, the last hundred of which are still open."""
    _save(_event(at, pools[at * 5 % POOLS]) for at in range(EVENTS))


def _event(at: int, pool: Pool) -> Event:
    opened = timezone.now() - timedelta(minutes=EVENTS - at)
    return Event(
        kind=EventKind.WAITING,
        subject_type=SubjectType.POOL,
        subject_id=pool.pk,
        subject_name=pool.name,
        pooler_id=pool.pooler_id,
        value=12.0,
        message="12 clients wait",
        crossed_at=opened,
        opened_at=opened,
        closed_at=None if at >= EVENTS - 100 else opened + timedelta(minutes=3),
    )


def pools_of(poolers: Iterable[Pooler]) -> Iterator[tuple[Pooler, list[Pool]]]:
    """Yield each pooler with its pools."""
    for pooler in poolers:
        yield pooler, list(pooler.pools.order_by("name"))


def day_of_samples() -> uuid.UUID:
    """Return the id of the run with a sample for each second of a day."""
    return _key(5, RUNS)
