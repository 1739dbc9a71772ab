"""Offers of files that somebody else fetches: a revision stays pending until the pooler is seen to run on its files.

The panel sends no RELOAD by itself: only who wrote the files knows that all of them are in place, and on some platforms
the program is restarted instead. So an offer is checked after its files were fetched, at each beat: SHOW DATABASES,
CONFIG and USERS as the files say, and a login through each changed pool. What differs is no fault, as it may not have
been reloaded yet; only a login that fails for longer than `PATIENCE`, while the console shows the pool, is one.
"""

from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from pools.deployment.attempt import Attempt, refuse, set_reason
from pools.errors import ApplyFailed
from pools.models import Pooler, Revision, RevisionState
from pools.poolers.faults import Rejected

PATIENCE = timedelta(minutes=3)  # the longest wait for the new configuration after the fetch


def path_of(pooler: Pooler) -> str:
    """Return the path of the API at which a host fetches the files."""
    return f"/api/v1/poolers/{pooler.pk}/files/"


def make(attempt: Attempt) -> None:
    """Offer the files of an attempt from now on."""
    attempt.step("offered", path_of(attempt.pooler))
    attempt.revision.offer()
    _set_pending_reason(attempt)


def withdraw(offer: Revision) -> None:
    """End an offer that other files replace before the pooler was seen to run on it."""
    offer.finish(RevisionState.FAILED, _("other files were asked for before the pooler showed these"))


def check(attempt: Attempt) -> None:
    """Mark the offer as applied where the pooler runs on its files; else write down why it is still pending."""
    session, draft = attempt.session, attempt.draft
    if attempt.revision.fetched_at is None:
        _set_pending_reason(attempt)
        return
    try:
        session.read_back(draft.files)
    except ApplyFailed as fault:
        _set_pending_reason(attempt, str(fault))
        return
    attempt.step("read back", _("the pooler reports the settings of the files"))
    try:
        session.log_in(draft, attempt)
        restarts = session.restarts_needed()
    except ApplyFailed as fault:
        if isinstance(fault, Rejected) and fault.pools and timezone.now() - attempt.revision.fetched_at > PATIENCE:
            refuse(attempt.revision, fault, attempt.wanted)
        else:
            _set_pending_reason(attempt, str(fault))
        return
    attempt.settle(restarts)


def _set_pending_reason(attempt: Attempt, difference: str = "") -> None:
    """Write the reason why everything is pending, and how it goes on."""
    revision, fetched_at = attempt.revision, attempt.revision.fetched_at
    params = {"number": revision.number, "path": path_of(attempt.pooler), "difference": difference}
    if fetched_at is None:
        text = _("the host of the pooler fetches its files: revision %(number)s was not fetched yet from %(path)s")
    else:
        params["at"] = timezone.localtime(fetched_at).strftime("%H:%M:%S")
        text = _(
            "revision %(number)s was fetched at %(at)s and is not seen in the pooler yet, which has to be reloaded: "
            "%(difference)s"
        )
    set_reason(attempt.pooler, text % params)
