"""When logins through a Pgpool-II prove a pool: children take a reload one after the other."""

from collections.abc import Callable

import psycopg
import pytest

from pools.models import Cluster, Pool, Pooler
from pools.poolers.faults import Rejected
from pools.poolers.pgpool import session
from pools.poolers.pgpool.session import PgpoolSession

Answers = Callable[[str], list[str]]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Has logins answered by these letters, y or n, the last one for good; what was answered."""
    monkeypatch.setattr(session, "RETRY_EVERY_S", 0.01)
    monkeypatch.setattr(session, "SEEN_WITHIN_S", 0.3)
    monkeypatch.setattr(PgpoolSession, "_refuse_busy", lambda *_: None)

    def answering(letters: str) -> list[str]:
        given: list[str] = []

        def refusal(*_: object) -> psycopg.Error | None:
            given.append(letters[min(len(given), len(letters) - 1)])
            no = psycopg.OperationalError("pool_passwd file does not contain an entry")
            return no if given[-1] == "n" else None

        monkeypatch.setattr(PgpoolSession, "_refusal", refusal)
        return given

    return answering


def prove(steady_s: float) -> None:
    pooler = Pooler(name="edge")
    pool = Pool(name="app", database="app", user="app", pooler=pooler, cluster=Cluster(name="one"))
    PgpoolSession(pooler, (4, 3), "4.3", {})._log_in(pool, steady_s)


def test_a_child_that_has_not_taken_the_reload_yet_makes_the_proof_begin_again(answers: Answers) -> None:
    given = answers("nyny")
    prove(steady_s=0.05)
    assert given[:4] == ["n", "y", "n", "y"]
    assert given.count("y") >= 3


def test_one_login_is_enough_where_the_children_were_proved_by_another_pool(answers: Answers) -> None:
    given = answers("ny")
    prove(steady_s=0)
    assert given == ["n", "y"]


def test_children_that_never_take_it_are_a_refusal_in_their_words(answers: Answers) -> None:
    answers("n")
    with pytest.raises(Rejected, match="a login through pool app as app failed: pool_passwd file does not contain"):
        prove(steady_s=0.05)


def read_back(monkeypatch: pytest.MonkeyPatch, letters: str) -> list[str]:
    """What the children say in turn, n for the old setting, the last one for good; what was said."""
    reported: list[str] = []

    def late(*_: object) -> dict[str, tuple[str, str]]:
        reported.append(letters[min(len(reported), len(letters) - 1)])
        return {"log_statement": ("off", "on")} if reported[-1] == "n" else {}

    monkeypatch.setattr(session, "RETRY_EVERY_S", 0.01)
    monkeypatch.setattr(session, "SEEN_WITHIN_S", 0.3)
    monkeypatch.setattr(session, "STEADY_S", 0.05)
    monkeypatch.setattr(PgpoolSession, "_outdated", late)
    monkeypatch.setattr(session.pcp, "log_in", lambda *_: reported.append("pcp"))
    PgpoolSession(Pooler(name="edge"), (4, 3), "4.3", {}).read_back({})
    return reported


def test_settings_are_live_once_no_child_says_the_old_ones_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = read_back(monkeypatch, "nyny")
    assert reported[:4] == ["n", "y", "n", "y"]
    assert reported.count("y") >= 3
    assert reported[-1] == "pcp"


def test_a_child_that_keeps_the_old_settings_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Rejected, match="after the reload: log_statement is 'off', not 'on'"):
        read_back(monkeypatch, "n")
