"""What Pgpool-II can and cannot do, by release, for the table that helps to choose between the kinds."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.features import Features, always

FEATURES = Features(
    {
        "resources": always(
            _("a process for each concurrent client (num_init_children), all forked at the start"),
            (
                (4, 4),
                _("a process for each concurrent client (num_init_children); spare ones come and go in dynamic mode"),
            ),
        ),
        "reuse": always(_("the next client of the same child with the same user and database")),
        "modes": always(_("session only")),
        "availability": always(_("yes: health checks, failover command, and a watchdog between several of them")),
        "balancing": always(_("yes: reads go to the standbys by weight, writes to the primary")),
        "clusters": always(_("no: all its backends are one cluster")),
        "limits": always(_("all clients together, by num_init_children; nothing by pool")),
        "queueing": always(_("in the kernel's listen queue, uncounted; with reserved_connections they are refused")),
        "authentication": always(_("no: each is listed with its password in pool_passwd, which the panel writes")),
        "administration": always(_("by SHOW through any database, and over a port of its own (PCP)")),
        "hba": always(_("yes: pool_hba.conf")),
        "tls": always(_("yes, one setting for both sides, read at start")),
        "replication": always(
            _("it can send writes to all its backends (native replication), which the panel does not set up")
        ),
        "license": always(_("its own, similar to BSD's: free to use, copy, modify and distribute")),
        "chaining": always(_("yes: behind a PgBouncer, for its reads and its failover")),
    },
    stronger=frozenset({"availability", "balancing"}),
)
