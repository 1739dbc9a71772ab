"""What an entry of [users] takes: limits of one user over all pools."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import MODES, choice, number, of_group
from pools.poolers.settings_schema import Scope

OF_USER = {"scope": Scope.USER}
TIME = {"unit": "s", **OF_USER}

SETTINGS = of_group(
    _("Limits"),
    choice(
        "pool_mode",
        MODES,
        "",
        _("PgBouncer uses this mode for all connections of the user; an empty field means the mode of each pool."),
        anchor="pool_mode-2",
        **OF_USER,
    ),
    number(
        "max_user_connections",
        "",
        _(
            "PgBouncer opens at most this many server connections for the user over all pools; an empty field or 0 "
            "means max_user_connections of the program."
        ),
        anchor="max_user_connections-1",
        **OF_USER,
    ),
    number(
        "max_user_client_connections",
        "",
        _(
            "PgBouncer accepts at most this many client connections of the user at once; an empty field or 0 means "
            "max_user_client_connections of the program."
        ),
        since=(1, 24),
        anchor="max_user_client_connections-1",
        **OF_USER,
    ),
    number(
        "pool_size",
        "",
        _(
            "PgBouncer opens at most this many server connections for the user in each pool; an empty field means the "
            "size of each pool."
        ),
        since=(1, 23),
        anchor="pool_size-1",
        **OF_USER,
    ),
    number(
        "reserve_pool_size",
        "",
        _(
            "PgBouncer may open this many more server connections for the user in each pool when clients wait too "
            "long; an empty field means the reserve of each pool."
        ),
        since=(1, 24),
        anchor="reserve_pool_size-2",
        **OF_USER,
    ),
    number(
        "query_timeout",
        "",
        _(
            "PgBouncer ends a query of the user that runs longer than this many seconds, and its connection with it; "
            "an empty field or 0 means query_timeout of the program."
        ),
        since=(1, 24),
        anchor="query_timeout-1",
        **TIME,
    ),
    number(
        "query_wait_timeout",
        "",
        _(
            "PgBouncer disconnects the user's client when its query has waited this many seconds for a server "
            "connection; an empty field means query_wait_timeout of the pool, and 0 lets it wait forever."
        ),
        since=(1, 26),
        anchor="query_wait_timeout-2",
        **TIME,
    ),
    number(
        "idle_transaction_timeout",
        "",
        _(
            "PgBouncer disconnects the user's client when it is idle in a transaction for more than this many "
            "seconds; an empty field or 0 means idle_transaction_timeout of the program."
        ),
        since=(1, 24),
        anchor="idle_transaction_timeout-1",
        **TIME,
    ),
    number(
        "transaction_timeout",
        "",
        _(
            "PgBouncer disconnects the user's client when its transaction lasts longer than this many seconds; an "
            "empty field or 0 means transaction_timeout of the program."
        ),
        since=(1, 25),
        anchor="transaction_timeout-1",
        **TIME,
    ),
    number(
        "client_idle_timeout",
        "",
        _(
            "PgBouncer disconnects the user's client when it is idle for more than this many seconds; an empty field "
            "or 0 means client_idle_timeout of the program."
        ),
        since=(1, 24),
        anchor="client_idle_timeout-1",
        **TIME,
    ),
)
