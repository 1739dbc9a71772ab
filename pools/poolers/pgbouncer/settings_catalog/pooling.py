"""How many connections there are, and what a client may expect of the one it gets."""

from django.utils.translation import gettext_lazy as _

from pools.poolers.pgbouncer.settings_catalog.shapes import (
    MODES,
    WORD_LIST,
    choice,
    number,
    of_group,
    seconds,
    switch,
    text,
)

ENTRIES = _(
    "PgBouncer opens at most this many server connections for each pair of database and user (default {default}), "
    "unless the entry has its own size, as every pool of the panel does."
)
ENTRIES_OR_ALL = _(
    "PgBouncer opens at most this many server connections for each pair of database and user (default {default}), "
    "unless the entry has its own size, as every pool of the panel does; 0 means no limit."
)
PREPARED = _(
    "PgBouncer keeps this many prepared statements on each server connection, so that clients can use them in "
    "transaction and statement mode (default {default}); 0 turns that off."
)
SIZES = of_group(
    _("Pools and clients"),
    number(
        "max_client_conn",
        "100",
        _("PgBouncer accepts at most this many client connections (default {default}), and refuses further ones."),
    ),
    choice(
        "pool_mode",
        MODES,
        "session",
        _(
            "PgBouncer reuses a server connection after each session, transaction or statement (default {default}), "
            "unless the entry has its own mode, as every pool of the panel does."
        ),
    ),
    number("default_pool_size", "20", ENTRIES, minimum=1, until=(1, 24)),
    number("default_pool_size", "20", ENTRIES_OR_ALL, since=(1, 24)),
    number(
        "min_pool_size",
        "0",
        _("PgBouncer keeps at least this many server connections open in a pool that has clients (default {default})."),
        until=(1, 21),
    ),
    number(
        "min_pool_size",
        "0",
        _(
            "PgBouncer keeps at least this many server connections open in a pool that has clients or a fixed user "
            "(default {default})."
        ),
        since=(1, 21),
    ),
    number(
        "reserve_pool_size",
        "0",
        _(
            "PgBouncer may open this many more server connections in a pool whose clients wait too long "
            "(default {default}); 0 turns the reserve off."
        ),
    ),
    seconds(
        "reserve_pool_timeout",
        "5",
        _(
            "PgBouncer uses the reserve of a pool when a client has waited this many seconds (default {default}); 0 "
            "turns the reserve off."
        ),
    ),
    number(
        "max_db_connections",
        "0",
        _(
            "PgBouncer opens at most this many server connections for one database entry over all its users "
            "(default {default}); 0 means no limit."
        ),
    ),
    number(
        "max_db_client_connections",
        "0",
        _(
            "PgBouncer accepts at most this many client connections for one database entry over all its users "
            "(default {default}); 0 means no limit."
        ),
        since=(1, 24),
    ),
    number(
        "max_user_connections",
        "0",
        _(
            "PgBouncer opens at most this many server connections for one user over all its pools "
            "(default {default}); 0 means no limit."
        ),
    ),
    number(
        "max_user_client_connections",
        "0",
        _(
            "PgBouncer accepts at most this many client connections of one user over all entries (default {default}); "
            "0 means no limit."
        ),
        since=(1, 24),
    ),
    seconds(
        "pool_idle_timeout",
        "0",
        _(
            "PgBouncer frees a pool that has had no connections for this many seconds, and forgets its statistics "
            "(default {default}); 0 keeps every pool."
        ),
        since=(1, 26),
    ),
)
SESSIONS = of_group(
    _("What clients get"),
    number("max_prepared_statements", "0", PREPARED, since=(1, 21), until=(1, 24)),
    number("max_prepared_statements", "200", PREPARED, since=(1, 24)),
    text(
        "track_extra_parameters",
        "IntervalStyle",
        _(
            "PgBouncer keeps the values of these parameters for each client in transaction mode, if PostgreSQL reports "
            "them (default {default}); commas separate the names."
        ),
        pattern=WORD_LIST,
        restart=True,
        since=(1, 20),
        until=(1, 26),
        may_be_empty=True,
    ),
    text(
        "track_extra_parameters",
        "",
        _(
            "PgBouncer keeps the values of these parameters for each client in transaction mode, besides those that "
            "PostgreSQL reports (none by default); commas separate the names."
        ),
        pattern=WORD_LIST,
        restart=True,
        since=(1, 26),
    ),
    text(
        "ignore_startup_parameters",
        "",
        _(
            "PgBouncer ignores these startup parameters, such as extra_float_digits, where it would refuse the client "
            "(none by default); commas separate the names."
        ),
        pattern=WORD_LIST,
        may_be_empty=True,
    ),
    switch(
        "application_name_add_host",
        "0",
        _(
            "PgBouncer adds the client's address and port to application_name at login, which shows the sender of "
            "a bad query (default {default})."
        ),
    ),
    switch(
        "disable_pqexec",
        "0",
        _("PgBouncer refuses the simple query protocol, and passes on only the extended one (default {default})."),
        restart=True,
    ),
    switch(
        "server_round_robin",
        "0",
        _(
            "PgBouncer uses the server connections of a pool in turn, which suits several hosts behind one name, "
            "instead of the one used last (default {default})."
        ),
    ),
    text(
        "login_notify_message",
        "",
        _("PgBouncer sends this notice to each client that has logged in (none by default)."),
        since=(1, 26),
    ),
    number(
        "stats_period",
        "60",
        _(
            "PgBouncer takes the averages of SHOW STATS, and logs its statistics, over this many seconds "
            "(default {default})."
        ),
        unit="s",
    ),
    number(
        "peer_id",
        "0",
        _(
            "PgBouncer has this number among its peers, the processes behind one address, so that cancel requests find "
            "the right one (default {default}); 0 means no peers."
        ),
        maximum=16383,
        since=(1, 19),
    ),
)
SETTINGS = SIZES + SESSIONS
