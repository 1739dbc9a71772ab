"""What PgBouncer can and cannot do, by release, for the table that helps to choose between the kinds."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.features import Features, always

FEATURES = Features(
    {
        "resources": always(_("one process with one thread, some kB for each client")),
        "reuse": always(_("any client of the same pool, user and database")),
        "modes": always(
            _("session, transaction, statement; the protocol's prepared statements in session mode only"),
            (
                (1, 21),
                _(
                    "session, transaction, statement; all keep the protocol's prepared statements "
                    "(max_prepared_statements)"
                ),
            ),
        ),
        "availability": always(_("no: a database has one address, which has to be moved")),
        "balancing": always(
            _("no: put HAProxy behind it, or make a pool of the standbys"),
            ((1, 24), _("over the hosts of one entry, reads and writes alike: make a pool of the standbys")),
        ),
        "clusters": always(_("yes, each pool names its own server")),
        "limits": always(
            _("server connections by pool, database and user; all clients together"),
            ((1, 24), _("server connections and clients by pool, database and user")),
        ),
        "queueing": always(_("in the pooler, counted: cl_waiting and maxwait")),
        "authentication": always(_("yes: auth_query asks the server")),
        "administration": always(_("by SQL in the virtual database pgbouncer")),
        "hba": always(_("yes: auth_hba_file")),
        "tls": always(_("yes, configured separately for each side")),
        "replication": always(
            _("no: subscribers and standbys connect to the server itself"),
            ((1, 23), _("it does not; subscribers and standbys may connect through it, each with a server connection")),
        ),
        "license": always("ISC"),
        "chaining": always(_("yes: PgBouncer in front, for its queue and its modes")),
    },
    stronger=frozenset({"resources", "reuse", "modes", "clusters", "limits", "queueing", "authentication"}),
)
