"""What is written where."""

from pools.poolers.pgbouncer.settings_catalog.shapes import choice, number, of_group, switch, text

FACILITIES = ("auth", "authpriv", "daemon", "user", *(f"local{number}" for number in range(8)))

SETTINGS = of_group(
    "Log",
    switch("log_connections", "Logins", "1", "A line for each client that logs in"),
    switch("log_disconnections", "Disconnections", "1", "A line for each, with the reason"),
    switch("log_pooler_errors", "Errors sent to clients", "1", "A line for each"),
    switch("log_stats", "Statistics", "1", "A line every period of the averages"),
    number("verbose", "Verbosity", "0", "More with each step", maximum=3),
    switch("syslog", "To syslog", "0", "Beside the log file"),
    text("syslog_ident", "Name in syslog", "pgbouncer", "What its lines begin with", pattern=r"[A-Za-z0-9_.@-]+"),
    choice("syslog_facility", "Facility in syslog", FACILITIES, "daemon", "Where the system sorts them"),
    text("logfile", "Log file", "", "", fixed="it belongs to the installation, which rotates it"),
)
