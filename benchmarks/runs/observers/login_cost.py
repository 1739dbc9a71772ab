"""Cost of a login in a run that made one for each transaction (-C), and remedies; pure.

Processor time comes from the observations, divided by the run's transactions. It includes the transaction's own work,
which is small beside a login by SCRAM.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks.models.conditions import ObservedSummary
from benchmarks.models.summaries import Summary
from pools.advice import login_cost as login_advice
from pools.models import Pooler


@dataclass(frozen=True)
class Part:
    """A part of a login's time: `ms` of one processor or of the clock, as `where` says."""

    key: str
    label: str
    ms: float
    where: str


@dataclass(frozen=True)
class LoginCost:
    """The parts of a login's cost, and remedies as sentences, each with its price."""

    logins_per_s: float
    parts: list[Part]
    remedies: list[str]


def of_run(
    options: Mapping[str, object],
    summary: Summary,
    observed: ObservedSummary,
    *,
    cores: int,
    pooler: Pooler | None = None,
) -> LoginCost | None:
    """Return the login cost of a run; None where it kept its connections or has no figures.

    `cores` are those of the generator's host; `pooler` is the one that the run went through, if any.
    """
    tps = summary.get("tps_including_connections") or summary.get("tps")
    if not options.get("connect") or not tps:
        return None
    parts = list(_parts(float(tps), summary, observed, cores, pooler))
    return LoginCost(float(tps), parts, list(login_advice.remedies({part.key: part.ms for part in parts}, pooler)))


def _parts(
    tps: float, summary: Summary, observed: ObservedSummary, cores: int, pooler: Pooler | None
) -> Iterator[Part]:
    def each(percent_of_a_core: float) -> float:
        return 10 * percent_of_a_core / tps

    if connecting := summary.get("average_connection_ms"):
        yield Part("Login", _("Until logged in"), float(connecting), _("on the clock, as the load program measured it"))
    client, pooled = observed.get("cpu_percent"), observed.get("pooler_cpu_percent")
    if client is not None:
        yield Part("Client", _("Client"), each(client), _("processor: hashing the password, TLS where it is on"))
    if pooled is not None:
        where = _("processor of %(pooler)s: one thread serves everybody")
        named = pooler.get_kind_display() if pooler else _("the pooler")
        yield Part("Pooler", _("Pooler"), each(pooled), where % {"pooler": named})
    if observed.get("server_here") and observed.get("host_cpu_percent") is not None:
        others_percent = observed["host_cpu_percent"] * cores - (client or 0.0) - (pooled or 0.0)
        text = _("processor of all other processes here: a fork, a login, the transaction")
        yield Part("Server", _("Server"), each(max(0.0, others_percent)), text)
