"""What is written where."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import choice, number, of_group, switch, text

FACILITIES = ("auth", "authpriv", "daemon", "user", *(f"local{number}" for number in range(8)))

SETTINGS = of_group(
    _("Log"),
    switch("log_connections", _("Logins"), "1", _("A line for each client that logs in")),
    switch("log_disconnections", _("Disconnections"), "1", _("A line for each, with the reason")),
    switch("log_pooler_errors", _("Errors sent to clients"), "1", _("A line for each")),
    switch("log_stats", _("Statistics"), "1", _("A line every period of the averages")),
    number("verbose", _("Verbosity"), "0", _("More with each step"), maximum=3),
    switch("syslog", _("To syslog"), "0", _("Beside the log file")),
    text("syslog_ident", _("Name in syslog"), "pgbouncer", _("What its lines begin with"), pattern=r"[A-Za-z0-9_.@-]+"),
    choice("syslog_facility", _("Facility in syslog"), FACILITIES, "daemon", _("Where the system sorts them")),
    text("logfile", _("Log file"), "", "", fixed=_("Read-only: it belongs to the installation, which rotates it.")),
)
