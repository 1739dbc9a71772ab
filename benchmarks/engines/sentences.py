"""The sentences about a run that name what a program counts, and those that name what works through it; pure.

Other languages inflect these nouns by their sentence, so each sentence is a whole format for each of them. An engine
that counts something else has its own `UnitSentences`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class UnitSentences:
    """Formats about transactions or requests; the placeholders are the same in each instance."""

    per_second: "StrOrPromise"
    none_done: "StrOrPromise"
    all_failed: "StrOrPromise"
    missing: "StrOrPromise"
    failed: "StrOrPromise"
    failed_with_error: "StrOrPromise"
    skipped: "StrOrPromise"
    overloaded: "StrOrPromise"
    overloaded_and_skipped: "StrOrPromise"
    started_late: "StrOrPromise"
    ended_late: "StrOrPromise"
    stalled: "StrOrPromise"


@dataclass(frozen=True, slots=True)
class FileSentences:
    """Formats about a file that a run needs and its generator's host lacks; `usable` are others that it has."""

    missing: "StrOrPromise"
    missing_beside_others: "StrOrPromise"


MISSING_FILE = FileSentences(
    _("generator %(generator)s has no %(file)s: put it there"),
    _("generator %(generator)s has no %(file)s: use %(usable)s, or put it there"),
)
TRANSACTIONS = UnitSentences(
    per_second=_("transactions per second"),
    none_done=_("no transaction was processed"),
    all_failed=_("no transaction was processed, %(failed)s failed"),
    missing=_("%(done)s of %(expected)s transactions were done"),
    failed=_("%(failed)s of %(all)s transactions failed (%(share)s); tps counts only the others"),
    failed_with_error=_("%(failed)s of %(all)s transactions failed (%(share)s): %(error)s; tps counts only the others"),
    skipped=_("%(skipped)s transactions (%(share)s) were skipped as too late: the rate is beyond what was reached"),
    overloaded=_("overloaded: %(tps)s of %(rate)s transactions/s were reached, so latency grew with time"),
    overloaded_and_skipped=_("overloaded: %(tps)s of %(rate)s transactions/s were reached, and late ones were skipped"),
    started_late=_("overloaded: transactions started %(lag)s s late on average, so latency grew with time"),
    ended_late=_("the load lasted %(elapsed)s s instead of %(asked)s s: some transactions did not end in time"),
    stalled=_("in %(still)s of %(all)s progress intervals no transaction ended"),
)
REQUESTS = UnitSentences(
    per_second=_("requests per second"),
    none_done=_("no request was processed"),
    all_failed=_("no request was processed, %(failed)s failed"),
    missing=_("%(done)s of %(expected)s requests were done"),
    failed=_("%(failed)s of %(all)s requests failed (%(share)s); tps counts only the others"),
    failed_with_error=_("%(failed)s of %(all)s requests failed (%(share)s): %(error)s; tps counts only the others"),
    skipped=_("%(skipped)s requests (%(share)s) were skipped as too late: the rate is beyond what was reached"),
    overloaded=_("overloaded: %(tps)s of %(rate)s requests/s were reached, so latency grew with time"),
    overloaded_and_skipped=_("overloaded: %(tps)s of %(rate)s requests/s were reached, and late ones were skipped"),
    started_late=_("overloaded: requests started %(lag)s s late on average, so latency grew with time"),
    ended_late=_("the load lasted %(elapsed)s s instead of %(asked)s s: some requests did not end in time"),
    stalled=_("in %(still)s of %(all)s progress intervals no request ended"),
)


@dataclass(frozen=True, slots=True)
class WorkerSentences:
    """Formats about clients, threads or workers; the placeholders are the same in each instance."""

    only_connected: "StrOrPromise"
    aborted: "StrOrPromise"
    aborted_of_all: "StrOrPromise"
    too_busy: "StrOrPromise"
    idle: "StrOrPromise"


CLIENTS = WorkerSentences(
    only_connected=_(
        "nothing was processed: connecting took the whole %(duration)s s; use fewer clients or a longer duration"
    ),
    aborted=_("%(aborted)s clients aborted, so fewer than asked for made these figures"),
    aborted_of_all=_("%(aborted)s of %(all)s clients aborted, so fewer than asked for made these figures"),
    too_busy=_("tps × latency gives %(busy)s clients at work, more than the %(all)s there were"),
    idle=_(
        "tps × latency gives only %(busy)s of %(all)s clients at work: "
        "%(program)s itself was the bottleneck (%(remedy)s), or some clients hung"
    ),
)
THREADS = WorkerSentences(
    only_connected=_(
        "nothing was processed: connecting took the whole %(duration)s s; use fewer threads or a longer duration"
    ),
    aborted=_("%(aborted)s threads aborted, so fewer than asked for made these figures"),
    aborted_of_all=_("%(aborted)s of %(all)s threads aborted, so fewer than asked for made these figures"),
    too_busy=_("tps × latency gives %(busy)s threads at work, more than the %(all)s there were"),
    idle=_(
        "tps × latency gives only %(busy)s of %(all)s threads at work: "
        "%(program)s itself was the bottleneck (%(remedy)s), or some threads hung"
    ),
)
WORKERS = WorkerSentences(
    only_connected=_(
        "nothing was processed: connecting took the whole %(duration)s s; use fewer workers or a longer duration"
    ),
    aborted=_("%(aborted)s workers aborted, so fewer than asked for made these figures"),
    aborted_of_all=_("%(aborted)s of %(all)s workers aborted, so fewer than asked for made these figures"),
    too_busy=_("tps × latency gives %(busy)s workers at work, more than the %(all)s there were"),
    idle=_(
        "tps × latency gives only %(busy)s of %(all)s workers at work: "
        "%(program)s itself was the bottleneck (%(remedy)s), or some workers hung"
    ),
)
