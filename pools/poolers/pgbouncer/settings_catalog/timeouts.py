"""How long clients may wait, be idle or keep a transaction open."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import number, of_group, seconds

LAST_WITH_SUSPEND = "https://github.com/pgbouncer/pgbouncer/blob/pgbouncer_1_25_0/doc/config.md#suspend_timeout"

SETTINGS = of_group(
    _("Timeouts of clients"),
    seconds(
        "query_wait_timeout",
        "120",
        _(
            "PgBouncer disconnects a client whose query has waited this many seconds for a server connection "
            "(default {default}); 0 lets it wait forever."
        ),
    ),
    number(
        "query_wait_notify",
        "5",
        _(
            "PgBouncer sends a notice to a client that has waited this many seconds for a server connection "
            "(default {default}); 0 sends none."
        ),
        unit="s",
        since=(1, 25),
    ),
    seconds(
        "query_timeout",
        "0",
        _(
            "PgBouncer ends a query that runs longer than this many seconds, and its connection with it "
            "(default {default}); 0 means no limit. It is meant for network failures: statement_timeout of PostgreSQL "
            "should be slightly shorter."
        ),
    ),
    seconds(
        "idle_transaction_timeout",
        "0",
        _(
            "PgBouncer disconnects a client that is idle in a transaction for more than this many seconds "
            "(default {default}); 0 means no limit."
        ),
    ),
    seconds(
        "transaction_timeout",
        "0",
        _(
            "PgBouncer disconnects a client whose transaction lasts longer than this many seconds "
            "(default {default}); 0 means no limit."
        ),
        since=(1, 25),
    ),
    seconds(
        "client_idle_timeout",
        "0",
        _(
            "PgBouncer disconnects a client that is idle for more than this many seconds (default {default}); 0 means "
            "no limit. It is meant for network failures: it should exceed the lifetime of connections in the "
            "application's own pool."
        ),
    ),
    seconds(
        "client_login_timeout",
        "60",
        _("PgBouncer disconnects a client that has not logged in within this many seconds (default {default})."),
    ),
    seconds(
        "cancel_wait_timeout",
        "10",
        _(
            "PgBouncer gives up a cancel request that has waited this many seconds for a server connection "
            "(default {default}); 0 lets it wait forever."
        ),
        since=(1, 19),
    ),
    seconds(
        "suspend_timeout",
        "10",
        _(
            "PgBouncer waits this many seconds for the buffers of a connection to be flushed during SUSPEND and the "
            "online restart, and then drops it (default {default})."
        ),
        until=(1, 26),
        manual=LAST_WITH_SUSPEND,
    ),
)
