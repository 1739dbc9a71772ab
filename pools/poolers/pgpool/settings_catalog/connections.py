"""Children, and the connections that each keeps to clients and servers."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgpool.settings_catalog.shapes import choice, flag, number, on_page, text

GROUP = _("Connections")

CLIENTS = on_page(
    GROUP,
    "runtime-config-connection",
    number(
        "num_init_children",
        "32",
        _(
            "Pgpool-II runs this many child processes, each for one client at a time (default {default}), so this is "
            "the highest number of clients and the size of every pool."
        ),
        minimum=1,
        maximum=65535,
        restart=True,
    ),
    number(
        "reserved_connections",
        "0",
        _(
            "Pgpool-II keeps this many children free by refusing further clients with “sorry, too many clients "
            "already” (default {default}); 0 lets them wait in the kernel's queue."
        ),
        restart=True,
    ),
)
KEPT = on_page(
    GROUP,
    "runtime-config-connection-pooling",
    number(
        "max_pool",
        "4",
        _(
            "Pgpool-II keeps at most this many server connections in each child, one for each database and user "
            "(default {default}); servers see up to max_pool × num_init_children."
        ),
        minimum=1,
        maximum=65535,
        restart=True,
    ),
    number(
        "listen_backlog_multiplier",
        "2",
        _("Pgpool-II lets this many times num_init_children clients wait in the kernel's queue (default {default})."),
        minimum=1,
        restart=True,
    ),
    flag(
        "serialize_accept",
        "0",
        _("Pgpool-II wakes one child, and not all of them, for each new client (default {default})."),
        restart=True,
    ),
    flag(
        "connection_cache",
        "1",
        _("Pgpool-II keeps server connections for the next client of the same child (default {default})."),
        restart=True,
    ),
    number(
        "child_life_time",
        "300",
        _(
            "Pgpool-II ends a child that has been idle for this many seconds and starts another (default {default}); 0 "
            "keeps it."
        ),
        unit="s",
        restart=True,
    ),
    number(
        "child_max_connections",
        "0",
        _(
            "Pgpool-II ends a child that has served this many clients and starts another (default {default}); 0 means "
            "no limit."
        ),
        restart=True,
    ),
    number(
        "connection_life_time",
        "0",
        _("Pgpool-II closes a kept server connection after this many seconds (default {default}); 0 keeps it open."),
        unit="s",
        restart=True,
    ),
    number(
        "client_idle_limit",
        "0",
        _(
            "Pgpool-II disconnects a client that has been idle for this many seconds, even in a transaction "
            "(default {default}); 0 means no limit."
        ),
        unit="s",
    ),
    text(
        "reset_query_list",
        "ABORT;DISCARD ALL",
        _(
            "Pgpool-II runs these statements on a server connection that its client has left (default {default}); "
            "semicolons separate them."
        ),
        may_be_empty=True,
        carries_sql=True,
    ),
)
PROCESSES = on_page(
    GROUP,
    "runtime-config-process-management",
    choice(
        "process_management_mode",
        "static",
        _(
            "Pgpool-II starts children in this mode (default {default}): static starts all of them with the program, "
            "and dynamic keeps as many spare ones as configured."
        ),
        "static",
        "dynamic",
        since=(4, 4),
        restart=True,
    ),
    choice(
        "process_management_strategy",
        "gentle",
        _(
            "Pgpool-II ends spare children in dynamic mode by this strategy (default {default}): lazy after 5 minutes, "
            "gentle after 2, aggressive sooner."
        ),
        "aggressive",
        "gentle",
        "lazy",
        since=(4, 4),
    ),
    number(
        "min_spare_children",
        "5",
        _("Pgpool-II keeps at least this many idle children in dynamic mode (default {default})."),
        minimum=1,
        since=(4, 4),
    ),
    number(
        "max_spare_children",
        "10",
        _("Pgpool-II keeps at most this many idle children in dynamic mode (default {default})."),
        minimum=1,
        since=(4, 4),
    ),
)
LOGINS = on_page(
    GROUP,
    "runtime-config-connection",
    number(
        "authentication_timeout",
        "60",
        _(
            "Pgpool-II disconnects a client that has not logged in within this many seconds (default {default}); 0 "
            "means no limit."
        ),
        unit="s",
        restart=True,
    ),
    flag(
        "allow_clear_text_frontend_auth",
        "0",
        _(
            "Pgpool-II asks clients for their password in clear text where pool_passwd lacks it, which is safe over "
            "TLS only (default {default})."
        ),
    ),
)
SERVERS = on_page(
    GROUP,
    "runtime-config-health-check",
    number(
        "connect_timeout",
        "10000",
        _("Pgpool-II gives up connecting to a backend after this many milliseconds (default {default}); 0 never does."),
        unit="ms",
    ),
)
MODE = on_page(
    GROUP,
    "runtime-config-running-mode",
    choice(
        "backend_clustering_mode",
        "streaming_replication",
        _(
            "Pgpool-II relies on this kind of replication between the backends (default {default}); raw does without, "
            "and pools sessions before the first backend only."
        ),
        "streaming_replication",
        "logical_replication",
        "native_replication",
        "snapshot_isolation",
        "raw",
        restart=True,
    ),
)
SETTINGS = MODE + CLIENTS + KEPT + PROCESSES + LOGINS + SERVERS
