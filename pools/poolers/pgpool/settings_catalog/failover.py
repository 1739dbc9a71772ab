"""When a backend counts as down, and what happens then."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgpool.settings_catalog.shapes import flag, number, on_page, text

FAILOVER = _("Failover and recovery")
SHUTDOWN = _("Pgpool-II detaches a backend that reports its shutdown to a session (default {default}).")

HEALTH = on_page(
    _("Health check"),
    "runtime-config-health-check",
    number(
        "health_check_period",
        "0",
        _("Pgpool-II checks each backend at intervals of this many seconds (default {default}); 0 never does."),
        unit="s",
    ),
    number(
        "health_check_timeout",
        "20",
        _(
            "Pgpool-II gives up a check whose connection is not open after this many seconds (default {default}); 0 "
            "waits for TCP."
        ),
        unit="s",
    ),
    text(
        "health_check_database",
        "postgres",
        _("Pgpool-II logs in to this database for a check (default {default})."),
    ),
    number(
        "health_check_max_retries",
        "0",
        _("Pgpool-II repeats a failed check this many times before it detaches the backend (default {default})."),
    ),
    number(
        "health_check_retry_delay",
        "1",
        _("Pgpool-II waits this many seconds before it repeats a failed check (default {default})."),
        unit="s",
    ),
)
SETTINGS = on_page(
    FAILOVER,
    "runtime-config-failover",
    flag(
        "failover_on_backend_error",
        "1",
        _("Pgpool-II detaches a backend at the first error on a connection to it (default {default})."),
    ),
    flag("failover_on_backend_shutdown", "1", SHUTDOWN, until=(4, 4)),
    flag("failover_on_backend_shutdown", "0", SHUTDOWN, since=(4, 4)),
    flag(
        "detach_false_primary",
        "0",
        _("Pgpool-II detaches a second primary that the standbys do not follow (default {default})."),
    ),
    flag("auto_failback", "0", _("Pgpool-II attaches a detached standby again once it streams (default {default}).")),
    number(
        "auto_failback_interval",
        "60",
        _("Pgpool-II waits at least this many seconds between two automatic failbacks (default {default})."),
        unit="s",
    ),
    number(
        "search_primary_node_timeout",
        "300",
        _(
            "Pgpool-II looks for the new primary for this many seconds after a failover (default {default}); 0 "
            "never stops."
        ),
        unit="s",
    ),
) + on_page(
    FAILOVER,
    "runtime-online-recovery",
    number(
        "recovery_timeout",
        "90",
        _("Pgpool-II waits this many seconds for a recovered server to start (default {default}); 0 does not wait."),
        unit="s",
    ),
    number(
        "client_idle_limit_in_recovery",
        "0",
        _(
            "Pgpool-II disconnects a client that has been idle for this many seconds during online recovery "
            "(default {default}); 0 means no limit, and -1 disconnects all at once."
        ),
        unit="s",
        minimum=-1,
    ),
)
