"""The queue of a pool of HAProxy, out of rows of SHOW STAT."""

from collections.abc import Mapping

import pytest

from pools.poolers.haproxy import proxies

FRONT = {"pxname": "pooldeck", "svname": "FRONTEND", "scur": "7", "slim": "10", "qcur": ""}
BACK = {"pxname": "pooldeck", "svname": "BACKEND", "scur": "4", "slim": "1", "qcur": "3"}
SERVER = {"pxname": "pooldeck", "svname": "127.0.0.1:5432", "scur": "4", "slim": "4", "qcur": "0"}
ELSEWHERE = {"pxname": "others", "svname": "BACKEND", "scur": "1", "slim": "1", "qcur": "9"}


def test_its_backend_has_the_queue_and_its_servers_the_limit_of_connections() -> None:
    found = proxies.queue([FRONT, SERVER, BACK, ELSEWHERE], "app", "pooldeck", "pooldeck")
    assert (found.name, found.waiting, found.sees_servers) == ("app", 3, False)
    assert found.reached_server_limit is not None
    assert (found.reached_server_limit.setting, found.reached_server_limit.most) == ("server maxconn", 4)
    assert found.kernels_queue is None


@pytest.mark.parametrize(
    ("front", "server", "is_held_up", "limit"),
    [
        (FRONT | {"scur": "10"}, SERVER | {"slim": ""}, True, "maxconn"),
        (FRONT, SERVER | {"slim": ""}, False, None),
        (FRONT, SERVER | {"scur": "3"}, False, None),
    ],
)
def test_a_full_frontend_lets_clients_wait_uncounted(
    front: Mapping[str, object], server: Mapping[str, object], is_held_up: bool, limit: str | None
) -> None:
    found = proxies.queue([front, server, BACK | {"qcur": "0"}], "app", "pooldeck", "pooldeck")
    assert (found.is_held_up, found.exhausted.setting if found.exhausted else None) == (is_held_up, limit)
