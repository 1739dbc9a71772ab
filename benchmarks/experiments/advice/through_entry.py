"""The size of an entry that is not managed here, measured through it with a login that somebody gave.

Nobody changes its line, so as many clients as a size has connections keep as many connections busy (up to its own size,
in any mode): to the server that is the load of a pool of that size whose clients always wait.
"""

from django.utils.translation import gettext as _

from benchmarks.experiments.advice import grid
from benchmarks.experiments.advice.grid import Grid
from benchmarks.experiments.start import InvalidExperiment
from benchmarks.library.scripts import privileges
from benchmarks.models import ExternalEndpoint
from benchmarks.models.advice import AdviceRecord, ExistingTables, RecommendedSize
from benchmarks.targets import resolve
from pools.models import Cluster, Entry
from pools.poolers import driver


def check(entry: Entry) -> Cluster:
    """Return the cluster that it leads to; raise `InvalidExperiment` where its size can't be measured."""
    if not driver(entry.pooler).sizes_each_pool or not entry.database:
        raise InvalidExperiment({"entry": [_("sizes are measured through an entry of a PgBouncer with one database")]})
    if entry.cluster is None:
        raise InvalidExperiment({"entry": [_("its server is not registered as a cluster: register it first")]})
    if entry.size is None:
        message = _("the size of entry %(entry)s is not known: check pooler %(pooler)s, which reads it")
        raise InvalidExperiment({"entry": [message % {"entry": entry, "pooler": entry.pooler}]})
    return entry.cluster


def swept(entry: Entry, candidates: tuple[int, ...], most: int, clients: int, minutes: int) -> Grid:
    """Return at most `most` sizes to measure; the largest is the number that one login can keep busy.

    Raises `InvalidExperiment` where there are fewer than two.
    """
    own = min(clients, most_busy(entry))
    sizes = sorted({*(size for size in candidates if size < own), own})
    if own < 2:
        message = _("entry %(entry)s has size %(size)s for each login, so there are no sizes to compare below it")
        raise InvalidExperiment({"entry": [message % {"entry": entry, "size": entry.size}]})
    while len(sizes) > most:
        sizes = sizes[:1] + sizes[1:-1][::2] + sizes[-1:]
    return grid.fitted_in_one_row(sizes, clients, minutes)


def most_busy(entry: Entry) -> int:
    """Return the number of connections through an entry that one login can keep busy."""
    return (entry.size or 0) * entry.pooler.process_count


def login_of(endpoint: ExternalEndpoint) -> ExistingTables:
    """Return database and role that the load reaches. Raises `Refused`, `ClusterUnreachable` as for a run's scripts."""
    privileges.refuse_reaching(resolve.of_external(endpoint))
    return {"database": endpoint.cluster_database, "user": endpoint.user}


def as_json(entry: Entry, endpoint: ExternalEndpoint) -> AdviceRecord:
    """Return the facts that the sweep stores with its request."""
    return {"entry": str(entry.pk), "external": str(endpoint.pk), "most": most_busy(entry)}


def unseen(advice: AdviceRecord) -> list[str]:
    """Return sentences on the effects that such a sweep can't show."""
    text = _(
        "Sizes above the entry's own: its line stays as it is, so each size was measured by as many clients, which "
        "keep as many connections busy, up to %(most)s. Clients that wait for a connection were not measured."
    )
    return [text % {"most": advice["most"]}]


def remedy(recommended: RecommendedSize) -> str:
    """Return a sentence on how to apply the recommended size."""
    text = _("The panel does not write this entry: put pool_size=%(size)s into its line, or take the pooler over.")
    return text % {"size": recommended["size"]}
