"""When server connections are opened, checked, cleaned and closed."""

from pools.poolers.pgbouncer.settings_catalog.shapes import of_group, seconds, switch, text

HEALTH = "Server connections"
CHECK = "Sent before a connection is used again after the delay below; empty on purpose: none is sent"
CHECK_EMPTY = f"{CHECK}, and for <empty> an empty one is"
RESET = "Cleans a connection for the next client in session mode; empty on purpose: none is sent"
QUERY = {"may_be_empty": True, "carries_sql": True}

SETTINGS = of_group(
    HEALTH,
    text("server_reset_query", "Reset query", "DISCARD ALL", RESET, **QUERY),
    switch("server_reset_query_always", "Reset in all modes", "0", "Clients lose their state with each transaction"),
    text("server_check_query", "Check query", "select 1", CHECK, until=(1, 25), **QUERY),
    text("server_check_query", "Check query", "<empty>", CHECK_EMPTY, since=(1, 25), **QUERY),
    seconds("server_check_delay", "Check after", "30", "How long a released connection is taken to be sound"),
    switch("server_fast_close", "Close fast", "0", "In session mode, leave servers after a change without waiting"),
    seconds("server_lifetime", "Lifetime", "3600", "An unused connection older than that is closed; 0 uses each once"),
    seconds("server_idle_timeout", "Idle for", "600", "A connection unused for longer is closed; 0 never"),
    seconds("server_connect_timeout", "Login within", "15", "Otherwise the attempt is given up"),
    seconds("server_login_retry", "Try again after", "15", "A failed login; until then clients get its error at once"),
    seconds("autodb_idle_timeout", "Forget entries of * after", "3600", "With their statistics, once nobody uses them"),
)
