"""Who has the children of a Pgpool-II, by what its control port answers (captured of 4.3.5 and 4.6.1)."""

import struct
from contextlib import nullcontext
from dataclasses import replace

import pytest

from pools.errors import PoolerUnreachable
from pools.models import Pooler, Revision, RevisionState
from pools.poolers.nodes import Node
from pools.poolers.pgpool import node_admin, pcp, queue_reading, sql
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db
WAITS = "24806|2026-11-29|2|0|0|||||2026-11-29 02:37:58|0|0|0|0|0|0|Wait for connection|"
IDLE = "24817|2026-11-29|1|0|0|app|app|2026-11-29|2026-11-29||0|3|0|1|25005|1|Idle|"
KEPT = "24809|2026-11-29|3|0|0|app|app|2026-11-29|2026-11-29||0|3|0|1|25003|0|Wait for connection|0|"
OTHER = "25047|2026-11-29 02:38:03|2|0|0|sales|app|2026-11-29|2026-11-29||0|3|0|1|25092|1|Execute command|1|"
ON_A_STANDBY = OTHER.replace("|2|0|0|sales", "|2|0|1|sales").replace("25092", "999")

NODE = Node(0, "10.0.0.6", 5432, "up", "", "primary", "", "", "", "")
APPLIED = "backend_hostname0 = 'db-1'\nbackend_hostname1 = 'db-2'\nbackend_port1 = 5433\n"


def rows(*messages: str) -> list[dict[str, object]]:
    return [dict(zip(pcp.COLUMNS, one.split("|"), strict=False)) for one in messages]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcp, "pools", lambda _pooler: rows(WAITS, IDLE, KEPT, OTHER, ON_A_STANDBY))
    ports = {"0": 5432, "1": 5433}
    monkeypatch.setattr(pcp, "backends", lambda _pooler, numbers: {one: ("10.0.0.5", ports[one]) for one in numbers})


def test_a_child_is_counted_once_and_its_connections_are_those_of_their_database(answers: None) -> None:
    found = queue_reading.read(a_pooler(kind="pgpool"), "app")
    (limit,) = found.client_limits
    assert (limit.setting, limit.most, limit.used, limit.further_wait) == ("num_init_children", 4, 2, True)
    assert [(one.pid, one.is_busy) for one in found.servers] == [(25005, True), (25003, False)]
    on_primary, on_standby = found.elsewhere
    assert (on_primary.pid, on_primary.server) == (25092, ("10.0.0.5", 5432))
    assert (on_standby.pid, on_standby.server) == (999, ("10.0.0.5", 5433)), "another server's process"
    assert [one.is_one_of_several for one in (*found.servers, *found.elsewhere)] == [False, False, True, True]
    assert (found.is_held_up, found.counts_waiting) == (False, False)


def test_its_servers_are_those_of_the_applied_file_else_what_it_tells_else_not_told(
    answers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pooler: object, *_words: object) -> None:
        raise PoolerUnreachable("it is down")

    def servers(pooler: Pooler) -> set[tuple[str, int] | None]:
        found = queue_reading.read(pooler, "app")
        return {one.server for one in (*found.servers, *found.elsewhere)}

    pooler = a_pooler(kind="pgpool")
    monkeypatch.setattr(pcp, "backends", refuse)
    monkeypatch.setattr(node_admin, "of_pooler", lambda _pooler: [NODE, replace(NODE, number=1, host="10.0.0.7")])
    assert servers(pooler) == {("10.0.0.6", 5432), ("10.0.0.7", 5432)}
    monkeypatch.setattr(node_admin, "of_pooler", refuse)
    assert servers(pooler) == {("", 0)}
    Revision.objects.draft(pooler, {"pgpool.conf": APPLIED}).finish(RevisionState.APPLIED)
    assert servers(pooler) == {("db-1", 5432), ("db-2", 5433)}


def test_of_a_single_server_none_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcp, "pools", lambda _pooler: rows(IDLE, KEPT))
    assert {one.server for one in queue_reading.read(a_pooler(kind="pgpool"), "app").servers} == {None}


class Answering:
    """A session of PCP that answers each request with the messages of one release."""

    def __init__(self, *messages: bytes) -> None:
        self.sent, self.left = b"", b""
        self.messages = b"".join(b"i" + struct.pack("!I", len(one) + 4) + one for one in messages)

    def sendall(self, text: bytes) -> None:
        self.sent, self.left = self.sent + text, self.left + self.messages

    def recv(self, size: int) -> bytes:
        part, self.left = self.left[:size], self.left[size:]
        return part


@pytest.mark.parametrize(
    "messages",
    [
        (b"CommandComplete\0db-2\x005433\x002\x000.5\x001\0",),
        (b"ArraySize\x001\0", b"NodeInfo\0db-2\x005433\x002\x000\0up\x000.5\x001\0standby\0", b"CommandComplete\0"),
    ],
    ids=["4.2", "4.3"],
)
def test_its_control_port_tells_the_address_of_a_server(
    monkeypatch: pytest.MonkeyPatch, messages: tuple[bytes, ...]
) -> None:
    session = Answering(*messages)
    monkeypatch.setattr(pcp, "_session", lambda _pooler: nullcontext(session))
    assert pcp.backends(a_pooler(kind="pgpool"), ["1", "2"]) == dict.fromkeys("12", ("db-2", 5433))
    assert session.sent == b"I\0\0\0\x061\0I\0\0\0\x062\0"


def test_all_its_children_taken_is_a_queue_of_its_kernel(answers: None) -> None:
    pooler = a_pooler(kind="pgpool", facts={"num_init_children": 2})
    assert queue_reading.read(pooler, "app").is_held_up


def test_without_a_login_to_its_control_port_sql_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pooler: object) -> None:
        raise PoolerUnreachable("it has no PCP port")

    monkeypatch.setattr(pcp, "pools", refuse)
    monkeypatch.setattr(sql, "show", lambda _pooler, _word: rows(WAITS, IDLE))
    assert [one.pid for one in queue_reading.read(a_pooler(kind="pgpool"), "app").servers] == [25005]
