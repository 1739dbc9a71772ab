"""What a login costs: parts of the same logins, so that no part exceeds the whole."""

import itertools
import time

import pytest

from pools.advice import login_cost
from pools.clusters.endpoints import Endpoint

ENDPOINT = Endpoint(host="localhost", port=5432, database="app", user="app")


def test_one_slow_login_does_not_make_a_part_more_than_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    burns = itertools.chain([0.0, 0.1], itertools.repeat(0.001))

    def log_in(endpoint: Endpoint) -> tuple[str, bool]:
        until = time.thread_time() + next(burns)
        while time.thread_time() < until:
            pass
        return "", False

    monkeypatch.setattr(login_cost, "_log_in", log_in)
    login = login_cost._measured("directly", ENDPOINT, ())
    assert 0 < login.client_cpu_ms <= login.total_ms
    assert (login.pooler_cpu_ms, login.tls_ms) == (None, None)
