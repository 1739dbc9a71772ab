"""How far standbys may be behind, and what Pgpool-II does where it replicates itself."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgpool.settings_catalog.shapes import choice, flag, number, on_page, text

BY_TIME_S = _(
    "Pgpool-II sends no reads to a standby that is more than this many seconds behind, and then ignores "
    "delay_threshold (default {default}); 0 means no limit."
)
BY_TIME_MS = _(
    "Pgpool-II sends no reads to a standby that is more than this many milliseconds behind, and then ignores "
    "delay_threshold (default {default}); 0 means no limit."
)

STREAMING = on_page(
    _("Streaming replication"),
    "runtime-streaming-replication-check",
    number(
        "sr_check_period",
        "10",
        _(
            "Pgpool-II checks the replication delay at intervals of this many seconds (default {default}); 0 "
            "never does."
        ),
        unit="s",
    ),
    text(
        "sr_check_database",
        "postgres",
        _("Pgpool-II logs in to this database to check the replication delay (default {default})."),
    ),
    number(
        "delay_threshold",
        "0",
        _(
            "Pgpool-II sends no reads to a standby that is more than this many bytes of WAL behind (default "
            "{default}); 0 means no limit."
        ),
        unit="bytes",
        maximum=2**53,  # Pgpool-II rounds larger ones; the largest 64-bit number comes back as 0 (seen on 4.3)
    ),
    number("delay_threshold_by_time", "0", BY_TIME_S, unit="s", since=(4, 4), until=(4, 5)),
    number("delay_threshold_by_time", "0", BY_TIME_MS, unit="ms", since=(4, 5)),
    flag(
        "prefer_lower_delay_standby",
        "0",
        _(
            "Pgpool-II sends the reads of a standby that is too far behind to the one with the least delay, and not to "
            "the primary (default {default})."
        ),
    ),
    choice(
        "log_standby_delay",
        "if_over_threshold",
        _(
            "Pgpool-II logs the replication delay in these cases (default {default}): never, at each check, or where "
            "it exceeds the threshold."
        ),
        "none",
        "always",
        "if_over_threshold",
    ),
)
NATIVE = on_page(
    _("Native replication"),
    "runtime-config-running-mode",
    flag("replicate_select", "0", _("Pgpool-II sends reads to all backends, and not to one (default {default}).")),
    flag(
        "insert_lock",
        "1",
        _("Pgpool-II locks a table with a serial column at INSERT, so that all backends agree (default {default})."),
    ),
    text(
        "lobj_lock_table",
        "",
        _(
            "Pgpool-II locks this table when a large object is created, so that all backends agree (not set by "
            "default)."
        ),
    ),
    flag(
        "replication_stop_on_mismatch",
        "0",
        _("Pgpool-II detaches the backends that answer otherwise than most of them (default {default})."),
    ),
    flag(
        "failover_if_affected_tuples_mismatch",
        "0",
        _("Pgpool-II detaches the backends that changed another number of rows than most (default {default})."),
    ),
)
