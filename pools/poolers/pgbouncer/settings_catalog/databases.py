"""What a [databases] entry takes beside what a pool's own fields say (name, address, database, user, mode, size)."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.authentication import QUERY
from pools.poolers.pgbouncer.settings_catalog.shapes import choice, number, of_group, text
from pools.poolers.settings_schema import Scope

OF_POOL = {"scope": Scope.POOL}
LARGEST_RESERVE = 100_000  # more than any max_connections; with the size it must fit a C int
OF_RESERVE = {
    "maximum": LARGEST_RESERVE,
    "also": ("reserve_pool_size",),  # its name since 1.24
    "anchor": "reserve_pool_size-1",
    **OF_POOL,
}

MINIMUM_OF_USED = _(
    "PgBouncer keeps at least this many server connections of the pool open while it has clients; an empty field means "
    "min_pool_size of the program."
)
MINIMUM = _(
    "PgBouncer keeps at least this many server connections of the pool open, while it has clients or a fixed user; an "
    "empty field means min_pool_size of the program."
)
RESERVE = _(
    "PgBouncer may open this many more server connections when clients of the pool wait too long; an empty field means "
    "reserve_pool_size of the program."
)
SETTINGS = of_group(
    _("Further settings"),
    number("min_pool_size", "", MINIMUM_OF_USED, until=(1, 21), anchor="min_pool_size-1", **OF_POOL),
    number("min_pool_size", "", MINIMUM, since=(1, 21), anchor="min_pool_size-1", **OF_POOL),
    number("reserve_pool", "", RESERVE, until=(1, 24), **OF_RESERVE),
    number("reserve_pool", "", RESERVE, since=(1, 24), keyword="reserve_pool_size", **OF_RESERVE),
    number(
        "server_lifetime",
        "",
        _(
            "PgBouncer closes an unused server connection of the pool that is older than this many seconds; an empty "
            "field means server_lifetime of the program."
        ),
        minimum=1,  # 0 is read as the program's own (1.24: SHOW DATABASES)
        unit="s",
        since=(1, 23),
        anchor="server_lifetime-1",
        **OF_POOL,
    ),
    number(
        "max_db_client_connections",
        "",
        _(
            "PgBouncer accepts at most this many client connections of the pool at once; an empty field or 0 means "
            "max_db_client_connections of the program."
        ),
        since=(1, 24),
        anchor="max_db_client_connections-1",
        **OF_POOL,
    ),
    number(
        "query_wait_timeout",
        "",
        _(
            "PgBouncer disconnects a client of the pool whose query has waited this many seconds for a server "
            "connection; an empty field means query_wait_timeout of the program, and 0 lets it wait forever."
        ),
        unit="s",
        since=(1, 26),
        anchor="query_wait_timeout-1",
        **OF_POOL,
    ),
    choice(
        "load_balance_hosts",
        ("disable", "round-robin"),
        "round-robin",
        _(
            "PgBouncer takes the hosts of the pool in turn with round-robin, and keeps to one until it fails with "
            "disable (default {default})."
        ),
        since=(1, 24),
        **OF_POOL,
    ),
    text(
        "connect_query",
        "",
        _("PgBouncer runs this query on each new server connection of the pool, and only logs its errors."),
        carries_sql=True,
        **OF_POOL,
    ),
    text(
        "client_encoding",
        "",
        _("PgBouncer asks the server for this client_encoding, such as UTF8; an empty field means the server's own."),
        pattern=r"[A-Za-z0-9_-]+",
        **OF_POOL,
    ),
    text(
        "datestyle",
        "",
        _("PgBouncer asks the server for this DateStyle, such as ISO, DMY; an empty field means the server's own."),
        pattern=r"[A-Za-z, ]+",
        **OF_POOL,
    ),
    text(
        "timezone",
        "",
        _("PgBouncer asks the server for this TimeZone, such as UTC; an empty field means the server's own."),
        pattern=r"[A-Za-z0-9_+/:.<>-]+",
        **OF_POOL,
    ),
    text(
        "application_name",
        "",
        _("PgBouncer gives server connections this application_name when their client sends none."),
        anchor="section-databases",  # the manual does not list it
        **OF_POOL,
    ),
    text(
        "auth_dbname",
        "",
        _(
            "PgBouncer runs auth_query in this database entry for users of the pool; an empty field means auth_dbname "
            "of the program."
        ),
        since=(1, 19),
        anchor="auth_dbname-1",
        **OF_POOL,
    ),
    text(
        "auth_query",
        "",
        _(
            "PgBouncer runs this query, one line of SQL with $1 for the user name that returns name and secret, for "
            "users of the pool; an empty field means auth_query of the program."
        ),
        pattern=QUERY,
        since=(1, 22),
        carries_sql=True,
        anchor="auth_query-1",
        **OF_POOL,
    ),
)
