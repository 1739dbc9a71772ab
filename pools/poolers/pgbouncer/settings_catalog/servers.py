"""When server connections are opened, checked, cleaned and closed."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import of_group, seconds, switch, text

HEALTH = _("Server connections")
CHECK = _(
    "PgBouncer sends this query before it reuses a server connection that was released longer ago than "
    "server_check_delay (default {default}); an empty text sends none."
)
CHECK_EMPTY = _(
    "PgBouncer sends this query before it reuses a server connection that was released longer ago than "
    "server_check_delay (default {default}); an empty text sends none, and <empty> sends an empty query."
)
RESET = _(
    "PgBouncer sends this query to a server connection in session mode before the next client gets it "
    "(default {default}); an empty text sends none."
)
QUERY = {"may_be_empty": True, "carries_sql": True}

SETTINGS = of_group(
    HEALTH,
    text("server_reset_query", "DISCARD ALL", RESET, **QUERY),
    switch(
        "server_reset_query_always",
        "0",
        _(
            "PgBouncer sends server_reset_query in all modes, so that clients lose their session state after each "
            "transaction (default {default})."
        ),
    ),
    text("server_check_query", "select 1", CHECK, until=(1, 25), **QUERY),
    text("server_check_query", "<empty>", CHECK_EMPTY, since=(1, 25), **QUERY),
    seconds(
        "server_check_delay",
        "30",
        _(
            "PgBouncer reuses a server connection without server_check_query for this many seconds after its release "
            "(default {default}); 0 always sends it."
        ),
    ),
    switch(
        "server_fast_close",
        "0",
        _(
            "PgBouncer closes a session-mode server connection at the end of the transaction, and its client with it, "
            "once RECONNECT, a reload or DNS has changed its server (default {default})."
        ),
    ),
    seconds(
        "server_lifetime",
        "3600",
        _(
            "PgBouncer closes an unused server connection that is older than this many seconds (default {default}); 0 "
            "uses each connection once."
        ),
    ),
    seconds(
        "server_idle_timeout",
        "600",
        _(
            "PgBouncer closes a server connection that has been idle for more than this many seconds "
            "(default {default}); 0 keeps it open."
        ),
    ),
    seconds(
        "server_connect_timeout",
        "15",
        _("PgBouncer gives up a server connection that is not logged in within this many seconds (default {default})."),
    ),
    seconds(
        "server_login_retry",
        "15",
        _(
            "PgBouncer waits this many seconds after a failed connection to a server before it tries again "
            "(default {default}); until then it passes the error on to new clients at once."
        ),
    ),
    seconds(
        "autodb_idle_timeout",
        "3600",
        _(
            "PgBouncer frees a database that it made from the * entry, with its statistics, after this many unused "
            "seconds (default {default})."
        ),
    ),
)
