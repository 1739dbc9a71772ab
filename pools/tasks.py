"""Celery tasks of pools: applies and periodic checks."""

import logging
from uuid import UUID

from celery import Task, shared_task
from django.contrib.auth.models import User

from core.audit import retention
from core.audit.stream import sending
from core.installation.outages import DATABASE_AWAY
from pools import deployment, task_queue
from pools.clusters import health_check
from pools.config_files import folder_owner
from pools.console import commands
from pools.deployment import drift, proofs, retries, take_overs
from pools.hosts import ssh_client
from pools.inventory import hosts, poolers
from pools.models import Pooler, PoolerState, TakeOver
from pools.monitoring import (
    approval_notices,
    notifications,
    pool_checks,
    pool_logins,
    recorder,
    redis_store,
    refused_logins,
)
from pools.provisioning import cluster_commands

log = logging.getLogger(__name__)

# beat's periods: a message that no worker took by then expires, and beat sends it again
NEXT_APPLY_S = 5
NEXT_CHECK_S = 30
PROOFS_S = 300  # the longest round of them
HOSTS_S = 300
LOGS_S = 300  # the longest round of reading them
OVERWRITE_TRIES = 300  # one per second: the longest apply ends within that time


@shared_task
def apply_pooler(pooler_id: str, user_id: int | None = None) -> None:
    """Take a pooler over or let it go where that was asked for, and apply its desired state in the user's name."""
    if pooler := Pooler.objects.filter(pk=UUID(pooler_id)).first():
        _carry_on(pooler)
        deployment.apply_pooler(pooler, _user(user_id))


@shared_task(bind=True, autoretry_for=(deployment.Busy,), default_retry_delay=1, max_retries=OVERWRITE_TRIES)
def overwrite_drift(self: Task, pooler_id: str, user_id: int | None = None) -> None:  # type: ignore[type-arg]
    """Apply the desired state of a pooler over manual edits of its files.

    Retries while another apply runs: without that, an overwrite right after an apply had no effect.
    """
    if pooler := Pooler.objects.filter(pk=UUID(pooler_id)).first():
        deployment.apply_pooler(pooler, _user(user_id), overwrite=True)


@shared_task
def apply_what_waits() -> None:
    """Apply poolers that have unsettled pools (a task got lost, or a pooler was down), each by its folder owner."""
    for pooler in retries.poolers_to_retry():
        if task_queue.is_ours(pooler):
            retries.retry_if_changed(pooler)
        else:
            retry_refused.apply_async((str(pooler.pk),), expires=NEXT_APPLY_S)
    for pooler in [*Pooler.objects.filter(take_overs__in=TakeOver.objects.waiting()), *deployment.waiting_poolers()]:
        if task_queue.is_ours(pooler):
            _carry_on(pooler)
            deployment.apply_pooler(pooler)
        else:
            apply_pooler.apply_async((str(pooler.pk),), expires=NEXT_APPLY_S)
            folder_owner.report_missing_workers(pooler)


@shared_task
def retry_refused(pooler_id: str) -> None:
    """Apply what was refused on a pooler if what surrounded the refusal has changed."""
    if pooler := Pooler.objects.filter(pk=UUID(pooler_id)).first():
        retries.retry_if_changed(pooler)
        if pooler in deployment.waiting_poolers():
            deployment.apply_pooler(pooler)


@shared_task
def catch_up() -> None:
    """Reload processes of poolers that were too busy to reload during an apply."""
    deployment.catch_up_all()


@shared_task
def check_everything() -> None:
    """Check every cluster and every pooler, and whether clients can use the pools."""
    health_check.check_all()
    proofs.record_findings(pool_checks.compare())
    poolers.check_all()


@shared_task
def check_hosts() -> None:
    """Check again the hosts that could not be reached by SSH; remove the keys that killed workers left here."""
    ssh_client.remove_left_folders()
    with redis_store.exclusive("hosts", HOSTS_S) as is_mine:
        if is_mine:
            hosts.check_again()


@shared_task
def prove_pools() -> None:
    """Check again what did not answer or has failing pools, and log in through the pools that are due."""
    with redis_store.exclusive("proofs", PROOFS_S) as is_mine:
        if is_mine:
            poolers.check_all(Pooler.objects.filter(state=PoolerState.UNREACHABLE))
            proofs.record_findings(pool_checks.compare(pool_checks.recheck_troubled()))
            proofs.record_findings(pool_logins.log_in())


@shared_task
def check_drift() -> None:
    """Check every pooler for drift, each by its folder owner.

    Separate from the other checks, which dead servers delay.
    """
    for pooler in drift.comparable():
        is_ours = task_queue.is_ours(pooler)
        if not is_ours:
            check_pooler.apply_async((str(pooler.pk),), expires=NEXT_CHECK_S)
        if is_ours or folder_owner.of(pooler).is_silent:  # any worker can query its console
            _check_or_log(pooler)


def _check_or_log(pooler: Pooler) -> None:
    """Check a pooler for drift; what the panel did not foresee there keeps no other pooler from being checked."""
    try:
        drift.check(pooler)
    except DATABASE_AWAY:
        raise  # that is no fault of this pooler, and the others can't be checked either
    except Exception:
        log.exception("pooler %s was not checked for drift", pooler.pk)


@shared_task
def check_pooler(pooler_id: str) -> None:
    """Check one pooler for drift."""
    if pooler := Pooler.objects.filter(pk=UUID(pooler_id)).first():
        drift.check(pooler)


@shared_task
def count_refused_logins() -> None:
    """Read what the log of every pooler gained, each by its folder owner."""
    with redis_store.exclusive("logs", LOGS_S) as is_mine:
        for pooler in refused_logins.readable() if is_mine else ():
            if task_queue.is_ours(pooler):
                refused_logins.count(pooler)
            else:
                count_logins_of.apply_async((str(pooler.pk),), expires=refused_logins.EVERY_S)


@shared_task
def count_logins_of(pooler_id: str) -> None:
    """Read what the log of one pooler gained."""
    if pooler := Pooler.objects.filter(pk=UUID(pooler_id)).first():
        refused_logins.count(pooler)


@shared_task
def resume_paused_pools() -> None:
    """Resume pools whose pause is over, those that a dead process paused included."""
    commands.resume_due()


@shared_task
def run_cluster_commands() -> None:
    """Run the operator's commands that are due, which create and delete clusters."""
    cluster_commands.run_due()


def _carry_on(pooler: Pooler) -> None:
    """Take a pooler over, or let it go, where somebody asked for that."""
    take_overs.resume(pooler)
    pooler.refresh_from_db()


def _user(user_id: int | None) -> User | None:
    """Return None for beat, and for a user who has been deleted."""
    return User.objects.filter(pk=user_id).first() if user_id is not None else None


@shared_task
def record_figures() -> None:
    """Poll every console, store the figures of pools, and open or close events."""
    recorder.record()


@shared_task
def send_notifications() -> None:
    """Send notifications that are due, to every configured channel."""
    notifications.send_due()
    approval_notices.send_due()


@shared_task
def send_audit_trail() -> None:
    """Send what is new in the audit trail to syslog and the webhook that are configured for it."""
    sending.send_due()


@shared_task
def prune_audit_trail() -> None:
    """Remove the entries of the audit trail that are older than their retention."""
    retention.prune()
