"""The cache of query results, and what each child remembers of tables."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgpool.settings_catalog.shapes import choice, flag, number, on_page, text

PAGE = "runtime-in-memory-query-cache"

RESULTS = on_page(
    _("Query cache"),
    PAGE,
    flag(
        "memory_cache_enabled",
        "0",
        _("Pgpool-II answers a repeated SELECT from memory (default {default})."),
        restart=True,
    ),
    choice(
        "memqcache_method",
        "shmem",
        _("Pgpool-II keeps cached results in shared memory (shmem) or in memcached (default {default})."),
        "shmem",
        "memcached",
        restart=True,
    ),
    text(
        "memqcache_memcached_host",
        "localhost",
        _("Pgpool-II finds memcached on this host (default {default})."),
        restart=True,
    ),
    number(
        "memqcache_memcached_port",
        "11211",
        _("Pgpool-II finds memcached at this port (default {default})."),
        maximum=65535,
        restart=True,
    ),
    number(
        "memqcache_total_size",
        "67108864",
        _("Pgpool-II reserves this many bytes of shared memory for cached results (default {default})."),
        unit="bytes",
        restart=True,
    ),
    number(
        "memqcache_max_num_cache",
        "1000000",
        _("Pgpool-II keeps at most this many results in shared memory (default {default})."),
        restart=True,
    ),
    number(
        "memqcache_expire",
        "0",
        _("Pgpool-II forgets a cached result after this many seconds (default {default}); 0 never does."),
        unit="s",
        restart=True,
        manual=f"{PAGE}.html#GUC-MEMQCACHEEXPIRE",
    ),
    flag(
        "memqcache_auto_cache_invalidation",
        "1",
        _("Pgpool-II forgets the cached results of a table that is written (default {default})."),
    ),
    number(
        "memqcache_maxcache",
        "409600",
        _("Pgpool-II does not cache a result of more than this many bytes (default {default})."),
        unit="bytes",
        restart=True,
    ),
    number(
        "memqcache_cache_block_size",
        "1048576",
        _("Pgpool-II divides the cache into blocks of this many bytes (default {default})."),
        unit="bytes",
        minimum=512,
        restart=True,
    ),
    text(
        "memqcache_oiddir",
        "/var/log/pgpool/oiddir",
        _("Pgpool-II records in this folder which tables a cached result depends on (default {default})."),
        restart=True,
    ),
    text(
        "cache_safe_memqcache_table_list",
        "",
        _(
            "Pgpool-II also caches results of these views and unlogged tables (none by default); commas separate the "
            "names, which may be patterns."
        ),
    ),
    text(
        "cache_unsafe_memqcache_table_list",
        "",
        _(
            "Pgpool-II never caches results of these tables (none by default); commas separate the names, which may be "
            "patterns."
        ),
    ),
)
RELCACHE = on_page(
    _("Catalog cache"),
    "runtime-misc",
    number(
        "relcache_expire",
        "0",
        _("Pgpool-II asks the catalog about a table again after this many seconds (default {default}); 0 never does."),
        unit="s",
        restart=True,
    ),
    number(
        "relcache_size",
        "256",
        _("Pgpool-II keeps this many entries about tables in each child, some 10 for a table (default {default})."),
        restart=True,
    ),
    flag(
        "enable_shared_relcache",
        "1",
        _(
            "Pgpool-II shares what its children know of tables in shared memory, about 130 MB of it "
            "(default {default})."
        ),
        restart=True,
    ),
    choice(
        "relcache_query_target",
        "primary",
        _("Pgpool-II asks this backend about tables (default {default})."),
        "primary",
        "load_balance_node",
    ),
    choice(
        "check_temp_table",
        "catalog",
        _(
            "Pgpool-II finds out about temporary tables this way (default {default}): catalog asks the primary, trace "
            "watches CREATE and DROP, and none does not look."
        ),
        "catalog",
        "trace",
        "none",
    ),
    flag(
        "check_unlogged_table",
        "1",
        _("Pgpool-II asks the primary about unlogged tables, and sends it their reads (default {default})."),
    ),
)
