"""What a Pgpool-II can be told, 4.3 to 4.7, and why each of its other settings is not the panel's to write.

Names and defaults are those of PGPOOL SHOW ALL; what is read at the start only was seen on 4.3 and 4.6 by a reload
and stands in src/config/pool_config_variables.c; the rest is from the release notes.
"""

from typing import TYPE_CHECKING, Any

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from pools.poolers import pem
from pools.poolers.pgpool import labels
from pools.poolers.pgpool.hba import rules_fault
from pools.poolers.settings_schema import Scope, Setting, Type, Version

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise as Text
else:
    Text = Any

OLDEST: Version = (4, 3)
MOST_BACKENDS = 8  # that the panel offers weights for; the program takes 128
LARGEST = 2_147_483_647
TEXT = r"[^'\ud800-\udfff]*"  # there is no escape for a quote; a backslash stays one (seen on 4.3 and 4.6)
# debug2 is left out: Pgpool-II shows it as `debug`, by which name it can't be read back
LEVELS = ("debug5", "debug4", "debug3", "debug1", "log", "notice", "warning", "error")
SERVER_LEVELS = ("debug5", "debug4", "debug3", "debug1", "info", *LEVELS[5:], "log", "fatal", "panic")
FACILITIES = tuple(f"LOCAL{number}" for number in range(8))


def _setting(group: Text, name: str, type: Type, default: str, help: Text, **more: Any) -> Setting:
    return Setting(
        name, Scope.PROGRAM, type, default, help, group, **{"since": OLDEST, "label": labels.of(name)} | more
    )


def _flag(group: Text, name: str, default: str, help: Text, **more: Any) -> Setting:
    return _setting(group, name, Type.BOOLEAN, default, help, **more)


def _number(group: Text, name: str, default: str, help: Text, **more: Any) -> Setting:
    return _setting(group, name, Type.NUMBER, default, help, **{"minimum": 0, "maximum": LARGEST} | more)


def _choice(group: Text, name: str, default: str, help: Text, *choices: str, **more: Any) -> Setting:
    return _setting(group, name, Type.CHOICE, default, help, choices=choices, **more)


def _text(group: Text, name: str, default: str, help: Text, **more: Any) -> Setting:
    return _setting(group, name, Type.TEXT, default, help, **{"pattern": TEXT} | more)


def _file(group: Text, name: str, help: Text, **more: Any) -> Setting:
    return _setting(group, name, Type.FILE, "", help, restart=True, **more)


RULES = "pool_hba"  # no setting of the program: further rules of its pool_hba.conf
POOLS, BALANCE, BACKENDS = _("Connections"), _("Load balancing"), _("Backends")
REPLICATION, HEALTH, FAILOVER = _("Streaming replication"), _("Health check"), _("Failover and recovery")
TLS, LOG, CACHE = _("TLS"), _("Log"), _("Query cache")
RELCACHE, NATIVE, LOGINS = _("Catalog cache"), _("Native replication"), _("Logins")

BEFORE_AND_SINCE_4_6: tuple[dict[str, Any], ...] = ({"until": (4, 6), "restart": True}, {"since": (4, 6)})


def _collector(**times: Any) -> tuple[Setting, ...]:
    """Define the settings of logging_collector's files; 4.6 takes them with a reload."""
    return (
        _text(LOG, "log_directory", "/tmp/pgpool_logs", _("The folder of these files"), **times),  # noqa: S108
        _text(LOG, "log_filename", "pgpool-%Y-%m-%d_%H%M%S.log", _("Their names, as strftime takes them"), **times),
        _flag(LOG, "log_truncate_on_rotation", "0", _("Start over a file of the same name"), **times),
        _number(
            LOG, "log_rotation_age", "1440", _("A new file after; 0 never"), unit="min", maximum=35_791_394, **times
        ),
        _number(LOG, "log_rotation_size", "10240", _("A new file at; 0 never"), unit="kB", maximum=2_097_151, **times),
    )


CATALOG: tuple[Setting, ...] = (
    _choice(
        POOLS,
        "backend_clustering_mode",
        "streaming_replication",
        _("How the backends keep alike; raw: no more than session pooling before the first of them"),
        "streaming_replication",
        "logical_replication",
        "native_replication",
        "snapshot_isolation",
        "raw",
        restart=True,
    ),
    _number(
        POOLS,
        "num_init_children",
        "32",
        _("Children, each serving one client at a time: the most clients at once; every pool's size"),
        minimum=1,
        maximum=65535,
        restart=True,
    ),
    _number(
        POOLS,
        "max_pool",
        "4",
        _("Server connections a child keeps, one for each database and user; times the children is what servers see"),
        minimum=1,
        maximum=65535,
        restart=True,
    ),
    _choice(
        POOLS,
        "process_management_mode",
        "static",
        _("static: all children at the start; dynamic: as many spare ones as asked for"),
        "static",
        "dynamic",
        since=(4, 4),
        restart=True,
    ),
    _choice(
        POOLS,
        "process_management_strategy",
        "gentle",
        _("How soon spare children are ended, in dynamic mode"),
        "aggressive",
        "gentle",
        "lazy",
        since=(4, 4),
    ),
    _number(
        POOLS, "min_spare_children", "5", _("Idle children kept at least, in dynamic mode"), minimum=1, since=(4, 4)
    ),
    _number(
        POOLS, "max_spare_children", "10", _("Idle children kept at most, in dynamic mode"), minimum=1, since=(4, 4)
    ),
    _number(
        POOLS,
        "reserved_connections",
        "0",
        _("Children kept free: clients beyond get “sorry, too many clients” instead of waiting unseen"),
        restart=True,
    ),
    _number(
        POOLS,
        "listen_backlog_multiplier",
        "2",
        _("Times num_init_children: clients that may wait in the kernel's queue"),
        minimum=1,
        restart=True,
    ),
    _flag(POOLS, "serialize_accept", "0", _("One child at a time waits for a client"), restart=True),
    _flag(POOLS, "connection_cache", "1", _("Keep server connections for the next client"), restart=True),
    _number(POOLS, "child_life_time", "300", _("A child idle for as long ends; 0 never"), unit="s", restart=True),
    _number(POOLS, "child_max_connections", "0", _("A child ends after as many clients; 0 never"), restart=True),
    _number(
        POOLS, "connection_life_time", "0", _("A kept server connection ends after; 0 never"), unit="s", restart=True
    ),
    _number(POOLS, "client_idle_limit", "0", _("A client idle for as long is put out, even mid-transaction"), unit="s"),
    _number(POOLS, "authentication_timeout", "60", _("For a client's login; 0 for ever"), unit="s", restart=True),
    _number(POOLS, "connect_timeout", "10000", _("For connecting to a backend; 0 for ever"), unit="ms"),
    _text(
        POOLS,
        "reset_query_list",
        "ABORT;DISCARD ALL",
        _("What a server connection runs when its client has left"),
        may_be_empty=True,
        carries_sql=True,
    ),
    _flag(
        POOLS,
        "allow_clear_text_frontend_auth",
        "0",
        _("Ask clients for their password in clear when pool_passwd lacks it; only with TLS"),
    ),
    _flag(BALANCE, "load_balance_mode", "1", _("Send reads to the backends by their weights"), restart=True),
    _flag(BALANCE, "statement_level_load_balance", "0", _("Choose the backend for each read, not for each session")),
    _choice(
        BALANCE,
        "disable_load_balance_on_write",
        "transaction",
        _("How long after a write reads go to the primary"),
        "off",
        "transaction",
        "trans_transaction",
        "dml_adaptive",
        "always",
    ),
    _text(
        BALANCE,
        "dml_adaptive_object_relationship_list",
        "",
        _("Pairs table:dependent, comma separated, for dml_adaptive"),
    ),
    _flag(BALANCE, "ignore_leading_white_space", "1", _("Look past blanks at a query's start")),
    _flag(BALANCE, "allow_sql_comments", "0", _("ConsoleSnapshot past comments when judging whether a query reads")),
    _text(BALANCE, "read_only_function_list", "", _("Functions that don't write, comma separated, patterns allowed")),
    _text(BALANCE, "write_function_list", "", _("Functions that write, comma separated, patterns allowed")),
    _text(
        BALANCE,
        "primary_routing_query_pattern_list",
        "",
        _("Patterns of queries for the primary, separated by semicolons"),
    ),
    _text(
        BALANCE,
        "database_redirect_preference_list",
        "",
        _("Pairs database:node, comma separated; node is primary, standby or a number"),
    ),
    _text(BALANCE, "app_name_redirect_preference_list", "", _("Pairs application:node, comma separated")),
    _text(BALANCE, "user_redirect_preference_list", "", _("Pairs user:node, comma separated"), since=(4, 5)),
    _number(REPLICATION, "sr_check_period", "10", _("Between two checks of the standbys' delay; 0 never"), unit="s"),
    _text(REPLICATION, "sr_check_database", "postgres", _("Where the delay is asked")),
    _number(
        REPLICATION,
        "delay_threshold",
        "0",
        _("A standby further behind gets no reads; 0 never"),
        unit="bytes",
        maximum=2**53,  # beyond it, Pgpool-II rounds; the largest 64-bit number comes back as 0 (seen on 4.3)
    ),
    *(
        _number(
            REPLICATION, "delay_threshold_by_time", "0", _("The same by time, before delay_threshold; 0 never"), **more
        )
        for more in ({"unit": "s", "since": (4, 4), "until": (4, 5)}, {"unit": "ms", "since": (4, 5)})
    ),
    _flag(REPLICATION, "prefer_lower_delay_standby", "0", _("Then ask another standby rather than the primary")),
    _choice(
        REPLICATION,
        "log_standby_delay",
        "if_over_threshold",
        _("When to log the delay"),
        "none",
        "always",
        "if_over_threshold",
    ),
    _number(HEALTH, "health_check_period", "0", _("Between two checks of a backend; 0 never"), unit="s"),
    _number(HEALTH, "health_check_timeout", "20", _("Given up after; 0 never"), unit="s"),
    _text(HEALTH, "health_check_database", "postgres", _("Where it logs in")),
    _number(HEALTH, "health_check_max_retries", "0", _("Failed checks before the backend is detached")),
    _number(HEALTH, "health_check_retry_delay", "1", _("Between two of them"), unit="s"),
    _flag(FAILOVER, "failover_on_backend_error", "1", _("Detach a backend at the first error on its connection")),
    _flag(FAILOVER, "failover_on_backend_shutdown", "1", _("Detach a backend that is being shut down"), until=(4, 4)),
    _flag(FAILOVER, "failover_on_backend_shutdown", "0", _("Detach a backend that is being shut down"), since=(4, 4)),
    _flag(FAILOVER, "detach_false_primary", "0", _("Detach a second primary")),
    _flag(FAILOVER, "auto_failback", "0", _("Attach a detached standby again once it streams")),
    _number(FAILOVER, "auto_failback_interval", "60", _("At most once in"), unit="s"),
    _number(FAILOVER, "search_primary_node_timeout", "300", _("Looking for the new primary; 0 for ever"), unit="s"),
    _number(FAILOVER, "recovery_timeout", "90", _("For a recovered node to start; 0 no wait"), unit="s"),
    _number(
        FAILOVER,
        "client_idle_limit_in_recovery",
        "0",
        _("Idle clients are put out during recovery; -1 at once"),
        unit="s",
        minimum=-1,
    ),
    _flag(TLS, "ssl", "0", _("Speak TLS to clients, and to the servers that offer it"), restart=True),
    _file(TLS, "ssl_cert", _("The certificate shown to clients, PEM"), check=pem.certificate_fault, key="ssl_key"),
    _file(TLS, "ssl_key", _("Its key, PEM, without a passphrase"), check=pem.key_fault),
    _file(
        TLS, "ssl_ca_cert", _("Authorities for servers' and clients' certificates, PEM"), check=pem.certificate_fault
    ),
    _file(TLS, "ssl_crl_file", _("Revoked certificates, PEM")),
    _file(TLS, "ssl_dh_params_file", _("Diffie-Hellman parameters, PEM")),
    _text(TLS, "ssl_ciphers", "HIGH:MEDIUM:+3DES:!aNULL", _("OpenSSL's list, TLS 1.2 and older"), restart=True),
    _text(TLS, "ssl_ecdh_curve", "prime256v1", _("Curve of the key exchange"), restart=True),
    _flag(TLS, "ssl_prefer_server_ciphers", "0", _("Our order of ciphers before the client's"), restart=True),
    _setting(
        LOGINS,
        RULES,
        Type.FILE,
        "",
        "Further rules of pool_hba.conf, read after those of the pools: database, user, address and method",
        check=rules_fault,
    ),
    _flag(LOG, "log_connections", "0", _("Log each client that comes")),
    _flag(LOG, "log_disconnections", "0", _("Log each client that leaves")),
    _flag(LOG, "log_hostname", "0", _("With the client's name, not its address alone")),
    _flag(LOG, "log_statement", "0", _("Log every statement")),
    _flag(LOG, "log_per_node_statement", "0", _("Log every statement with its backend")),
    _flag(LOG, "notice_per_node_statement", "0", _("Tell the client as well"), since=(4, 5)),
    _flag(LOG, "log_client_messages", "0", _("Log the messages of clients")),
    _choice(
        LOG,
        "log_backend_messages",
        "none",
        _("Log the messages of backends"),
        "none",
        "terse",
        "verbose",
        since=(4, 6),
    ),
    _flag(LOG, "log_pcp_processes", "1", _("Log what comes over the PCP port"), since=(4, 5), until=(4, 7)),
    _flag(LOG, "log_pcp_processes", "0", _("Log what comes over the PCP port"), since=(4, 7)),
    _choice(LOG, "log_min_messages", "warning", _("From which severity on to log"), *SERVER_LEVELS),
    _choice(LOG, "client_min_messages", "notice", _("The least severity of messages sent to clients"), *LEVELS),
    _choice(LOG, "log_error_verbosity", "default", _("The detail of an error message"), "terse", "default", "verbose"),
    _text(LOG, "log_line_prefix", "%m: %a pid %p: ", _("Before each line of the log"), may_be_empty=True),
    _choice(
        LOG, "log_destination", "stderr", _("Where the log goes"), "stderr", "syslog", "stderr,syslog", "syslog,stderr"
    ),
    _choice(LOG, "syslog_facility", "LOCAL0", _("Where syslog sorts it"), *FACILITIES),
    _text(LOG, "syslog_ident", "pgpool", _("How it is named there")),
    _flag(LOG, "logging_collector", "0", _("Collect what goes to stderr in files"), restart=True),
    *(setting for times in BEFORE_AND_SINCE_4_6 for setting in _collector(**times)),
    _flag(CACHE, "memory_cache_enabled", "0", _("Answer equal reads out of memory"), restart=True),
    _choice(CACHE, "memqcache_method", "shmem", _("Where answers are kept"), "shmem", "memcached", restart=True),
    _text(CACHE, "memqcache_memcached_host", "localhost", _("The memcached"), restart=True),
    _number(CACHE, "memqcache_memcached_port", "11211", _("Its port"), maximum=65535, restart=True),
    _number(CACHE, "memqcache_total_size", "67108864", _("Shared memory for answers"), unit="bytes", restart=True),
    _number(CACHE, "memqcache_max_num_cache", "1000000", _("Answers kept at most"), restart=True),
    _number(CACHE, "memqcache_expire", "0", _("An answer is forgotten after; 0 never"), unit="s", restart=True),
    _flag(CACHE, "memqcache_auto_cache_invalidation", "1", _("Forget answers when their table is written")),
    _number(CACHE, "memqcache_maxcache", "409600", _("Larger answers are not kept"), unit="bytes", restart=True),
    _number(
        CACHE, "memqcache_cache_block_size", "1048576", _("Block of memory"), unit="bytes", minimum=512, restart=True
    ),
    _text(CACHE, "memqcache_oiddir", "/var/log/pgpool/oiddir", _("Folder of table ids"), restart=True),
    _text(CACHE, "cache_safe_memqcache_table_list", "", _("Tables and views to keep answers of, comma separated")),
    _text(CACHE, "cache_unsafe_memqcache_table_list", "", _("Tables not to keep answers of, comma separated")),
    _number(
        RELCACHE,
        "relcache_expire",
        "0",
        _("What is known of tables is asked anew after; 0 never"),
        unit="s",
        restart=True,
    ),
    _number(RELCACHE, "relcache_size", "256", _("Tables remembered by each child"), restart=True),
    _flag(RELCACHE, "enable_shared_relcache", "1", _("Children share it, in 130 MB of shared memory"), restart=True),
    _choice(
        RELCACHE,
        "relcache_query_target",
        "primary",
        _("The backend queried about tables"),
        "primary",
        "load_balance_node",
    ),
    _choice(RELCACHE, "check_temp_table", "catalog", _("How to detect temporary tables"), "catalog", "trace", "none"),
    _flag(RELCACHE, "check_unlogged_table", "1", _("Send reads of unlogged tables to the primary")),
    _flag(NATIVE, "replicate_select", "0", _("Send reads to all backends, in native replication")),
    _flag(NATIVE, "insert_lock", "1", _("Lock the table at INSERT so that serials agree")),
    _text(NATIVE, "lobj_lock_table", "", _("Table locked to make large objects agree")),
    _flag(NATIVE, "replication_stop_on_mismatch", "0", _("Detach the backend that answers otherwise than the most")),
    _flag(NATIVE, "failover_if_affected_tuples_mismatch", "0", _("Detach the backend that changed other rows")),
    *(
        _number(
            BACKENDS,
            f"backend_weight{number}",
            "1",
            format_lazy(_("Share of the reads that backend {number} gets; 0 for none"), number=number),
            maximum=100_000_000,
        )
        for number in range(MOST_BACKENDS)
    ),
    *(
        _choice(
            BACKENDS,
            f"backend_flag{number}",
            "ALLOW_TO_FAILOVER",
            format_lazy(_("Whether backend {number} may be detached automatically"), number=number),
            "ALLOW_TO_FAILOVER",
            "DISALLOW_TO_FAILOVER",
            "DISALLOW_TO_FAILOVER|ALWAYS_PRIMARY",
        )
        for number in range(MOST_BACKENDS)
    ),
)


def by_name(version: Version) -> dict[str, Setting]:
    """Return the settings that a release knows, by name."""
    return {setting.name: setting for setting in CATALOG if setting.known_to(version)}
