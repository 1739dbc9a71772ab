"""Notes, tags, the baseline and files on a run's page."""

import pytest

from benchmarks.models import Run
from tests.pages import page_of
from tests.pools.records import a_cluster


@pytest.fixture
def run(db) -> Run:
    done = {"status": "succeeded", "validity": "valid", "summary": {"tps": 812.4, "latency_p95_ms": 3.0}}
    return Run.objects.enqueue(cluster=a_cluster(), database="shop", target_label="demo/shop", **done)


def url(run: Run, *rest: str) -> str:
    return "/".join([f"/runs/{run.pk}", *rest, ""])


def test_a_note_and_tags_are_kept_and_shown(staff, run):
    text = page_of(staff.post(url(run, "note"), {"note": "<b>slow</b>", "tags": "nightly, pg16"}, follow=True))
    assert "The note and the tags of run 1 were saved." in text
    assert "&lt;b&gt;slow&lt;/b&gt;" in text
    assert 'value="nightly, pg16"' in text


def test_too_long_a_tag_is_told(staff, run):
    text = page_of(staff.post(url(run, "note"), {"tags": "y" * 41}, follow=True))
    assert "Nothing was saved: tags: " in text


def test_a_baseline_is_pinned_and_others_lead_to_the_comparison(staff, run):
    assert "Pin as the baseline" in page_of(staff.get(url(run)))
    text = page_of(staff.post(url(run, "baseline"), follow=True))
    assert "Unpin as the baseline" in text
    values = {"cluster": run.cluster, "database": "shop", "status": "succeeded", "validity": "valid"}
    other = Run.objects.enqueue(**values)
    assert f"?run={run.pk}&amp;run={other.pk}" in page_of(staff.get(url(other)))
    assert "Pin as" in page_of(staff.post(url(run, "baseline"), {"unpin": "yes"}, follow=True))


def test_thresholds_say_what_passed(staff, run):
    Run.objects.filter(pk=run.pk).update(
        thresholds=[{"metric": "tps", "at_least": 1000.0}, {"metric": "latency_p95_ms", "at_most": 5.0}], gate="failed"
    )
    text = page_of(staff.get(url(run)))
    for part in ("Throughput 812.4 tps, at least 1,000 tps: failed", "3 ms, at most 5 ms: passed", "failed"):
        assert part in text


@pytest.mark.parametrize("kind", ["csv", "json", "html", "log"])
def test_the_files_are_there(staff, run, kind):
    assert f'href="{url(run, "export", kind)}"' in page_of(staff.get(url(run)))
    assert staff.get(url(run, "export", kind)).status_code == 200


def test_readers_look_and_change_nothing(reader, run):
    text = page_of(reader.get(url(run)))
    assert "No note or tags yet." in text
    assert "Pin as" not in text
    assert reader.get(url(run, "export", "csv")).status_code == 200
    assert [reader.post(url(run, rest)).status_code for rest in ("note", "baseline")] == [403, 403]


def test_another_kind_of_file_is_not_found(staff, run):
    assert staff.get(url(run, "export", "pdf")).status_code == 404


def test_the_form_of_a_clone_has_its_thresholds(staff, run):
    Run.objects.filter(pk=run.pk).update(thresholds=[{"metric": "tps", "at_least": 1000.0}])
    form = staff.get("/runs/new/", {"clone": run.pk}).context["form"]
    assert form["threshold_tps"].value() == 1000.0


def test_the_list_finds_runs_by_tag_and_by_gate(staff, run):
    staff.post(url(run, "note"), {"tags": "nightly"})
    Run.objects.filter(pk=run.pk).update(gate="passed", is_baseline=True)
    Run.objects.enqueue(cluster=run.cluster, name="another", gate="failed", status="succeeded")
    for query in ({"tag": "nightly"}, {"gate": "passed"}):
        text = page_of(staff.get("/runs/", query))
        assert "another" not in text
        assert 'href="/runs/?tag=nightly"' in text
    assert "baseline" in page_of(staff.get("/runs/"))
