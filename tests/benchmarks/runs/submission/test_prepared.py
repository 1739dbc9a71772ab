"""Prepared statements through a pool that can't carry them are refused before the start, with the reason."""

import pytest

from benchmarks.errors import InvalidOptions
from benchmarks.runs.submission import prepared
from benchmarks.targets.resolve import Target
from pools.models import Pool
from pools.poolers import live_settings
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db
PREPARED, AUTO = {"protocol": "prepared"}, {"db_ps_mode": "auto"}


def a_pool_of(version: str, mode: str = "transaction", **pooler: object) -> Pool:
    return a_pool(mode=mode, pooler=a_pooler(server_version=f"PgBouncer {version}", **pooler))


def refusal(pool: Pool, engine: str = "pgbench", options: dict[str, str] = PREPARED) -> str:
    with pytest.raises(InvalidOptions) as refused:
        prepared.guard(Target(pool.cluster, pool.database, pool), engine, options)
    [(option, [reason])] = refused.value.errors.items()
    assert option in options
    return reason


def test_a_release_before_1_21_keeps_none() -> None:
    assert "PgBouncer before 1.21 keeps none in transaction mode, and this is 1.18: use extended" in refusal(
        a_pool_of("1.18.0")
    )
    assert "keeps none in statement mode" in refusal(a_pool_of("1.20.1", "statement"), "sysbench", AUTO)


def test_a_later_one_keeps_none_where_it_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "max_prepared_statements of its PgBouncer is 0" in refusal(a_pool_of("1.22.0"))  # its default until 1.24
    assert "is 0" in refusal(a_pool_of("1.24.1", settings={"max_prepared_statements": 0}))
    monkeypatch.setattr(live_settings, "read", lambda _: {"max_prepared_statements": "0"})
    assert "is 0" in refusal(a_pool_of("1.26.1"))  # by the operator


@pytest.mark.parametrize(
    ("pool", "engine", "options"),
    [
        (("1.24.1", "transaction"), "pgbench", PREPARED),
        (("1.18.0", "session"), "pgbench", PREPARED),
        (("1.18.0", "transaction"), "pgbench", {"protocol": "extended"}),
        (("1.18.0", "transaction"), "sysbench", {"db_ps_mode": "disable"}),
        (("1.18.0", "transaction"), "http", PREPARED),
    ],
)
def test_what_the_pool_carries_is_let_through(pool: tuple[str, str], engine: str, options: dict[str, str]) -> None:
    made = a_pool_of(*pool)
    prepared.guard(Target(made.cluster, made.database, made), engine, options)
    prepared.guard(Target(made.cluster, made.database), "pgbench", PREPARED)
