"""Logins refused on a host that only sshd leads to: counted by SSH, and unknown while the host can't be reached."""

import time
from types import SimpleNamespace

import psycopg
import pytest

from panel.quickstart.servers import RedisServer, free_port
from pools import tasks
from pools.models import Host, Pooler
from pools.monitoring import refused_logins
from pools.monitoring.refused_logins import Refusals
from tests.live.pools.deployment.take_over.conftest import OperatorsPgBouncer
from tests.live.pools.monitoring.conftest import shared_redis

__all__ = ["shared_redis"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def managed(watched: Pooler, own: OperatorsPgBouncer) -> Pooler:
    """The PgBouncer, whose files the panel may read."""
    Pooler.objects.update(config_dir=str(own.config_dir), config_file=str(own.main))
    return Pooler.objects.get()


def refuse(own: OperatorsPgBouncer, times: int) -> None:
    for _number in range(times):
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            psycopg.connect(host=own.host, port=own.port, user="app", password="wrong", dbname="app", connect_timeout=5)


def test_they_are_counted_by_ssh_and_unknown_while_the_host_is_out_of_reach(
    managed: Pooler,
    own: OperatorsPgBouncer,
    shared_redis: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SimpleNamespace(ahead_s=0.0)
    monkeypatch.setattr(refused_logins, "time", SimpleNamespace(time=lambda: time.time() + clock.ahead_s))
    monkeypatch.setattr(refused_logins, "EVERY_S", 0.002)

    def counted() -> Refusals:
        time.sleep(0.05)  # the claim of the reading before
        clock.ahead_s += 30
        tasks.count_refused_logins()
        return refused_logins.of_one(managed)

    refuse(own, 2)
    assert counted().unknown == "its log was read for the first time a moment ago"
    refuse(own, 7)
    assert dict(counted().reasons) == {"password_failed": 7}

    Host.objects.update(port=free_port())  # nobody listens there
    assert "can't be reached" in counted().unknown
