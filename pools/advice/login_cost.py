"""What a login to a pool costs and where the time goes, measured by a few logins, and what would reduce it."""

import socket
import ssl
import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from django.utils.translation import gettext as _

from pools.clusters import connect, endpoints
from pools.clusters.endpoints import Endpoint
from pools.config_files import deliveries
from pools.errors import ClusterUnreachable, PoolerUnreachable
from pools.models import Entry, Pool, Pooler, Revision
from pools.poolers import driver, local_process

LOGINS, HANDSHAKES = 20, 5
ANSWER_WITHIN_S = 5
EXPENSIVE_MS = 1.0  # a login with more processor time hashed a password, and did not only compare it
SSL_REQUEST = struct.pack("!ii", 8, 80877103)  # PostgreSQL's manual, "Message Formats"


@dataclass(frozen=True)
class Login:
    """One login route's cost in milliseconds, medians of `LOGINS`; `cpu` is processor time, the rest wall-clock.

    `tls_ms` is the handshake by itself (None: no TLS), `pooler_cpu_ms` None where no pooler's process is seen here.
    """

    route: str
    total_ms: float
    client_cpu_ms: float
    pooler_cpu_ms: float | None = None
    tls_ms: float | None = None

    @property
    def rest_ms(self) -> float:
        """The server's fork and authentication, and the network."""
        return max(0.0, self.total_ms - self.client_cpu_ms - (self.pooler_cpu_ms or 0.0))


def client_auth_note(pool: Pool) -> str:
    """Return a sentence on how the pooler authenticates the pool's clients by its live files; empty where unknown."""
    last = Revision.objects.live_on(pool.pooler)
    if last is None:
        return ""
    notes = [str(step.get("detail", "")) for step in last.steps]
    return driver(pool.pooler).client_auth_note(pool, last.files, notes)


def remedies_of(pooler: Pooler, login: Login, *, is_managed: bool = True) -> list[str]:
    """Return the remedies against the cost of such a login through the pooler, a sentence each; see `remedies`."""
    spent = {"Client": login.client_cpu_ms, "Pooler": login.pooler_cpu_ms or 0.0, "TLS": login.tls_ms or 0.0}
    return list(remedies(spent, pooler, is_managed=is_managed))


def measure(pool: Pool) -> list[Login]:
    """Log in through the pool and to its cluster as the same role.

    Raises `ClusterUnreachable`, and `PoolerUnreachable` for a pooler that only its own host reaches.
    """
    _refuse_tunneled(pool.pooler)
    through = endpoints.for_panel(pool)
    direct = endpoints.as_role(
        endpoints.of_cluster(pool.cluster, pool.database), pool.cluster, through.user, through.password
    )
    return [_measured(_("through the pool"), through, _pids(pool.pooler)), _measured(_("directly"), direct, ())]


def measure_entry(entry: Entry, user: str, password: str, database: str = "") -> tuple[list[Login], str]:
    """Log in through an entry with a login that somebody gave, and to its cluster by the same one.

    Return also why there is no figure of the cluster; empty where there is one. `database` is what clients name where
    the entry leads to any database. Raises what `measure` raises.
    """
    _refuse_tunneled(entry.pooler)
    through = endpoints.for_run(entry, user, password, database)
    logins = [_measured(_("through the entry"), through, _pids(entry.pooler))]
    if entry.cluster is None:
        return logins, _("its server is not registered as a cluster, so a login to it can't be measured beside this")
    direct = endpoints.of_cluster(entry.cluster, entry.database or database)
    try:
        logins.append(_measured(_("directly"), endpoints.with_login(direct, user, password), ()))
    except ClusterUnreachable as error:
        return logins, _("the same login does not work on the server itself: %(error)s") % {"error": error}
    return logins, ""


def _refuse_tunneled(pooler: Pooler) -> None:
    """Raise `PoolerUnreachable` where a login would be measured with the SSH tunnel before it.

    The pooler's address is one of its own host; on the panel's machine another program may listen there.
    """
    if deliveries.of(pooler).is_tunneled(pooler):
        text = _(
            "%(pooler)s listens on its own host alone, and through SSH a login takes longer than that of a client: run "
            "a load with a new connection for each transaction from that host, which shows what connecting takes"
        )
        raise PoolerUnreachable(text % {"pooler": pooler})


def _pids(pooler: Pooler) -> tuple[int, ...]:
    program = driver(pooler).one_core_program
    return tuple(local_process.pids(pooler, program)) if program else ()


def _measured(route: str, endpoint: Endpoint, pids: tuple[int, ...]) -> Login:
    address, has_tls = _log_in(endpoint)  # the pool's first login may wait for a new server connection
    seconds = list(zip(*(_timed(endpoint, pids) for _ in range(LOGINS)), strict=True))
    tls_s = _handshake_s(address, endpoint.port) if has_tls and address else None
    parts = [*map(_median, seconds), tls_s]
    return Login(route, *(None if one is None else round(one * 1000, 3) for one in parts))  # type: ignore[arg-type]


def _timed(endpoint: Endpoint, pids: tuple[int, ...]) -> tuple[float, float, float | None]:
    """Return the seconds of one login: wall-clock, and processor time of this thread and of the pooler.

    All come from one login, so that a median of the clock stays above a median of a part: a mean of the parts, which
    one slow login pulls up, does not.
    """
    before_s, clock, cpu = _cpu_s(pids), time.perf_counter(), time.thread_time()
    _log_in(endpoint)
    cpu, clock = time.thread_time() - cpu, time.perf_counter() - clock
    after_s = _cpu_s(pids)
    return clock, cpu, None if before_s is None or after_s is None else after_s - before_s


def _median(seconds: Iterable[float | None]) -> float | None:
    """Return the median, None where one value is unknown."""
    known = list(seconds)
    return None if None in known else median(one for one in known if one is not None)


def _log_in(endpoint: Endpoint) -> tuple[str, bool]:
    """Return the server's address (empty for a socket), and whether TLS was used."""
    name = "pooldeck-login-cost"
    with connect.connect_endpoint(endpoint, application_name=name, connect_timeout=ANSWER_WITHIN_S) as connection:
        return ("" if endpoint.is_socket else connection.info.hostaddr), connection.pgconn.ssl_in_use


def _cpu_s(pids: tuple[int, ...]) -> float | None:
    """Return the processor time (s) of these single-threaded processes so far, finer than a tick; None without any."""
    spent = []
    for pid in pids:
        with suppress(OSError, ValueError):
            spent.append(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9)
    return sum(spent) if spent else None


def _handshake_s(address: str, port: int) -> float | None:
    """Return the median time of a TLS handshake alone, None where it is refused; nothing is sent over it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    took = []
    with suppress(OSError):
        for _ in range(HANDSHAKES):
            with socket.create_connection((address, port), ANSWER_WITHIN_S) as plain:
                plain.sendall(SSL_REQUEST)
                if plain.recv(1) != b"S":
                    return None
                began = time.perf_counter()
                context.wrap_socket(plain).close()
                took.append(time.perf_counter() - began)
    return median(took) if took else None


def remedies(spent_ms: Mapping[str, float], pooler: Pooler | None, *, is_managed: bool = True) -> Iterator[str]:
    """Yield the remedies against the cost of a login, a sentence each with its price.

    `spent_ms`: of "Client" and "Pooler" in processor time, of "TLS" on the clock; `is_managed`: whether the login is to
    a pool of the panel, which can be applied again.
    """
    yield _("Keep connections open in the application's pool: no login at all. It costs the memory of idle sessions.")
    if pooler is None:
        yield _("Log in to a pooler: it saves the server the fork, at the cost of another process to run.")
    elif spent_ms.get("Pooler", 0.0) > EXPENSIVE_MS:
        remedy = driver(pooler).login_remedy(pooler.server_version, is_managed=is_managed)
        yield from [remedy] if remedy else []
    if spent_ms.get("Client", 0.0) > EXPENSIVE_MS:
        yield _(
            "Lower scram_iterations (PostgreSQL 16 and later) and set the password again: the client hashes less, and "
            "a stolen verifier is easier to guess from."
        )
    if spent_ms.get("TLS", 0.0) > EXPENSIVE_MS:
        yield _(
            "Give the pooler a certificate with an ECDSA key instead of RSA: the handshake takes less of its thread. "
            "Very old clients do not support ECDSA."
        )
