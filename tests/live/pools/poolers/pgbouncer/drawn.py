"""What property tests draw: names, passwords, pools and settings of the catalog, with its edges."""

from hypothesis import strategies as st

from pools.models import identifiers
from pools.poolers import settings_schema
from pools.poolers.pgbouncer import global_settings
from pools.poolers.pgbouncer.settings_catalog import CATALOG
from pools.poolers.settings_schema import Scope, Setting, Type, Version

CHARACTERS = st.characters(exclude_characters="\0\r\n\ufeff", exclude_categories=["Cs"])
ODD = st.sampled_from(["'", '"', "''", "\\", "%", " ", ";", "#", "=", "é", "名", "%include x", "\t", "$1", "{}", "--"])
TEXT = st.lists(CHARACTERS | ODD, min_size=1, max_size=20).map("".join)
TAKEN = ("app", "postgres", "none", "public")  # by the servers at hand, and by PostgreSQL itself
IDENTIFIERS = TEXT.filter(
    lambda name: not identifiers.identifier_problem(name) and not name.startswith("pg_") and name not in TAKEN
)
PASSWORDS = (TEXT | st.integers(300, identifiers.LONGEST_PASSWORD).map("p".__mul__)).filter(
    lambda one: not identifiers.password_problem(one)
)
POOL_NAMES = st.from_regex(r"[A-Za-z0-9_.-]{1,63}", fullmatch=True).filter(
    lambda one: not identifiers.pool_name_problem(one)
)
USERS = st.from_regex(r"[A-Za-z0-9_.-]{1,63}", fullmatch=True).filter(lambda one: one not in ("pooldeck", "pgbouncer"))
# These would lock the test's own logins out, or need a certificate, a program or a network to be there.
ELSEWHERE = {
    "auth_type",
    "auth_ldap_options",
    "client_tls_sslmode",
    "server_tls_sslmode",
    "max_client_conn",
    "max_db_client_connections",
    "max_user_client_connections",
    "max_db_connections",
    "max_user_connections",
    "max_packet_size",
    "disable_pqexec",
    "listen_addr",
    "unix_socket_dir",
    "unix_socket_group",
    "client_login_timeout",
    "server_connect_timeout",
    "query_wait_timeout",
    "query_timeout",
    "tcp_user_timeout",
    "server_lifetime",
    "server_login_retry",
    "auth_dbname",
    "auth_user",
    "auth_query",
    "peer_id",
    "resolv_conf",
    "transaction_timeout",
    "client_idle_timeout",
    "idle_transaction_timeout",
    "suspend_timeout",
    "syslog",
    "min_pool_size",
    "reserve_pool_size",
    "stats_period",
    "tcp_socket_buffer",
    "verbose",
}
USUAL_TEXTS = {
    "track_extra_parameters": ["IntervalStyle", "IntervalStyle, search_path"],
    "ignore_startup_parameters": ["extra_float_digits", "extra_float_digits, options", "a.b,c"],
    "client_tls_ecdhcurve": ["auto", "none", "prime256v1"],
    "stats_users": ["pooldeck", "pooldeck, ann"],
}


def value_of(setting: Setting) -> st.SearchStrategy[object]:
    """Values that the catalog takes, its edges among them."""
    low, high = int(setting.minimum or 0), int(setting.maximum or settings_schema.LARGEST)
    if setting.type == Type.NUMBER:
        return st.sampled_from([low, low + 1, high]) | st.integers(low, high)
    if setting.type == Type.SECONDS:
        return st.sampled_from([0, 0.1, 0.29, 1.5, 3600, high]) | st.floats(0, 1e6).map(lambda number: round(number, 3))
    if setting.type == Type.BOOLEAN:
        return st.sampled_from([True, False, 0, 1, "1"])
    if setting.type == Type.CHOICE:
        return st.sampled_from(setting.choices)
    if setting.name in USUAL_TEXTS:
        return st.sampled_from(USUAL_TEXTS[setting.name])
    return st.from_regex(setting.pattern, fullmatch=True) if setting.pattern else TEXT


def settings_of(
    scope: Scope, version: Version, without: frozenset[str] = frozenset()
) -> st.SearchStrategy[dict[str, object]]:
    """Some settings of a scope that the validator accepts for this release."""
    offered = [one for one in settings_schema.offered(CATALOG, scope, version) if one.type != Type.FILE]
    known = [one for one in offered if one.name not in without]
    drawn = st.fixed_dictionaries({}, optional={one.name: value_of(one) for one in known})
    return drawn.map(lambda values: _accepted(scope, values, version))


def _accepted(scope: Scope, values: dict[str, object], version: Version) -> dict[str, object]:
    if scope == Scope.PROGRAM:
        refused = {name for name, _ in global_settings.problems(values, {}, version)}
    else:
        refused = {name for name, _ in settings_schema.problems(CATALOG, scope, values, version)}
    return {name: value for name, value in values.items() if name not in refused}
