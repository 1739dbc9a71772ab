"""What is written where."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import choice, number, of_group, switch, text

FACILITIES = ("auth", "authpriv", "daemon", "user", *(f"local{number}" for number in range(8)))

SETTINGS = of_group(
    _("Log"),
    switch("log_connections", "1", _("PgBouncer logs each successful login of a client (default {default}).")),
    switch("log_disconnections", "1", _("PgBouncer logs each disconnection with its reason (default {default}).")),
    switch(
        "log_pooler_errors", "1", _("PgBouncer logs each error message that it sends to a client (default {default}).")
    ),
    switch(
        "log_stats", "1", _("PgBouncer logs its aggregated statistics once every stats_period (default {default}).")
    ),
    number(
        "verbose", "0", _("PgBouncer logs more detail with each level, from 0 to 3 (default {default})."), maximum=3
    ),
    switch("syslog", "0", _("PgBouncer sends its log to syslog, besides the log file (default {default}).")),
    text(
        "syslog_ident",
        "pgbouncer",
        _("PgBouncer uses this program name in syslog (default {default})."),
        pattern=r"[A-Za-z0-9_.@-]+",
    ),
    choice(
        "syslog_facility", FACILITIES, "daemon", _("PgBouncer logs to this facility of syslog (default {default}).")
    ),
    text(
        "logfile",
        "",
        _("PgBouncer writes its log to this file (not set by default)."),
        fixed=_("Read-only: it belongs to the installation, which rotates it."),
    ),
)
