"""What SHOW POOL_POOLS says of the databases behind a Pgpool-II."""

from pools.poolers.console_sample import PoolFigures
from pools.poolers.pgpool import sql


def row(pid: int, database: str, username: str, connected: str = "1", backend: str = "0") -> dict[str, object]:
    """As 4.6 has it, with the columns that are read."""
    columns = ("pool_pid", "database", "username", "pool_connected", "backend_id")
    return dict(zip(columns, (str(pid), database, username, connected, backend), strict=True))


def test_connections_are_counted_by_database_on_the_first_backend():
    rows = [
        row(1, "shop", "app"),
        row(1, "shop", "app", backend="1"),
        row(2, "shop", "app", connected="0"),
        row(3, "", ""),
    ]
    assert sql.figures(rows) == {"shop": PoolFigures(cl_active=1, sv_active=1, sv_idle=1)}


def test_the_session_that_asks_is_left_out_and_no_other_of_the_same_role():
    own = [row(1, "postgres", "postgres"), row(1, "postgres", "postgres", backend="1")]
    others = [row(1, "shop", "app", connected="0"), row(2, "postgres", "postgres"), row(3, "postgres", "postgres", "0")]
    assert sql.others([*own, *others], "postgres") == others


def test_nothing_is_left_out_where_the_panel_is_not_among_them():
    rows = [row(1, "postgres", "postgres", connected="0"), row(2, "shop", "app")]
    assert sql.others(rows, "postgres") == rows


def test_the_primary_is_found_and_else_the_first_backend():
    nodes = [
        {"hostname": f"db{number}", "port": "5432", "role": role} for number, role in enumerate(("standby", "primary"))
    ]
    assert sql._primary(nodes) == ("db1", 5432)
    assert sql._primary(nodes[:1]) == ("db0", 5432)
    assert sql._primary([]) == ("", None)
