"""Every layout: watched, previewed, taken over and let go, with clients at work through it all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from core.lib.polling import poll
from panel.quickstart.servers import binary, version_of
from pools.deployment import take_overs
from pools.deployment.pgbouncer import take_over_plan
from pools.deployment.pgbouncer.steps import STEPS
from pools.models import Cluster, Pooler, PoolState, TakeOver, TakeOverState
from tests.live.pools.deployment.take_over.conftest import Load, OperatorsPgBouncer, Start
from tests.live.pools.deployment.take_over.layouts import LAYOUTS, POOL, Layout

pytestmark = pytest.mark.django_db(transaction=True)
RELEASES = ("installed", "trixie_pgbouncer", "sid_pgbouncer")


def cases() -> list[object]:
    """Every layout on each release; one release of each in the ordinary suite."""
    return [
        pytest.param(
            layout,
            release,
            id=f"{layout}-{release.partition('_')[0]}",
            marks=[] if number % len(RELEASES) == at else [pytest.mark.slow],
        )
        for number, layout in enumerate(LAYOUTS)
        for at, release in enumerate(RELEASES)
    ]


@pytest.fixture
def program(request: pytest.FixtureRequest, release: str, layout: Layout) -> str | None:
    path = binary("pgbouncer") if release == "installed" else str(request.getfixturevalue(release))
    if version_of(path) < layout.since:
        pytest.skip(f"{layout} needs PgBouncer {layout.since}")
    return path


@pytest.mark.parametrize(("layout", "release"), cases())
def test_a_layout_is_taken_over_without_a_difference_and_let_go_byte_for_byte(
    cluster: Cluster,
    layout: Layout,
    start: Start,
    watch: Callable[[OperatorsPgBouncer], Pooler],
    load: Callable[[OperatorsPgBouncer], Load],
) -> None:
    pgbouncer = start(layout)
    pooler, before = watch(pgbouncer), pgbouncer.bytes_of_all()
    work = load(pgbouncer)
    poll(lambda: (len(work.clients()) == 3, None), 10)
    clients = work.clients()
    assert len(clients) == 3, work.end()
    config_file = str(pgbouncer.main) if layout.is_started_inside else ""
    with take_over_plan.planned(pooler, config_file) as plan:
        described = plan.preview()
    assert described["blockers"] == []
    assert {one["name"]: one["becomes"] for one in described["entries"]} == dict(layout.entries)
    assert all(one["because"] for one in described["entries"] if one["becomes"] != POOL)
    assert "app-password" not in str(described)
    assert pgbouncer.bytes_of_all() == before  # nothing before consent
    shown = pgbouncer.shown()

    STEPS.request(pooler, config_file)
    STEPS.resume(pooler)
    taken = TakeOver.objects.get()
    assert (taken.state, taken.reason) == (TakeOverState.TAKEN, "")
    assert pgbouncer.shown() == shown
    pooler.refresh_from_db()
    assert (pooler.is_watched, pooler.config_file) == (False, str(pgbouncer.main))
    pools = {name for name, becomes in layout.entries.items() if becomes == POOL}
    assert set(pooler.pools.filter(state=PoolState.APPLIED).values_list("name", flat=True)) == pools
    _each_taken_line_is_a_comment(pgbouncer, before, pools)

    take_overs.request_release(pooler)
    take_overs.resume(pooler)
    taken.refresh_from_db()
    assert (taken.state, taken.reason) == (TakeOverState.RELEASED, "")
    assert pgbouncer.bytes_of_all() == before
    assert pgbouncer.shown() == shown
    pooler.refresh_from_db()
    assert (pooler.is_watched, pooler.pools.count()) == (True, 0)
    assert work.clients() == clients
    assert work.end() == ""


def _each_taken_line_is_a_comment(
    pgbouncer: OperatorsPgBouncer, before: dict[str, tuple[bytes, int, int]], pools: set[str]
) -> None:
    """Only comment signs, one include and the panel's own file are new; owners and modes are as before."""
    after = pgbouncer.bytes_of_all()
    own = str(Path(pgbouncer.layout.main).parent / "pooldeck.ini")
    assert after.keys() - before.keys() == {own}
    for name, (content, mode, owner) in before.items():
        assert after[name][1:] == (mode, owner)
        new = after[name][0].replace(b"; taken over by Pooldeck: ", b"")
        assert new.startswith(content)
        assert len(new) == len(content) or name == pgbouncer.layout.main
    marks = sum(content.count(b"; taken over by Pooldeck: ") for content, *_ in after.values())
    assert marks >= len(pools)
