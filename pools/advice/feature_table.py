"""What each kind of pooler can and cannot do, by release: help to choose one.

The rows are those of a published comparison of the two; tests/live/pools/advice/test_feature_table.py verifies each.
"""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from pools.models import Pooler, PoolerKind
from pools.poolers import KINDS
from pools.poolers.settings_schema import NO_VERSION, Version

Text = str | Promise
Words = tuple[tuple[Version, Text], ...]  # (first release, what holds from it on); the last that fits counts


@dataclass(frozen=True)
class Feature:
    """One row; `better` names the kind that does more here, empty where they are equal or it is a matter of taste."""

    key: str
    question: Text
    pgbouncer: Words
    pgpool: Words
    better: str = ""


@dataclass(frozen=True)
class Row:
    """A feature as it holds for one release of each kind."""

    key: str
    question: Text
    pgbouncer: Text
    pgpool: Text
    better: str


def _always(words: Text, *later: tuple[Version, Text]) -> Words:
    return ((NO_VERSION, words), *later)


FEATURES = (
    Feature(
        "resources",
        _("What does it use?"),
        _always(_("one process with one thread, some kB for each client")),
        _always(
            _("a process for each concurrent client (num_init_children), all forked at the start"),
            (
                (4, 4),
                _("a process for each concurrent client (num_init_children); spare ones come and go in dynamic mode"),
            ),
        ),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "reuse",
        _("Who gets a server connection next?"),
        _always(_("any client of the same pool, user and database")),
        _always(_("the next client of the same child with the same user and database")),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "modes",
        _("Which modes?"),
        _always(
            _("session, transaction, statement; the protocol's prepared statements in session mode only"),
            (
                (1, 21),
                _(
                    "session, transaction, statement; all keep the protocol's prepared statements "
                    "(max_prepared_statements)"
                ),
            ),
        ),
        _always(_("session only")),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "availability",
        _("Does it follow a failover?"),
        _always(_("no: a database has one address, which has to be moved")),
        _always(_("yes: health checks, failover command, and a watchdog between several of them")),
        PoolerKind.PGPOOL,
    ),
    Feature(
        "balancing",
        _("Does it spread reads?"),
        _always(
            _("no: put HAProxy behind it, or make a pool of the standbys"),
            ((1, 24), _("over the hosts of one entry, reads and writes alike: make a pool of the standbys")),
        ),
        _always(_("yes: reads go to the standbys by weight, writes to the primary")),
        PoolerKind.PGPOOL,
    ),
    Feature(
        "clusters",
        _("Many clusters behind one?"),
        _always(_("yes, each pool names its own server")),
        _always(_("no: all its backends are one cluster")),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "limits",
        _("What can be limited?"),
        _always(
            _("server connections by pool, database and user; all clients together"),
            ((1, 24), _("server connections and clients by pool, database and user")),
        ),
        _always(_("all clients together, by num_init_children; nothing by pool")),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "queueing",
        _("Where do clients wait?"),
        _always(_("in the pooler, counted: cl_waiting and maxwait")),
        _always(_("in the kernel's listen queue, uncounted; with reserved_connections they are refused")),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "authentication",
        _("Can users log in without being listed?"),
        _always(_("yes: auth_query asks the server")),
        _always(_("no: each is listed with its password in pool_passwd, which the panel writes")),
        PoolerKind.PGBOUNCER,
    ),
    Feature(
        "administration",
        _("How is it queried and controlled?"),
        _always(_("by SQL in the virtual database pgbouncer")),
        _always(_("by SHOW through any database, and over a port of its own (PCP)")),
    ),
    Feature("hba", _("Host-based authentication?"), _always(_("yes: auth_hba_file")), _always(_("yes: pool_hba.conf"))),
    Feature(
        "tls",
        _("TLS to clients and to servers?"),
        _always(_("yes, configured separately for each side")),
        _always(_("yes, one setting for both sides, read at start")),
    ),
    Feature(
        "replication",
        _("Does it replicate, or let replication through?"),
        _always(
            _("no: subscribers and standbys connect to the server itself"),
            ((1, 23), _("it does not; subscribers and standbys may connect through it, each with a server connection")),
        ),
        _always(_("it can send writes to all its backends (native replication), which the panel does not set up")),
    ),
    Feature(
        "license",
        _("Under which license?"),
        _always("ISC"),
        _always(_("its own, similar to BSD's: free to use, copy, modify and distribute")),
    ),
    Feature(
        "chaining",
        _("Can the two be chained?"),
        _always(_("yes: PgBouncer in front, for its queue and its modes")),
        _always(_("yes: behind a PgBouncer, for its reads and its failover")),
    ),
)


def rows(pgbouncer: Version, pgpool: Version) -> list[Row]:
    """Return the features as they hold for these two releases."""
    return [
        Row(one.key, one.question, _in_release(one.pgbouncer, pgbouncer), _in_release(one.pgpool, pgpool), one.better)
        for one in FEATURES
    ]


def at_hand() -> dict[str, Version]:
    """Return the newest release of each kind among the registered poolers, or the oldest supported one."""
    found: dict[str, Version] = {kind: KINDS[kind].version_of("") for kind in KINDS}
    for kind, text in Pooler.objects.exclude(server_version="").values_list("kind", "server_version"):
        found[kind] = max(found[kind], KINDS[kind].version_of(text))
    return found


def _in_release(words: Words, version: Version) -> Text:
    return [text for since, text in words if since <= version][-1]
