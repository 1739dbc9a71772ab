"""When server connections are opened, checked, cleaned and closed."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import of_group, seconds, switch, text

HEALTH = _("Server connections")
CHECK = _("Sent before a connection is used again after the delay below; empty: none is sent")
CHECK_EMPTY = _(
    "Sent before a connection is used again after the delay below; empty: none is sent; <empty>: an empty query is sent"
)
RESET = _("Cleans a connection for the next client in session mode; empty: none is sent")
QUERY = {"may_be_empty": True, "carries_sql": True}

SETTINGS = of_group(
    HEALTH,
    text("server_reset_query", _("Reset query"), "DISCARD ALL", RESET, **QUERY),
    switch(
        "server_reset_query_always", _("Reset in all modes"), "0", _("Clients lose their state with each transaction")
    ),
    text("server_check_query", _("Check query"), "select 1", CHECK, until=(1, 25), **QUERY),
    text("server_check_query", _("Check query"), "<empty>", CHECK_EMPTY, since=(1, 25), **QUERY),
    seconds("server_check_delay", _("Check after"), "30", _("How long a released connection is taken to be sound")),
    switch(
        "server_fast_close", _("Close fast"), "0", _("In session mode, leave servers after a change without waiting")
    ),
    seconds(
        "server_lifetime", _("Lifetime"), "3600", _("An unused connection older than that is closed; 0 uses each once")
    ),
    seconds("server_idle_timeout", _("Idle for"), "600", _("A connection unused for longer is closed; 0 never")),
    seconds("server_connect_timeout", _("Login within"), "15", _("Otherwise the attempt is given up")),
    seconds(
        "server_login_retry", _("Try again after"), "15", _("A failed login; until then clients get its error at once")
    ),
    seconds(
        "autodb_idle_timeout", _("Forget entries of * after"), "3600", _("With their statistics, once nobody uses them")
    ),
)
