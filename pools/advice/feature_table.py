"""What each kind of pooler can and cannot do, for the releases at hand: help to choose one.

The rows are those of a published comparison of the two; tests/live/pools/advice/test_feature_table.py shows each true.
"""

from dataclasses import dataclass

from pools.models import Pooler, PoolerKind
from pools.poolers import KINDS
from pools.poolers.settings_schema import NO_VERSION, Version

Words = tuple[tuple[Version, str], ...]  # from which release on, what is true; the last that fits counts


@dataclass(frozen=True)
class Feature:
    """One row; `better` names the kind that does more here, empty where both do alike or it is a matter of taste."""

    key: str
    question: str
    pgbouncer: Words
    pgpool: Words
    better: str = ""


@dataclass(frozen=True)
class Row:
    """A feature in the words of two releases."""

    key: str
    question: str
    pgbouncer: str
    pgpool: str
    better: str


def _always(words: str, *later: tuple[Version, str]) -> Words:
    return ((NO_VERSION, words), *later)


FEATURES = (
    Feature(
        "resources",
        "What does it use?",
        _always("one process with one thread, some kB for each client"),
        _always(
            "a process for each client at once (num_init_children), all forked at the start",
            ((4, 4), "a process for each client at once (num_init_children); spare ones come and go in dynamic mode"),
        ),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "reuse",
        "Who gets a server connection next?",
        _always("any client of the same pool, user and database"),
        _always("the next client of the same child with the same user and database"),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "modes",
        "Which modes?",
        _always(
            "session, transaction, statement; the protocol's prepared statements in session mode only",
            (
                (1, 21),
                "session, transaction, statement; the protocol's prepared statements in all (max_prepared_statements)",
            ),
        ),
        _always("session only"),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "availability",
        "Does it see a failover through?",
        _always("no: a database has one address, which has to be moved"),
        _always("yes: health checks, failover command, and a watchdog between several of them"),
        PoolerKind.PGPOOL,
    ),
    Feature(
        "balancing",
        "Does it spread reads?",
        _always(
            "no: put HAProxy behind it, or make a pool of the standbys",
            ((1, 24), "over the hosts of one entry, reads and writes alike: make a pool of the standbys"),
        ),
        _always("yes: reads go to the standbys by weight, writes to the primary"),
        PoolerKind.PGPOOL,
    ),
    Feature(
        "clusters",
        "Many clusters behind one?",
        _always("yes, each pool leads where it says"),
        _always("no: all its backends are one cluster"),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "limits",
        "What can be limited?",
        _always(
            "server connections by pool, database and user; clients in all",
            ((1, 24), "server connections and clients by pool, database and user"),
        ),
        _always("the clients in all, by num_init_children; nothing by pool"),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "queueing",
        "Where do clients wait?",
        _always("in the pooler, counted: cl_waiting and maxwait"),
        _always("in the kernel's listen queue, where nobody counts them; with reserved_connections they are refused"),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "authentication",
        "Are users let through without being listed?",
        _always("yes: auth_query asks the server"),
        _always("no: each stands in pool_passwd with its password, which the panel writes"),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "administration",
        "How is it asked and told?",
        _always("by SQL in the virtual database pgbouncer"),
        _always("by SHOW through any database, and over a port of its own (PCP)"),
    ),
    Feature("hba", "Host-based authentication?", _always("yes: auth_hba_file"), _always("yes: pool_hba.conf")),
    Feature(
        "tls",
        "TLS to clients and to servers?",
        _always("yes, set apart for each side"),
        _always("yes, one setting for both sides, read at its start"),
    ),
    Feature(
        "replication",
        "Does it replicate, or let replication through?",
        _always(
            "no: subscribers and standbys connect to the server itself",
            ((1, 23), "it does not; subscribers and standbys may connect through it, each with a server connection"),
        ),
        _always("it can send writes to all its backends (native replication), which the panel does not set up"),
    ),
    Feature(
        "license",
        "Under which license?",
        _always("ISC"),
        _always("one of its own, alike BSD's: free to use, copy, change and pass on"),
    ),
    Feature(
        "chaining",
        "Can the two be chained?",
        _always("yes: PgBouncer in front, for its queue and its modes"),
        _always("yes: behind a PgBouncer, for its reads and its failover"),
    ),
)


def rows(pgbouncer: Version, pgpool: Version) -> list[Row]:
    """The features in the words of these two releases."""
    return [
        Row(one.key, one.question, _reported(one.pgbouncer, pgbouncer), _reported(one.pgpool, pgpool), one.better)
        for one in FEATURES
    ]


def at_hand() -> dict[str, Version]:
    """The newest release of each kind among the registered poolers; the oldest supported where there is none."""
    found: dict[str, Version] = {kind: KINDS[kind].version_of("") for kind in KINDS}
    for kind, text in Pooler.objects.exclude(server_version="").values_list("kind", "server_version"):
        found[kind] = max(found[kind], KINDS[kind].version_of(text))
    return found


def _reported(words: Words, version: Version) -> str:
    return [text for since, text in words if since <= version][-1]
