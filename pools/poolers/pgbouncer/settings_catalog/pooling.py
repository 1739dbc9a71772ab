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

SIZES = of_group(
    _("Pools and clients"),
    number("max_client_conn", _("Client connections"), "100", _("Clients in all; more are refused at once")),
    choice("pool_mode", _("Mode"), MODES, "session", _("Of entries without one; each pool made here has its own")),
    number(
        "default_pool_size",
        _("Pool size"),
        "20",
        _("Server connections of entries without a size; each pool made here has its own"),
        minimum=1,
        until=(1, 24),
    ),
    number(
        "default_pool_size",
        _("Pool size"),
        "20",
        _("Server connections of entries without a size, 0 for no limit; each pool made here has its own"),
        since=(1, 24),
    ),
    number("min_pool_size", _("Smallest pool size"), "0", _("Server connections kept open even without clients")),
    number("reserve_pool_size", _("Reserve"), "0", _("Of your own pools in pgbouncer.ini: one made here has its own")),
    seconds("reserve_pool_timeout", _("Wait before the reserve"), "5", _("How long a client waits until it is used")),
    number("max_db_connections", _("Server connections of an entry"), "0", _("Over all its users; 0 for no limit")),
    number(
        "max_db_client_connections",
        _("Clients of an entry"),
        "0",
        _("Over all its users; 0 for no limit"),
        since=(1, 24),
    ),
    number("max_user_connections", _("Server connections of a user"), "0", _("Over all its pools; 0 for no limit")),
    number(
        "max_user_client_connections",
        _("Clients of a user"),
        "0",
        _("Over all entries; 0 for no limit"),
        since=(1, 24),
    ),
    seconds(
        "pool_idle_timeout",
        _("Forget an empty pool after"),
        "0",
        _("With its statistics; 0 keeps all. For many users that seldom come"),
        since=(1, 26),
    ),
)
SESSIONS = of_group(
    _("What clients get"),
    number(
        "max_prepared_statements",
        _("Prepared statements"),
        "0",
        _("Kept on each server connection, so that they work in transaction mode; 0 switches that off"),
        since=(1, 21),
        until=(1, 24),
    ),
    number(
        "max_prepared_statements",
        _("Prepared statements"),
        "200",
        _("Kept on each server connection, so that they work in transaction mode; 0 switches that off"),
        since=(1, 24),
    ),
    text(
        "track_extra_parameters",
        _("Parameters tracked"),
        "IntervalStyle",
        _("Names with commas between: kept for each client in transaction mode, if PostgreSQL reports them"),
        pattern=WORD_LIST,
        restart=True,
        since=(1, 20),
        until=(1, 26),
        may_be_empty=True,
    ),
    text(
        "track_extra_parameters",
        _("Parameters tracked"),
        "",
        _("Names with commas between, beside those that PostgreSQL reports: kept for each client in transaction mode"),
        pattern=WORD_LIST,
        restart=True,
        since=(1, 26),
    ),
    text(
        "ignore_startup_parameters",
        _("Startup parameters ignored"),
        "",
        _("Names with commas between, such as extra_float_digits: a client that sends another is refused"),
        pattern=WORD_LIST,
        may_be_empty=True,
    ),
    switch("application_name_add_host", _("Client address in application_name"), "0", _("Tells who sends a bad query")),
    switch("disable_pqexec", _("Refuse simple queries"), "0", _("Only the extended protocol passes"), restart=True),
    switch("server_round_robin", _("Use servers in turn"), "0", _("Otherwise the one used last; for several hosts")),
    text(
        "login_notify_message",
        _("Notice at login"),
        "",
        _("A sentence each client gets when it logs in"),
        since=(1, 26),
    ),
    number(
        "stats_period", _("Averages over"), "60", _("The time that the averages in SHOW STATS span"), unit="seconds"
    ),
    number(
        "peer_id",
        _("Number among its peers"),
        "0",
        _("Of several processes behind one address, so that cancel requests find theirs; 0 for none"),
        maximum=16383,
        since=(1, 19),
    ),
)
SETTINGS = SIZES + SESSIONS
