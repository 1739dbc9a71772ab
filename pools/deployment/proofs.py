"""Judges pools by what checks found of them: an applied one that clients can't use is failing, until they can."""

import hashlib
import logging
from collections.abc import Iterable

from django.utils import timezone
from django.utils.translation import gettext as _

from pools.deployment import live_files
from pools.models import Pool, PoolFinding, PoolState
from pools.poolers import driver

logger = logging.getLogger(__name__)


def record_findings(findings: Iterable[PoolFinding]) -> None:
    """Record each finding, except of pools that were edited or applied since it was asked for."""
    for finding in findings:
        if finding.fault:
            _set(finding.pool, PoolState.FAILING, finding.fault)
        elif finding.digest:
            _accept_password(finding.pool, finding.digest)
        elif finding.served:
            _set(finding.pool, PoolState.APPLIED, "")
        if finding.tried:
            Pool.objects.filter(pk=finding.pool.pk).update(proved_at=timezone.now())


def _accept_password(pool: Pool, digest: str) -> None:
    """Remember that the server accepts the known password; have an outdated verifier of it applied anew.

    A password that is set again at the server, even the same one, gets another salt, and a PgBouncer before 1.26 that
    has the old verifier can no longer log in (see `Driver.stored_verifier`).
    """
    Pool.objects.filter(pk=pool.pk).update(proved_digest=digest)
    kind, settled = driver(pool.pooler), live_files.settled_texts(pool.pooler)
    verifier = kind.stored_verifier(settled, pool.user) if pool.user else ""
    if verifier and hashlib.sha256(verifier.encode()).hexdigest() != digest:
        reason = _("the password of %(role)s was changed on the server") % {"role": pool.user}
        _set(pool, PoolState.PENDING, reason)


def _set(pool: Pool, state: PoolState, reason: str) -> None:
    if (pool.state, pool.state_reason) == (state, reason):
        return
    same = Pool.objects.filter(pk=pool.pk, version=pool.version, state=pool.state)
    if same.update(state=state, state_reason=reason, proved_at=None):  # the next login is due at once
        logger.warning("pool %s of pooler %s is %s: %s", pool.pk, pool.pooler_id, state, reason or "-")
