"""A run cloned into the form: sent as it stands it asks for the same again."""

import pytest

from benchmarks.forms.runs import RunForm, initial_of
from benchmarks.models import Purpose, Script, ScriptVersion, SettingsProfile
from benchmarks.results import annotations
from benchmarks.runs.submission import options as load_options
from tests.benchmarks.records import a_finished_run
from tests.callers import of_an_admin
from tests.pools.records import a_cluster, a_pool

pytestmark = pytest.mark.django_db
CONDITIONS = {
    "idle_connections": 50,
    "idle_at": "cluster",
    "settings_profile": "tuned",
    "vacuum": True,
    "checkpoint": True,
    "warm_up": 5,
}
ASKED = [
    ("pgbench", {}),
    ("pgbench", CONDITIONS | {"clients": 7, "threads": 3, "duration": 9, "protocol": "prepared", "percentiles": False}),
    ("pgbench", {"transactions": 100, "connect": True, "rate": 55.5, "latency_limit": 20, "max_tries": 3}),
    ("pgbench", {"builtin": ["tpcb-like@3", "select-only"], "report_per_command": True, "random_seed": "7"}),
    ("pgbench", {"scripts": [{"text": "SELECT :rows, :city", "weight": 2}], "variables": {"rows": 10, "city": "Oslo"}}),
    ("sysbench", CONDITIONS | {"script": "oltp_read_only", "threads": 4, "duration": 9, "tables": 3}),
    ("http", CONDITIONS | {"connection": "pooled", "pool_size": 5, "pool_idle": 2, "concurrency": 9, "duration": 7}),
    ("http", {"connection": "new", "concurrency": 3}),
]
THRESHOLDS = [
    {"metric": "tps", "at_least": 100.0},
    {"metric": "tps", "at_most": 900.5},
    {"metric": "latency_p99_ms", "at_most": 12.5},
    {"metric": "failed_percent", "at_most": 0.0},
]


def sent(run):
    """The form as a browser sends it back when nothing in it was changed."""
    form = RunForm(initial=initial_of(run), access=of_an_admin())
    shown = {name: form[name].value() for name in form.fields}
    return RunForm(
        {name: value for name, value in shown.items() if value is not None and value is not False}, access=of_an_admin()
    )


def asked_again(run):
    form = sent(run)
    assert form.is_valid(), form.errors
    return form


@pytest.mark.parametrize(("engine", "options"), ASKED)
def test_every_option_is_carried_over(engine, options):
    SettingsProfile.objects.create(name="tuned", values={"work_mem": "16MB"})
    asked = load_options.validate(engine, options, purpose=Purpose.LOAD)
    run = a_finished_run(cluster=a_cluster(), engine=engine, options=asked)
    assert asked_again(run).cleaned_data["options"] == asked


def test_a_script_of_the_library_stays_its_version():
    script = Script.objects.create(name="orders")
    old, new = (ScriptVersion.objects.create(script=script, number=n, text=f"SELECT {n}") for n in (1, 2))
    asked = load_options.validate("pgbench", {"scripts": [{"script_version": old.pk}]}, purpose=Purpose.LOAD)
    run = a_finished_run(cluster=a_cluster(), options=asked)
    assert asked_again(run).cleaned_data["options"] == asked
    assert new.text not in str(asked)


def test_name_tags_role_generators_and_thresholds_are_carried_over_but_no_note():
    run = a_finished_run(
        cluster=a_cluster(),
        role="app",
        name="nightly",
        wanted_generators=["east", "west"],
        alongside=True,
        thresholds=THRESHOLDS,
    )
    annotations.annotate(run, note="before the upgrade", tags=["pg16", "two words"])
    form = asked_again(run)
    chosen = form.cleaned_data
    assert (chosen["name"], chosen["tags"], chosen["user"]) == ("nightly", ["pg16", "two words"], "app")
    assert (form.place.generators, form.place.alongside) == (["east", "west"], True)
    assert sorted(map(str, form.thresholds)) == sorted(map(str, THRESHOLDS))
    assert "before the upgrade" not in str(form)


@pytest.mark.parametrize("through_pool", [True, False])
def test_the_target_is_carried_over(through_pool):
    pool = a_pool()
    aim = {"pool": pool, "pooled": True} if through_pool else {}
    run = a_finished_run(cluster=pool.cluster, **aim)
    direct = {"cluster": str(pool.cluster.pk), "database": "shop", "user": ""}
    assert asked_again(run).target() == ({"pool": str(pool.pk), "user": ""} if through_pool else direct)


def test_a_pool_that_is_gone_is_no_way_round_it():
    pool = a_pool()
    run = a_finished_run(cluster=pool.cluster, pool=pool, pooled=True)
    pool.delete()
    run.refresh_from_db()
    form = sent(run)
    assert form["route"].value() == "pooled"
    assert form.errors == {"pool": ["pool is needed: enter it"]}


def test_tags_are_checked_before_anything_is_started():
    run = a_finished_run(cluster=a_cluster())
    form = sent(run)
    form.data = {**form.data, "tags": "x" * 41}
    assert form.errors == {"tags": [f"'{'x' * 41}' is too long: a tag has at most 40 characters"]}
