"""What a login cost in a run that made one for each transaction (-C), and what would lessen it; pure.

Processor time is what the looks saw, shared out over the run's transactions: it holds the transaction's own work, which
is little beside a login by SCRAM.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pools.advice import login_cost as login_advice


@dataclass(frozen=True)
class Part:
    """Where the time of a login goes; `ms` of one processor, or of the clock."""

    label: str
    ms: float
    where: str


@dataclass(frozen=True)
class LoginCost:
    """The parts, and in sentences what would lessen them with the price of each."""

    logins_per_s: float
    parts: list[Part]
    remedies: list[str]


def of_run(
    options: Mapping[str, Any],
    summary: Mapping[str, Any],
    observed: Mapping[str, Any],
    *,
    cores: int,
    pooler: str = "",
    version: tuple[int, ...] = (),
) -> LoginCost | None:
    """None of a run that kept its connections, or has no figures. `pooler`: its name where it went through one."""
    tps = summary.get("tps_including_connections") or summary.get("tps")
    if not options.get("connect") or not tps:
        return None
    parts = list(_parts(float(tps), summary, observed, cores, pooler))
    return LoginCost(
        float(tps), parts, list(login_advice.remedies({part.label: part.ms for part in parts}, pooler, version))
    )


def _parts(
    tps: float, summary: Mapping[str, Any], observed: Mapping[str, Any], cores: int, pooler: str
) -> Iterator[Part]:
    def each(percent_of_a_core: float) -> float:
        return 10 * percent_of_a_core / tps

    if connecting := summary.get("average_connection_ms"):
        yield Part("Until logged in", float(connecting), "on the clock, as the load program measured it")
    client, pooled = observed.get("cpu_percent"), observed.get("pooler_cpu_percent")
    if client is not None:
        yield Part("Client", each(client), "processor: hashing the password, TLS where it is on")
    if pooled is not None:
        yield Part("Pooler", each(pooled), f"processor of {pooler or 'PgBouncer'}: one thread serves everybody")
    if observed.get("server_here") and observed.get("host_cpu_percent") is not None:
        rest = observed["host_cpu_percent"] * cores - (client or 0.0) - (pooled or 0.0)
        yield Part("Server", each(max(0.0, rest)), "processor of all else here: a fork, a login, the transaction")
