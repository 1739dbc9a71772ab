"""What is logged, and where."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgpool.settings_catalog.shapes import choice, flag, number, on_page, text
from pools.poolers.settings_schema import Setting

# debug2 is left out: Pgpool-II shows it as `debug`, by which name it can't be read back
LEVELS = ("debug5", "debug4", "debug3", "debug1", "log", "notice", "warning", "error")
SERVER_LEVELS = ("debug5", "debug4", "debug3", "debug1", "info", *LEVELS[5:], "log", "fatal", "panic")
FACILITIES = tuple(f"LOCAL{number}" for number in range(8))
BEFORE_AND_SINCE_4_6: tuple[dict[str, Any], ...] = ({"until": (4, 6), "restart": True}, {"since": (4, 6)})
PCP_PROCESSES = _("Pgpool-II logs the start and the end of each process for the PCP port (default {default}).")


def _collector(**times: Any) -> tuple[Setting, ...]:
    """Define the settings of logging_collector's files; 4.6 takes them with a reload."""
    return (
        text(
            "log_directory",
            "/tmp/pgpool_logs",  # noqa: S108 (the program has it, it is not a file of ours)
            _("Pgpool-II collects its log in this folder (default {default})."),
            **times,
        ),
        text(
            "log_filename",
            "pgpool-%Y-%m-%d_%H%M%S.log",
            _("Pgpool-II names each collected file by this pattern of strftime (default {default})."),
            **times,
        ),
        flag(
            "log_truncate_on_rotation",
            "0",
            _("Pgpool-II overwrites a collected file of the same name, and does not append to it (default {default})."),
            **times,
        ),
        number(
            "log_rotation_age",
            "1440",
            _("Pgpool-II starts a new file after this many minutes (default {default}); 0 never does."),
            unit="min",
            maximum=35_791_394,
            **times,
        ),
        number(
            "log_rotation_size",
            "10240",
            _("Pgpool-II starts a new file when one has this many kilobytes (default {default}); 0 never does."),
            unit="kB",
            maximum=2_097_151,
            **times,
        ),
    )


SETTINGS = on_page(
    _("Log"),
    "runtime-config-logging",
    flag("log_connections", "0", _("Pgpool-II logs each client that connects (default {default}).")),
    flag("log_disconnections", "0", _("Pgpool-II logs each client that disconnects (default {default}).")),
    flag(
        "log_hostname",
        "0",
        _("Pgpool-II logs the host name of a client, and not its address alone (default {default})."),
    ),
    flag("log_statement", "0", _("Pgpool-II logs every statement (default {default}).")),
    flag(
        "log_per_node_statement",
        "0",
        _("Pgpool-II logs every statement with the backend that it goes to (default {default})."),
    ),
    flag(
        "notice_per_node_statement",
        "0",
        _("Pgpool-II reports to the client in a notice which backend each statement goes to (default {default})."),
        since=(4, 5),
    ),
    flag("log_client_messages", "0", _("Pgpool-II logs the protocol messages of clients (default {default}).")),
    choice(
        "log_backend_messages",
        "none",
        _("Pgpool-II logs the protocol messages of backends in this detail (default {default})."),
        "none",
        "terse",
        "verbose",
        since=(4, 6),
    ),
    flag("log_pcp_processes", "1", PCP_PROCESSES, since=(4, 5), until=(4, 7)),
    flag("log_pcp_processes", "0", PCP_PROCESSES, since=(4, 7)),
    choice(
        "log_min_messages",
        "warning",
        _("Pgpool-II logs messages of this severity and above (default {default})."),
        *SERVER_LEVELS,
    ),
    choice(
        "client_min_messages",
        "notice",
        _("Pgpool-II sends messages of this severity and above to clients (default {default})."),
        *LEVELS,
    ),
    choice(
        "log_error_verbosity",
        "default",
        _(
            "Pgpool-II logs each message in this detail (the default is the word {default}): terse leaves out DETAIL, "
            "HINT, QUERY and CONTEXT, and verbose adds fields."
        ),
        "terse",
        "default",
        "verbose",
    ),
    text(
        "log_line_prefix",
        "%m: %a pid %p: ",
        _(
            "Pgpool-II begins each line of its log with this text, where %m is the time, %a the application and %p the "
            "process (default {default})."
        ),
        may_be_empty=True,
    ),
    choice(
        "log_destination",
        "stderr",
        _("Pgpool-II sends its log to stderr, to syslog, or to both (default {default})."),
        "stderr",
        "syslog",
        "stderr,syslog",
        "syslog,stderr",
    ),
    choice(
        "syslog_facility",
        "LOCAL0",
        _("Pgpool-II logs to this facility of syslog (default {default})."),
        *FACILITIES,
    ),
    text("syslog_ident", "pgpool", _("Pgpool-II uses this program name in syslog (default {default}).")),
    flag(
        "logging_collector",
        "0",
        _("Pgpool-II collects what it writes to stderr in files (default {default})."),
        restart=True,
    ),
    *(setting for times in BEFORE_AND_SINCE_4_6 for setting in _collector(**times)),
)
