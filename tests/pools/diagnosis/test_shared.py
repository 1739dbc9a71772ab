"""Who reads the sessions of a server in the diagnosis of a pool, and how often it is asked."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.accounts.access import Access
from core.accounts.models import Membership, Role, Team
from pools.diagnosis import causes, diagnosis, shared
from pools.diagnosis.blocking_tree import Branch
from pools.diagnosis.diagnosis import Diagnosis, Holder
from pools.diagnosis.evidence import Evidence
from pools.diagnosis.finding import Finding
from pools.models import Pool
from pools.poolers import KINDS
from pools.poolers.console_sample import ConsoleSample, PoolFigures
from tests.callers import of_an_admin, person
from tests.pools.diagnosis.test_causes import CASES, OPEN, connection, evidence
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Pool:
    """A pool of a cluster of another team than its pooler's; each diagnosis of it is a new one."""
    holders = (Holder(connection(7), OPEN),)
    tree = [Branch(0, 7, OPEN)]
    note = 'role "batch" is hidden'
    notes = ("the core is not known", note)

    def ask(target: Pool) -> Diagnosis:
        found = Diagnosis(target.name, datetime.now(UTC), "", Finding("", ""), holders=holders, tree=tree)
        return replace(found, notes=notes, server_notes=(note,))

    monkeypatch.setattr(diagnosis, "of", ask)
    theirs = Team.objects.create(name="theirs")
    return a_pool(pooler=a_pooler(), cluster=a_cluster(team=theirs))


def test_sessions_are_for_those_who_see_the_cluster(pool: Pool) -> None:
    reader = person("reader", staff=False)
    Membership.objects.filter(user=reader).delete()
    Membership.objects.create(user=reader, team=Team.objects.get(pk=pool.pooler.team_id), role=Role.VIEWER)
    found = shared.read_by(Access.by(reader), pool)
    assert ([holder.session for holder in found.holders], found.tree) == ([None], [])
    assert found.notes == (
        "the core is not known",
        "The sessions of the server are shown to those who see its cluster.",
    )
    assert shared.read_by(of_an_admin(), pool).holders[0].session == OPEN


REFUSED = replace(evidence(OPEN, server_limits=()), server_error='role "batch" may not log in', panel_is_refused=True)


@pytest.mark.parametrize("found", [REFUSED, *(found for found, _cause in CASES)])
def test_no_cause_tells_others_whose_sessions_they_are(found: Evidence) -> None:
    told = Diagnosis("orders", datetime.now(UTC), **diagnosis._found(found), evidence=found).without_sessions()
    texts = " ".join(one.sentence + one.remedy for one in (told.finding, *(also for _name, also in told.also)))
    assert not re.search(r"role app|shop|batch|process \d|too many clients", texts), texts
    assert (told.evidence, told.finding.pids) == (None, ())


def test_each_cause_is_among_those_that_others_are_told() -> None:
    assert {cause for _found, cause in CASES} == set(causes.NAMES)


def test_all_who_look_within_two_seconds_share_a_diagnosis(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    first = shared.current(pool)
    assert shared.current(pool) is first
    monkeypatch.setattr(shared, "FRESH_S", 0.0)
    assert shared.current(pool) is not first


def test_a_pooler_that_lets_nobody_in_is_told_by_the_pool_with_most_clients(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {"idle": PoolFigures(cl_active=1), pool.name: PoolFigures(cl_active=9)}
    for clients, found in ((9, []), (10, [pool])):
        sample = ConsoleSample(figures, clients=clients, most_clients=10)
        monkeypatch.setattr(type(KINDS["pgbouncer"]), "sample", lambda *_words, sample=sample: sample)
        assert [target for target, _diagnosis in shared.of_pooler(of_an_admin(), pool.pooler)] == found
