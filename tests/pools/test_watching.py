"""Asking consoles once for all who watch."""

import pytest

from pools import poolers_admin, watching
from pools.errors import PoolerUnreachable
from pools.models import PoolerKind
from pools.poolers.kind import PoolFigures
from tests.pools.records import a_pooler

FIGURES = {"web": PoolFigures(cl_active=3, cl_waiting=1)}


@pytest.fixture
def questions(monkeypatch):
    """The names of the poolers whose console was asked, in order; a pooler named down does not answer."""
    names = []

    def answer(pooler):
        names.append(pooler.name)
        if pooler.name == "down":
            raise PoolerUnreachable("pooler down can't be reached")
        return FIGURES

    monkeypatch.setattr(poolers_admin, "pool_figures", answer)
    return names


def test_many_watchers_cost_one_question(db, questions):
    pooler = a_pooler(name="edge")
    assert [watching.figures(pooler).figures for _ in range(3)] == [FIGURES] * 3
    assert questions == ["edge"]


def test_an_old_answer_is_asked_anew(db, questions, monkeypatch):
    pooler = a_pooler(name="edge")
    watching.figures(pooler)
    monkeypatch.setattr(watching, "FRESH_S", 0.0)
    watching.figures(pooler)
    assert questions == ["edge", "edge"]


def test_an_edited_pooler_is_asked_anew(db, questions):
    pooler = a_pooler(name="edge")
    watching.figures(pooler)
    watching.figures(pooler.edit(None, port=2))
    assert questions == ["edge", "edge"]


def test_a_dead_console_answers_with_its_reason_and_spoils_no_other(db, questions):
    up, down = a_pooler(name="up"), a_pooler(name="down")
    looks = watching.figures_of([up, down, up])
    assert looks[up.pk].figures == FIGURES
    assert (looks[down.pk].figures, looks[down.pk].error) == ({}, "pooler down can't be reached")
    assert sorted(questions) == ["down", "up"]


def test_show_pools_is_for_pgbouncer_only(db):
    assert watching.show_pools(a_pooler(kind=PoolerKind.PGPOOL)) == watching.Look()
