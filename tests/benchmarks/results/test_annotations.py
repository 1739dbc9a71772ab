"""Notes, tags and the pinned baseline of a target."""

import pytest

from benchmarks.errors import IllegalTransition
from benchmarks.models import Run, Tag
from benchmarks.results import annotations
from benchmarks.results.annotations import InvalidNote
from tests.callers import of_an_admin
from tests.pools.records import a_cluster, a_pool

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster():
    return a_cluster()


def a_run(cluster, **changes) -> Run:
    return Run.objects.enqueue(**{"cluster": cluster, "database": "shop", "validity": "valid"} | changes)


def tags_of(run: Run) -> list[str]:
    return [tag.name for tag in run.tags.all()]


def test_what_is_not_given_stays(cluster):
    run = a_run(cluster)
    annotations.annotate(run, note="before the upgrade", tags=["nightly", " pg16 ", "nightly", ""])
    annotations.annotate(run, tags=["pg16"])
    annotations.annotate(run, name="evening")
    run.refresh_from_db()
    assert (run.note, run.name, tags_of(run)) == ("before the upgrade", "evening", ["pg16"])
    assert [tag.name for tag in Tag.objects.all()] == ["pg16"]


@pytest.mark.parametrize(
    ("given", "errors"),
    [
        ({"note": "x" * 10_001}, {"note": ["10,001 characters are too many: use at most 10,000"]}),
        ({"tags": [str(n) for n in range(21)]}, {"tags": ["21 tags are too many: use at most 20"]}),
        ({"tags": ["y" * 41]}, {"tags": [f"'{'y' * 41}' is too long: a tag has at most 40 characters"]}),
    ],
)
def test_too_much_is_refused_with_nothing_written(cluster, given, errors):
    run = a_run(cluster)
    with pytest.raises(InvalidNote) as caught:
        annotations.annotate(run, **{"note": "new", "tags": ["new"]} | given)
    assert caught.value.errors == errors
    run.refresh_from_db()
    assert (run.note, tags_of(run)) == ("", [])


def test_one_baseline_of_a_target(cluster):
    first, second, elsewhere = a_run(cluster), a_run(cluster), a_run(cluster, database="other")
    for run in (first, elsewhere, second):
        annotations.pin(run)
    assert [run.number for run in Run.objects.filter(is_baseline=True).order_by("number")] == [2, 3]
    assert annotations.baseline_of(first, of_an_admin()) == second
    assert annotations.baseline_of(second, of_an_admin()) is None
    annotations.unpin(second)
    assert annotations.baseline_of(first, of_an_admin()) is None


def test_doubtful_figures_are_no_baseline(cluster):
    with pytest.raises(IllegalTransition, match="is not valid: only a valid run can be a baseline"):
        annotations.pin(a_run(cluster, validity="suspect"))


def test_the_baseline_of_a_pool_that_is_gone_is_not_that_of_its_cluster():
    pool = a_pool()
    pooled = a_run(pool.cluster, pool=pool, pooled=True, target_label="web on front")
    direct = a_run(pool.cluster, target_label="demo/shop")
    annotations.pin(pooled)
    pool.delete()
    assert annotations.baseline_of(direct, of_an_admin()) is None
    annotations.pin(direct)
    assert Run.objects.filter(is_baseline=True).count() == 2


def test_runs_whose_clusters_are_gone_are_told_apart_by_name():
    first, second = a_run(None, target_label="north/shop"), a_run(None, target_label="south/shop")
    again = a_run(None, target_label="north/shop")
    for run in (first, second):
        annotations.pin(run)
    assert annotations.baseline_of(again, of_an_admin()) == first
    assert Run.objects.filter(is_baseline=True).count() == 2
