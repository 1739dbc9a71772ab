"""What a [databases] entry takes beside what a pool's own fields say (name, address, database, user, mode, size)."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.authentication import LOOKUP, QUERY
from pools.poolers.pgbouncer.settings_catalog.shapes import choice, number, of_group, text
from pools.poolers.settings_schema import Scope

OF_POOL = {"scope": Scope.POOL}
LARGEST_RESERVE = 100_000  # beyond any max_connections; with the size it must fit a C int

SETTINGS = of_group(
    _("Further settings"),
    number("min_pool_size", _("Smallest size"), "", _("Server connections kept open even without clients"), **OF_POOL),
    number(
        "reserve_pool",
        _("Reserve"),
        "",
        _("More server connections when clients wait too long"),
        maximum=LARGEST_RESERVE,
        also=("reserve_pool_size",),  # its name since 1.24
        **OF_POOL,
    ),
    number(
        "server_lifetime",
        _("Lifetime"),
        "",
        _("Of an unused connection"),
        minimum=1,  # 0 is read as the program's own (1.24: SHOW DATABASES)
        unit="seconds",
        since=(1, 23),
        **OF_POOL,
    ),
    number("max_db_client_connections", _("Clients"), "", _("At once; 0 for no limit"), since=(1, 24), **OF_POOL),
    number(
        "query_wait_timeout",
        _("Wait for a server"),
        "",
        _("Then a client is disconnected; 0 waits for ever"),
        unit="seconds",
        since=(1, 26),
        **OF_POOL,
    ),
    choice(
        "load_balance_hosts",
        _("Several hosts"),
        ("disable", "round-robin"),
        "round-robin",
        _("Take turns, or keep to one until it fails"),
        since=(1, 24),
        **OF_POOL,
    ),
    text(
        "connect_query",
        _("First query"),
        "",
        _("Run on each new server connection; an error is only logged"),
        carries_sql=True,
        **OF_POOL,
    ),
    text("client_encoding", "client_encoding", "", _("Asked of the server"), pattern=r"[A-Za-z0-9_-]+", **OF_POOL),
    text("datestyle", "DateStyle", "", _("Asked of the server, such as ISO, DMY"), pattern=r"[A-Za-z, ]+", **OF_POOL),
    text("timezone", "TimeZone", "", _("Asked of the server, such as UTC"), pattern=r"[A-Za-z0-9_+/:.<>-]+", **OF_POOL),
    text("application_name", "application_name", "", _("Of server connections whose client gives none"), **OF_POOL),
    text("auth_dbname", _("Database for look-ups"), "", _("The entry to run the query in"), since=(1, 19), **OF_POOL),
    text("auth_query", _("Look-up query"), "", LOOKUP, pattern=QUERY, since=(1, 22), carries_sql=True, **OF_POOL),
)
