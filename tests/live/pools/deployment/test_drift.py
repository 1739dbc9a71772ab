"""Pools that somebody changed behind the panel's back, on a real PgBouncer."""

from pathlib import Path

import pytest
from pytest_django import Settings

from panel.quickstart.servers import PgBouncerServer
from pools import deployment, tasks
from pools.deployment import drift
from pools.models import Pool, Pooler, PoolState, RevisionState
from tests.live.pools.conftest import Live, state_of

pytestmark = pytest.mark.django_db(transaction=True)


def edit_by_hand(server: PgBouncerServer, old: str, new: str) -> Path:
    ini = server.config_dir / "pooldeck.ini"
    ini.write_text(ini.read_text().replace(old, new))
    with server.connect() as console:
        console.execute(b"RELOAD")
    return ini


def test_a_pool_that_is_live_as_proved_stays_applied(orders: Pool) -> None:
    tasks.check_drift()
    assert state_of(orders) == (PoolState.APPLIED, "")


def test_a_pool_changed_by_hand_is_called_drifted_until_it_is_right_again(
    orders: Pool, pgbouncer: PgBouncerServer
) -> None:
    edit_by_hand(pgbouncer, "pool_size=3", "pool_size=40")
    tasks.check_drift()
    assert state_of(orders) == (PoolState.DRIFTED, "the pooler has pool orders with pool_size 40, not 3")
    edit_by_hand(pgbouncer, "pool_size=40", "pool_size=3")
    tasks.check_drift()
    assert state_of(orders) == (PoolState.APPLIED, "")


def test_a_pool_taken_out_by_hand_is_called_drifted(orders: Pool, pgbouncer: PgBouncerServer) -> None:
    edit_by_hand(pgbouncer, "orders = ", "; orders = ")
    tasks.check_drift()
    assert state_of(orders) == (PoolState.DRIFTED, "the pooler has no pool orders")


def test_overwriting_brings_a_drifted_pool_back(
    orders: Pool, pooler: Pooler, pgbouncer: PgBouncerServer, live: Live
) -> None:
    edit_by_hand(pgbouncer, "pool_size=3", "pool_size=40")
    tasks.check_drift()
    deployment.reset_to_pending(pooler)
    assert deployment.apply_pooler(pooler, overwrite=True).state == RevisionState.APPLIED
    assert (state_of(orders), live()["orders"][2]) == ((PoolState.APPLIED, ""), 3)


def test_an_apply_at_work_is_no_drift(orders: Pool, pooler: Pooler, pgbouncer: PgBouncerServer) -> None:
    edit_by_hand(pgbouncer, "pool_size=3", "pool_size=40")
    assert pooler.take_apply_lock()
    tasks.check_drift()
    assert state_of(orders) == (PoolState.APPLIED, "")


def test_a_pooler_that_is_down_is_no_drift(orders: Pool, pgbouncer: PgBouncerServer) -> None:
    pgbouncer.stop()
    tasks.check_drift()
    assert state_of(orders) == (PoolState.APPLIED, "")


def drift_of(pooler: Pooler) -> list[dict[str, str]]:
    pooler.refresh_from_db()
    return pooler.drift


def test_only_the_generator_whose_folder_it_is_clears_what_it_found_in_the_files(
    orders: Pool, pooler: Pooler, pgbouncer: PgBouncerServer, settings: Settings
) -> None:
    Pooler.objects.filter(pk=pooler.pk).update(generator=settings.GENERATOR)
    ini = edit_by_hand(pgbouncer, "pool_size=3", "pool_size=40")
    tasks.check_drift()
    in_file, live = {"where": ini.name, "what": "it was edited by hand"}, drift_of(pooler)[1:]
    assert (drift_of(pooler)[0], {one["where"] for one in live}) == (in_file, {drift.LIVE})
    edit_by_hand(pgbouncer, "pool_size=40", "pool_size=3")
    own, settings.GENERATOR = settings.GENERATOR, "elsewhere"
    for _ in range(2):  # what is live can be seen from anywhere
        drift.check(pooler)
        assert (drift_of(pooler), state_of(orders)) == ([in_file], (PoolState.APPLIED, ""))
    settings.GENERATOR = own
    tasks.check_pooler(str(pooler.pk))
    assert (drift_of(pooler), pooler.drift_seen_at) == ([], None)
