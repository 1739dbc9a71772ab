"""A record of each kind for the pages that need one, all named zq… so that a test knows data from texts."""

from typing import Any

from django.utils import timezone

from benchmarks.library.scripts import library
from benchmarks.models import (
    Ceiling,
    Dataset,
    ExternalEndpoint,
    Generator,
    Holder,
    Observation,
    Purpose,
    Run,
    SettingsProfile,
    Status,
)
from panel.accounts.models import ApiToken
from panel.installation.models import Installation
from pools.deployment import snapshots
from pools.models import PoolState, Revision, RevisionState
from tests.benchmarks.records import a_finished_run, a_run, look_at_pool
from tests.pools.monitoring.records import a_minute, an_event
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, checked, know_password

POOL = {"database": "zqdatabase", "user": "zqrole"}
RUN = {"target_label": "zqtarget", "database": "zqdatabase"}
FILES = {"pooldeck.ini": "[databases]\nzqpool = host='a' pool_size=3\n"}


def records(user: Any) -> dict[str, Any]:
    """Make them, and return the keys that stand in addresses, by the first word of a URL's name or by what they are."""
    cluster, pooler = a_cluster(name="zqcluster"), a_pooler(name="zqpooler", port=1)
    checked(
        cluster,
        databases=[{"name": name, "owner": "zqowner", "size_bytes": 1} for name in ("zqdatabase", "zqother")],
        roles=[
            {"name": name, "can_login": True, "superuser": name == "zqowner", "connection_limit": -1}
            for name in ("zqrole", "zqowner")
        ],
    )
    node = a_node(cluster)
    know_password(cluster, "zqrole", "secret")
    pool = a_pool(**POOL, name="zqpool", cluster=cluster, pooler=pooler)
    a_pool(**POOL, name="zqapplied", cluster=cluster, pooler=pooler, state=PoolState.APPLIED)
    a_minute(pool)
    revision = _revisions(pooler)
    run = _runs(cluster, pool)
    script = library.create(name="zqscript", text="SELECT 1;\n", description="zqscript")
    Generator.objects.create(name="zqgenerator", host="zqhost", cores=8)
    Dataset.objects.create(cluster=cluster, database="zqdatabase", scale=10)
    ApiToken.objects.issue(user, "zqtoken", ["read"])
    external = ExternalEndpoint.objects.create(name="zqexternal", host="zqhost", database="zqdatabase", user="zqrole")
    return {
        "cluster": cluster.pk,
        "pooler": pooler.pk,
        "pool": pool.pk,
        "event": an_event(pool, subject_name="zqpool", message="zqmessage").pk,
        "run": run.pk,
        "other_run": a_finished_run(**RUN, name="zqother", cluster=cluster).pk,
        "dry_run": a_run(**RUN, name="zqtried", purpose=Purpose.LOAD, status=Status.SUCCEEDED).pk,
        "pgpool": a_pooler(name="zqpgpool", kind="pgpool", port=2).pk,
        "script": script.pk,
        "profile": SettingsProfile.objects.create(name="zqprofile", values={"work_mem": "16MB"}).pk,
        "ceiling": Ceiling.objects.create(holder=Holder.STAFF, clients=100).pk,
        "external": external.pk,
        "token": user.api_tokens.get().pk,
        "node": node.pk,
        "number": revision.number,
    }


def _revisions(pooler: Any) -> Revision:
    for _ in range(2):
        revision = Revision.objects.draft(pooler, FILES, specs=snapshots.snapshot(pooler), summary="zqsummary")
        revision.finish(RevisionState.APPLIED, "")
    return revision


def _runs(cluster: Any, pool: Any) -> Run:
    a_run(**RUN, name="zqqueued", cluster=cluster)
    a_finished_run(**RUN, name="zqfailed", cluster=cluster, status=Status.FAILED, validity="", error="zqerror")
    run = a_finished_run(**RUN, name="zqrun", cluster=cluster, pool=pool)
    look_at_pool(run, 3, 1.0)
    Observation.objects.create(run=run, attempt=1, seq=20, t=1.0, kind="server", figures={"waits": {}})
    return run


def pause_the_panel() -> None:
    """Let the panel be a copy."""
    now = timezone.now()
    copy = {"home": "zqhome", "home_inode": 1, "last_start": "0" * 32, "paused_because": "zqreason", "paused_at": now}
    Installation.objects.create(**copy)
