"""What each cause needs to be named, and what keeps it from being named."""

from dataclasses import replace

import pytest

from pools.diagnosis import causes
from pools.diagnosis.causes import server_logins
from pools.diagnosis.evidence import Evidence
from pools.diagnosis.sessions import ServerSessions, Session
from pools.poolers.pool_queue import CoreUse, Limit, PoolQueue, ServerConnection

FULL = (Limit("pool_size", 2, 2),)
OPEN = Session(
    pid=7,
    backend_start=None,
    database="app",
    role="app",
    application="shop",
    client="10.0.0.7",
    client_port=50001,
    state="active",
    wait_event_type="",
    wait_event="",
    backend_type="client backend",
    transaction_s=0.2,
    statement_s=0.1,
    in_state_s=0.1,
    query="SELECT $1",
    text="SELECT 'secret'",
    blocked_by=(),
    kept="",
)
LEFT_OPEN = replace(OPEN, state="idle in transaction", transaction_s=90.0, in_state_s=80.0)
SLOW = replace(OPEN, transaction_s=12.0, statement_s=11.0, in_state_s=11.0)
WRITING = replace(SLOW, wait_event_type="Client", wait_event="ClientWrite")
HIDDEN = replace(OPEN, state="", backend_type="", transaction_s=None, statement_s=None, in_state_s=None)
KEPT = replace(OPEN, state="idle", transaction_s=None, in_state_s=400.0)


def connection(pid: int, state: str = "active") -> ServerConnection:
    return ServerConnection("orders", "app", state, pid, 40000 + pid)


def evidence(*sessions: Session, beside: tuple[Session, ...] = (), **changes: object) -> Evidence:
    """The sessions are those of the pool's server connections, in the order of their pids."""
    held = [replace(session, pid=pid) for pid, session in enumerate(sessions, 1)]
    values: dict[str, object] = {"waiting": 3, "server_limits": FULL} | changes
    queue = PoolQueue("orders", servers=tuple(connection(one.pid) for one in held), **values)  # type: ignore[arg-type]
    return Evidence(queue, ServerSessions({one.pid: one for one in (*held, *beside)}, connections=20, most=97))


def named(found: Evidence) -> list[str]:
    return [name for name, _finding in causes.found_in(found)]


LOCKED = replace(SLOW, wait_event_type="Lock", blocked_by=(70,))
HOLDER = replace(LEFT_OPEN, pid=70, application="batch")


CASES = [
    (evidence(LOCKED, LOCKED, beside=(HOLDER,)), "lock"),
    (evidence(LOCKED, OPEN, beside=(HOLDER,)), "lock"),
    (evidence(replace(LOCKED, blocked_by=(0,)), LOCKED), "lock"),
    (evidence(LEFT_OPEN, LEFT_OPEN), "idle_in_transaction"),
    (evidence(SLOW, SLOW), "slow_statement"),
    (evidence(OPEN, OPEN), "pool_size"),
    (evidence(KEPT, KEPT, mode="session"), "pool_size"),
    (evidence(OPEN, OPEN, core=CoreUse(0.8, 0.15)), "pooler_core"),
    (evidence(WRITING, SLOW, core=CoreUse(0.3, 0.25)), "pooler_core"),
    (evidence(WRITING, SLOW, core=CoreUse(0.05, 0.33)), "pooler_core"),  # of a machine that is busy
    (evidence(WRITING, SLOW, core=CoreUse(0.02, 0.01)), "slow_statement"),  # it is a client that does not read
    (evidence(WRITING, SLOW, SLOW, core=CoreUse(0.05, 0.33)), "slow_statement"),
    (evidence(OPEN, OPEN, paused=True), "paused"),
    (evidence(waiting=0, client_limits=(Limit("max_client_conn", 100, 100),)), "client_limit"),
    (evidence(server_limits=(), unresolved=("db.example",)), "dns"),
    (evidence(server_limits=()), "server_logins"),
    (replace(evidence(OPEN, server_limits=()), login_error="too many clients"), "server_logins"),
]


@pytest.mark.parametrize(("found", "cause"), CASES)
def test_the_first_cause_is_the_one_that_clients_wait_for(found: Evidence, cause: str) -> None:
    assert named(found)[0] == cause


@pytest.mark.parametrize(
    "found",
    [
        evidence(OPEN, OPEN, waiting=0),
        evidence(LEFT_OPEN, LEFT_OPEN, waiting=0),
        evidence(HIDDEN, HIDDEN),  # what the panel's role may not see is not guessed
        evidence(OPEN, server_limits=(Limit("pool_size", 2, 1),)),
    ],
)
def test_nothing_is_named_where_nothing_is_known(found: Evidence) -> None:
    assert named(found) == []


def test_the_end_of_a_chain_of_locks_is_named_not_its_middle() -> None:
    middle = replace(LOCKED, pid=71, blocked_by=(70,), application="migration")
    found = evidence(replace(LOCKED, blocked_by=(71,)), replace(LOCKED, blocked_by=(71,)), beside=(middle, HOLDER))
    (_name, finding), *_others = causes.found_in(found)
    assert finding.sentence == (
        "Lock: 2 server connections of pool orders wait for process 70 (role app, application batch). "
        "Its transaction has been open for 90 s, and nothing runs in it now."
    )
    assert finding.pids == (70,)


def test_a_deadlock_has_no_end_and_names_those_in_it() -> None:
    found = evidence(replace(LOCKED, blocked_by=(2,)), replace(LOCKED, blocked_by=(1,)))
    assert found.sessions is not None
    assert found.sessions.blockers_of(found.held[0]) == [1, 2]
    assert named(found)[0] == "lock"


def test_a_reached_limit_of_clients_stands_behind_what_holds_the_connections() -> None:
    found = evidence(SLOW, SLOW, client_limits=(Limit("max_client_conn", 100, 100),))
    assert named(found) == ["slow_statement", "client_limit"]


def test_a_server_without_an_address_is_no_second_cause() -> None:
    assert named(evidence(server_limits=(), unresolved=("db.example",))) == ["dns"]


def test_a_cause_is_one_module_and_one_line() -> None:
    assert list(causes.CAUSES) == list(causes.NAMES)


def test_a_lack_of_connections_claims_no_login_that_was_not_tried() -> None:
    lacking = evidence(server_limits=())
    found = [replace(lacking, sessions=None), lacking, replace(lacking, login_error="")]
    sentences = [server_logins.find(one).sentence for one in found]  # type: ignore[union-attr]
    lead = "The pooler has no connection to the server of pool orders"
    assert sentences == [
        f"{lead}.",
        f"{lead}, although the panel's role can log in there.",
        f"{lead}, although its role can log in there.",
    ]


AUTOVACUUM = replace(SLOW, role=None, application="", backend_type="autovacuum worker", statement_s=900.0)
ALL_TAKEN = Limit("num_init_children", 4, 4, further_wait=True)
PGPOOL: dict[str, object] = {"waiting": 0, "server_limits": (), "client_limits": (ALL_TAKEN,), "counts_waiting": False}


def behind_haproxy(*sessions: Session, clients: int, most: int = 4) -> Evidence:
    """Which session belongs to which client is not told, so that all of the database are known."""
    limits = (Limit("maxconn", most, clients, further_wait=True),)
    kind = {"client_limits": limits, "sees_servers": False, "counts_waiting": False}
    queue = PoolQueue("orders", 0, mode="session", **kind)  # type: ignore[arg-type]
    by_pid = {pid: replace(session, pid=pid) for pid, session in enumerate(sessions, 1)}
    return Evidence(queue, ServerSessions(by_pid, connections=20, most=97))


@pytest.mark.parametrize(
    ("found", "named_causes"),
    [
        (evidence(*[LOCKED] * 4, beside=(HOLDER,), **PGPOOL), ["lock", "client_limit"]),
        (evidence(*[LEFT_OPEN] * 4, **PGPOOL), ["idle_in_transaction", "client_limit"]),
        (evidence(*[SLOW] * 4, **PGPOOL), ["slow_statement", "client_limit"]),
        (evidence(*[KEPT] * 4, **PGPOOL), ["pool_size", "client_limit"]),
        (evidence(LOCKED, beside=(HOLDER,), **PGPOOL), ["client_limit"]),  # clients of other pools have the children
        (evidence(**PGPOOL), ["client_limit"]),
        (evidence(LOCKED, **PGPOOL | {"client_limits": (Limit("num_init_children", 4, 1, True),)}), []),
        (behind_haproxy(*[SLOW] * 4, clients=4), ["slow_statement", "client_limit"]),
        (behind_haproxy(*[SLOW] * 3, AUTOVACUUM, clients=3), []),
        (behind_haproxy(SLOW, KEPT, KEPT, KEPT, clients=4), ["pool_size", "client_limit"]),
    ],
)
def test_where_clients_wait_uncounted_a_used_up_limit_stands_for_the_queue(
    found: Evidence, named_causes: list[str]
) -> None:
    assert named(found) == named_causes


def test_only_sessions_of_clients_are_taken_for_those_of_a_pool() -> None:
    found = behind_haproxy(AUTOVACUUM, replace(SLOW, backend_type="walsender"), SLOW, clients=4)
    assert [one.backend_type for one in found.held] == ["client backend"]


@pytest.mark.parametrize(
    ("session", "description"),
    [
        (replace(AUTOVACUUM, pid=9), "process 9 (autovacuum worker)"),
        (replace(HIDDEN, pid=9, role=None), "process 9"),
        (replace(OPEN, pid=9), "process 9 (role app, application shop)"),
    ],
)
def test_a_process_without_a_role_is_named_by_what_it_is(session: Session, description: str) -> None:
    assert session.description == description


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        (
            ALL_TAKEN,
            "num_init_children is reached: 4 clients are connected of 4, and further ones wait until one leaves.",
        ),
        (
            Limit("max_client_conn", 4, 4),
            "max_client_conn is reached: 4 clients are connected of 4, and further ones are refused.",
        ),
    ],
)
def test_a_limit_says_what_becomes_of_further_clients(limit: Limit, sentence: str) -> None:
    (_name, finding), *_others = causes.found_in(evidence(waiting=0, client_limits=(limit,)))
    assert finding.sentence == sentence


@pytest.mark.parametrize(
    ("is_refused", "named_causes"),
    [(True, ["server_logins"]), (False, [])],  # a question that timed out is no refused login
)
def test_a_question_that_failed_is_no_refused_login(is_refused: bool, named_causes: list[str]) -> None:
    found = replace(evidence(OPEN, server_limits=()), sessions=None, server_error="no", panel_is_refused=is_refused)
    assert named(found) == named_causes


def test_a_limit_is_not_to_be_raised_while_the_server_has_no_connections_left() -> None:
    found = evidence(OPEN, OPEN)
    full = replace(found, sessions=replace(found.sessions, connections=97))  # type: ignore[type-var]
    ((_name, finding),) = causes.found_in(full)
    assert finding.remedy == "Raise pool_size once the server has connections left: it has none now."


def test_the_limit_that_is_reached_is_the_one_to_raise() -> None:
    found = evidence(KEPT, KEPT, mode="session", server_limits=(Limit("max_db_connections", 2, 2),))
    ((_name, finding),) = causes.found_in(found)
    assert finding.remedy == "Use transaction mode, if the clients allow it, or raise max_db_connections."


def test_what_the_server_said_to_the_pooler_counts_before_what_it_said_to_the_panel() -> None:
    refused = replace(evidence(server_limits=()), login_error="too many clients", logged_error="wrong password")
    assert server_logins.find(refused).sentence == (  # type: ignore[union-attr]
        "The server refuses logins, so pool orders has no connection: wrong password."
    )
    assert named(replace(evidence(server_limits=(), waiting=0), logged_error="wrong password")) == ["server_logins"]
    assert named(replace(evidence(waiting=0), logged_error="wrong password")) == []  # a limit is what holds it up
