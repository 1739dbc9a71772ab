"""A record of each kind for the pages that need one, all named zq… so that a test knows data from texts."""

import itertools
import re
from datetime import timedelta
from typing import Any, cast

from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from benchmarks.experiments import library as playbooks
from benchmarks.experiments.report import shared_links
from benchmarks.library.scripts import library
from benchmarks.models import (
    Ceiling,
    Dataset,
    Experiment,
    ExperimentState,
    ExternalEndpoint,
    Generator,
    Holder,
    Observation,
    Phase,
    Purpose,
    Run,
    Schedule,
    SettingsProfile,
    StartState,
    Status,
)
from core.accounts.models import FIRST_TEAM, ApiToken, Membership, Role, Team
from core.accounts.people import invitations
from core.audit.connections import RecordingConnection
from core.audit.models import Entry
from core.installation.models import Installation
from pools.approvals.arguments import encoded
from pools.deployment import snapshots
from pools.models import (
    ApprovalRequest,
    ApprovalState,
    ClusterCreation,
    CreationState,
    Host,
    HostState,
    NotificationChannel,
    PoolState,
    Revision,
    RevisionState,
    ShelfEntry,
)
from tests.benchmarks.experiments.records import a_measured_experiment, an_experiment
from tests.benchmarks.records import a_finished_run, a_run, look_at_pool
from tests.pools.monitoring.records import a_minute, an_event
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, an_entry, checked, know_password

POOL = {"database": "zqdatabase", "user": "zqrole"}
RUN = {"target_label": "zqtarget", "database": "zqdatabase"}
PLAYBOOK = "zqplaybook"
WORDS_OF_A_PLAYBOOK = re.compile(r'\b(title|summary|setup|read_critically|label|explains) = ".*?"')
FIGURES = {"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [200, 210, 195], "10-scram-pgpool": [98, 99, 97]}
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
    team = _team(user)
    external = ExternalEndpoint.objects.create(name="zqexternal", host="zqhost", database="zqdatabase", user="zqrole")
    link, address = shared_links.issue(run, user, timedelta(days=7))
    found = {
        "link": link.pk,
        "shared": address.split("/")[-2],
        "cluster": cluster.pk,
        "pooler": pooler.pk,
        "pool": pool.pk,
        "event": an_event(pool, subject_name="zqpool", message="zqmessage").pk,
        "run": run.pk,
        "other_run": a_finished_run(**RUN, name="zqother", cluster=cluster).pk,
        "dry_run": a_run(**RUN, name="zqtried", purpose=Purpose.LOAD, status=Status.SUCCEEDED).pk,
        "host": _host().pk,
        "channel": _channel().pk,
        "shelf": _shelf().pk,
        "creation": _creation().pk,
        "entry": an_entry(
            name="zqentry", pooler=a_pooler(name="zqwatched", config_dir="", port=3), cluster=cluster, **POOL
        ).pk,
        "pgpool": a_pooler(name="zqpgpool", kind="pgpool", port=2).pk,
        "pulled": a_pooler(name="zqpulled", port=4, config_dir="/zqpulled", delivery="pull").pk,
        "script": script.pk,
        "experiment": _experiments(cluster).pk,
        "profile": SettingsProfile.objects.create(name="zqprofile", values={"work_mem": "16MB"}).pk,
        "schedule": _schedule(run).pk,
        "ceiling": Ceiling.objects.create(holder=Holder.STAFF, clients=100).pk,
        "external": external.pk,
        "approval": _approval(pool).pk,
        "token": user.api_tokens.get().pk,
        "linked": SocialAccount.objects.create(user=user, provider="https://zqissuer", uid="zqsubject").pk,
        "account": user.browser_sessions.create(session_key="zqkey", browser="zqbrowser").pk,
        "passkey": 1,  # its pages ask who one is before they look for it
        "team": team.pk,
        "member": user.pk,
        "person": user.pk,
        "invitation": invitations.issue(team, Role.VIEWER, user, email="zq@zq.example")[0].pk,
        "node": node.pk,
        "number": revision.number,
    }
    cast("RecordingConnection", transaction.get_connection()).write_kept()  # the trail of all this, without a commit
    return found | {"audit": Entry.objects.filter(action="cluster.create").latest("number").number}


def _schedule(run: Run) -> Schedule:
    """Make one with a start of each kind."""
    when = {"cron": "15 2 * * *", "time_zone": "UTC", "due_at": timezone.now() + timedelta(days=1)}
    schedule = Schedule.objects.create(name="zqschedule", run=run, author=run.author, **when)
    fields = {"schedule": schedule, "claimed_at": timezone.now()}
    missed = {"state": StartState.MISSED, "reason": "zqreason", "due_times": 3}
    schedule.starts.create(**fields, **missed, due_at=timezone.now() - timedelta(days=1))
    schedule.starts.create(**fields, state=StartState.STARTED, run=run, due_at=timezone.now())
    return schedule


def _team(user: Any) -> Team:
    """Let the user own the first team, beside which there is another."""
    Team.objects.filter(pk=FIRST_TEAM).update(name="zqteam")
    Team.objects.create(name="zqfurther")
    Membership.objects.update_or_create(team_id=FIRST_TEAM, user=user, defaults={"role": Role.OWNER})
    return Team.objects.get(pk=FIRST_TEAM)


def _approval(pool: Any) -> ApprovalRequest:
    """Make a request of somebody else that waits, and a closed one."""
    user = User.objects.create_user("zqasker")
    fields = {"cluster": pool.cluster, "cluster_name": "zqcluster", "verb": "pool.remove", "operation": "pool.remove"}
    fields |= {"reason": "zqreason", "requester": user, "requester_name": "zqperson", "fingerprint": "{}"}
    closed = {"state": ApprovalState.REJECTED, "decided_by": "zqperson", "outcome": "zqoutcome"}
    ApprovalRequest.objects.create(**fields, **closed, text="zqclosed", digest="zqclosed", decided_at=timezone.now())
    later = timezone.now() + timedelta(days=1)  # accounts that are made after it may decide on it too
    times = {"created_at": later, "expires_at": later}
    waiting = ApprovalRequest(**fields, **times, text="zqwaiting", digest="zqwaiting")
    waiting.arguments = encoded({"pool": pool, "author": user})
    waiting.save()
    return waiting


def _host() -> Host:
    """Make a host that has another key than the confirmed one, and poolers of its own."""
    keys = {"public_key": "ssh-ed25519 AAAA", "host_key": "ssh-ed25519 AAAA", "offered_host_key": "ssh-rsa BBBB"}
    process = {"pid": 7, "user": "zqaccount", "main_file": "/zqfolder/pgbouncer.ini"}
    found = {"kind": "pgbouncer", "main_file": process["main_file"], "ports": [6432], "processes": [process]}
    found |= {"addresses": ["127.0.0.1"]}
    found |= {"socket_folders": ["/zqsocket"], "version": "zqversion", "unit": "zqunit.service"}
    programs = {"zqprogram": {"path": "/zqpath", "version": "zqversion"}}
    fields = {"error": "zqerror", "state": HostState.UNREACHABLE, "programs": programs, "found": [found], **keys}
    host = Host.objects.create(name="zqhost", address="zqaddress", user="zqaccount", **fields)
    Host.objects.create(name="zqinner", address="zqaddress", user="zqaccount", jump=host)
    return host


def _channel() -> NotificationChannel:
    """Make one whose service is on this machine, where nothing listens."""
    channel = NotificationChannel(name="zqchannel", service="ntfy", quiet_from="22:00", quiet_until="07:00")
    channel.url = "ntfys://127.0.0.1:1/zqtopic"
    channel.save()
    return channel


def _shelf() -> ShelfEntry:
    """Make a free entry and a claimed one."""
    for name, claimed_at in (("zqclaimed", timezone.now()), ("zqfree", None)):
        fields = {"name": name, "size": "zqsize", "region": "zqregion", "drop_on_return": True}
        entry = ShelfEntry.objects.create(cluster=a_cluster(name=name), claimed_at=claimed_at, **fields)
    return entry


def _creation() -> ClusterCreation:
    """Make a creation in progress and a failed one."""
    failed = {"state": CreationState.FAILED, "reason": "zqreason", "removal_requested_at": timezone.now()}
    for name, fields in (("zqcreating", {}), ("zqunmade", failed)):
        creation = ClusterCreation.objects.create(name=name, size="zqsize", region="zqregion", **fields)
    return creation


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


def _experiments(cluster: Any) -> Experiment:
    """Make a playbook whose words are all data, an experiment of it that has ended, and one that goes on."""
    numbers = itertools.count(1)
    text = playbooks.find("reconnect").text.replace('name = "reconnect"', f'name = "{PLAYBOOK}"', 1)
    playbooks.add(WORDS_OF_A_PLAYBOOK.sub(lambda found: f'{found[1]} = "zq{next(numbers)}"', text), is_admin=True)
    one = {"cluster": cluster, "playbook": PLAYBOOK}
    a_measured_experiment(FIGURES, **one)
    an_experiment(**one, state=ExperimentState.RUNNING, phase=Phase.MEASURE)
    return a_measured_experiment(FIGURES, **one, reasons=["zqreason"], notes=["zqnote"])


def pause_the_panel() -> None:
    """Let the panel be a copy."""
    now = timezone.now()
    copy = {"home": "zqhome", "home_inode": 1, "last_start": "0" * 32, "paused_because": "zqreason", "paused_at": now}
    Installation.objects.create(**copy)
