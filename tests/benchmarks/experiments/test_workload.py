"""The load of an advice: scripts as a run takes them, on tables of its own or on those that exist."""

import uuid
from typing import Any

import pytest

from benchmarks.errors import InvalidFields, InvalidOptions, Refused
from benchmarks.experiments import resources, start
from benchmarks.experiments.advice import answers, recorded, sweep, workload
from benchmarks.experiments.advice.recorded import RecordedMix
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.experiments.advice.workload import EXISTING
from benchmarks.experiments.report import presentation
from benchmarks.experiments.start import InvalidExperiment
from benchmarks.library.scripts import library
from benchmarks.models import Ceiling, Holder, ResourceKind
from pools.models import NodeRole, Pool
from tests.benchmarks.records import a_run, the_options
from tests.pools import records
from tests.pools.records import a_cluster, know_password

pytestmark = pytest.mark.django_db
SCALED = "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;"
ORDERS = {"scripts": [{"text": "SELECT 1 FROM orders;"}], "tables": EXISTING}


@pytest.fixture(autouse=True)
def queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that takes everything, and roles that reach nothing."""
    monkeypatch.setattr(sweep, "require_queue", lambda: None)
    monkeypatch.setattr("benchmarks.experiments.dispatch.request_advance", lambda: None)
    monkeypatch.setattr(workload.privileges, "refuse_reaching", lambda target: None)


def a_pool(*, protected: bool = False, **fields: Any) -> Pool:
    """A pool whose user the panel can log in as."""
    cluster = a_cluster(protected=protected)
    know_password(cluster, "app", "secret")
    return records.a_pool(cluster=cluster, **fields)


def ask(pool: Pool | None = None, **asked: Any) -> AdviceRequest:
    """A question of a pool."""
    pool = pool or a_pool()
    return AdviceRequest(**{"cluster": pool.cluster, "pool": pool, "author": None} | asked)


def options_of(request: AdviceRequest) -> dict[str, Any]:
    """The options of the arm of the expected clients, as they come out of the playbook."""
    arms = start.arms_of(sweep.ask(request))
    return dict(next(arm.options for arm in arms if arm.options["clients"] == request.load.clients))


def test_scripts_of_the_library_are_stored_in_full_with_their_weights() -> None:
    library.create(name='say "hi" 🐘', text=SCALED)
    given = {"scripts": [{"script": 'say "hi" 🐘', "weight": 3}, {"text": "SELECT 1;"}], "scale": 2}
    experiment = sweep.ask(ask(workload=given))
    (options,) = {str(arm.options["scripts"]): arm.options for arm in start.arms_of(experiment)}.values()
    assert options["scripts"] == [
        {"text": SCALED, "weight": 3, "name": 'say "hi" 🐘', "version": 1},
        {"text": "SELECT 1;", "weight": 1, "name": ""},
    ]
    assert (options["scale"], options.get("builtin"), experiment.dataset) == (2, None, {"scale": 2})


def test_built_in_scripts_count_their_scale_themselves() -> None:
    options = options_of(ask(workload={"builtin": ["select-only@3", "tpcb-like"], "scale": 2}))
    assert (options["builtin"], options.get("scale")) == (["select-only@3", "tpcb-like"], None)


def test_a_run_lends_its_scripts() -> None:
    lent = the_options(scripts=[{"text": "SELECT 2;"}], protocol="prepared", clients=3, threads=1)
    run = a_run(options=lent)
    options = options_of(ask(workload={"run": str(run.pk), "clients": 8}))
    assert (options["scripts"][0]["text"], options["protocol"], options["clients"]) == ("SELECT 2;", "prepared", 8)


@pytest.mark.parametrize(
    ("given", "error", "field"),
    [
        ({"scripts": [{"text": "\\shell ls"}]}, InvalidOptions, "scripts"),
        ({"scripts": [{"script": "nobody's"}]}, InvalidOptions, "scripts"),
        ({"scripts": "SELECT 1;"}, InvalidOptions, "scripts"),
        ({"run": str(uuid.uuid4())}, InvalidOptions, "run"),
        ({"run": "the last"}, InvalidOptions, "run"),
        ({"tables": "mine"}, InvalidExperiment, "tables"),
        ({"tables": EXISTING}, InvalidExperiment, "tables"),
        ({"tables": EXISTING, "builtin": "select-only"}, InvalidExperiment, "tables"),
        ({"tables": EXISTING, "scripts": [{"text": SCALED}]}, InvalidOptions, "scale"),
        ({"transactions": 5}, InvalidOptions, "transactions"),
        ({"scale": 999_999}, InvalidOptions, "scale"),
        ({"scale": "9" * 5000}, InvalidExperiment, "scale"),
    ],
)
def test_what_a_run_would_refuse_is_refused(given: dict[str, Any], error: type[InvalidFields], field: str) -> None:
    with pytest.raises(error) as refused:
        sweep.ask(ask(workload=given))
    assert list(refused.value.errors) == [field]


def test_existing_tables_are_loaded_as_the_pools_user_and_nothing_is_made_but_pools() -> None:
    pool = a_pool(size=4)
    experiment = sweep.ask(ask(pool, workload=ORDERS, question="mode"))
    assert experiment.dataset == {}
    assert (resources.database_of(experiment), resources.role_of(experiment, "")) == ("shop", "app")
    needs = resources.needs(experiment, start.arms_of(experiment))
    assert [(need.kind, need.values["user"]) for need in needs] == [(ResourceKind.POOL, "app")] * 2
    assert not any("scale" in sentence for sentence in answers.limits(experiment))
    conditions = presentation.conditions(experiment)
    assert conditions["Tables"] == "those of database shop, as role app"
    assert conditions["Workload"].startswith("script 1 [SELECT 1 FROM orders;…")


def test_a_cluster_without_a_pool_names_database_and_role() -> None:
    cluster = a_cluster(protected=False)
    know_password(cluster, "writer", "secret")
    request = AdviceRequest(cluster=cluster, author=None, workload=ORDERS, database="sales", user="writer")
    assert sweep.ask(request).advice["existing"] == {"database": "sales", "user": "writer"}
    with pytest.raises(InvalidExperiment) as refused:
        sweep.ask(AdviceRequest(cluster=cluster, author=None, workload=ORDERS, database="sales"))
    assert list(refused.value.errors) == ["user"]


@pytest.mark.parametrize("fields", [{"user": ""}, {"target": NodeRole.STANDBY}])
def test_existing_tables_need_a_pool_with_a_user_on_the_primary(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidExperiment) as refused:
        sweep.ask(ask(a_pool(**fields), workload=ORDERS))
    assert list(refused.value.errors) == ["tables"]


def test_a_protected_cluster_is_told_that_what_scripts_write_stays() -> None:
    pool = a_pool(protected=True)
    with pytest.raises(Refused, match="Scripts of your own run in database shop as app: what they write stays"):
        sweep.ask(ask(pool, workload=ORDERS))
    assert sweep.ask(ask(pool, workload=ORDERS, confirm=pool.cluster.name)).advice["existing"]["database"] == "shop"


def test_a_role_that_reaches_the_host_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(target: Any) -> None:
        raise Refused(f"role {target.role} is a superuser")

    monkeypatch.setattr(workload.privileges, "refuse_reaching", refuse)
    with pytest.raises(Refused, match="role app is a superuser"):
        sweep.ask(ask(workload=ORDERS))


def test_the_ceilings_of_runs_hold() -> None:
    Ceiling.objects.create(holder=Holder.EVERYONE, clients=16)
    with pytest.raises(InvalidOptions, match="32 is above the run limit of 16"):
        sweep.ask(ask(workload={"clients": 32}))
    assert sweep.ask(ask(workload={"clients": 16}))  # arms of more clients are left out with the reason


RECORDED = RecordedMix([{"text": "SELECT 1 FROM orders;", "weight": 7, "name": "SELECT"}], 0.5, {"writes": 2}, "")


def test_the_recorded_mix_loads_the_pools_tables_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "read", lambda pool: RECORDED)
    pool = a_pool()
    request = ask(pool, workload={"recorded": True, "clients": 4})
    experiment = sweep.ask(request)
    options = start.arms_of(experiment)[0].options
    assert options["scripts"] == [{"text": "SELECT 1 FROM orders;", "weight": 7, "name": "SELECT"}]
    assert (experiment.dataset, experiment.advice["existing"]["user"]) == ({}, pool.user)
    first, second, *_values = answers.limits(experiment)[-4:]
    assert first.endswith("1 queries, 50 % of the calls of queries and changes that pg_stat_statements counted.")
    assert second == "2 statements that write or lock rows are left out."


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"builtin": "select-only"}, "recorded", "the recorded mix has its own scripts: leave out builtin"),
        ({"scripts": [{"text": "SELECT 1;"}]}, "recorded", "leave out scripts"),
        ({"tables": "own"}, "tables", "the recorded mix reads the pool's tables"),
    ],
)
def test_the_recorded_mix_takes_no_other_scripts_and_tables(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], field: str, words: str
) -> None:
    monkeypatch.setattr(recorded, "read", lambda pool: RECORDED)
    with pytest.raises(InvalidExperiment) as refused:
        sweep.ask(ask(workload={"recorded": True} | given))
    assert words in refused.value.errors[field][0]


def test_only_a_pool_with_a_user_has_a_recorded_mix() -> None:
    with pytest.raises(InvalidExperiment, match="name one, or give scripts"):
        sweep.ask(AdviceRequest(cluster=a_cluster(protected=False), author=None, workload={"recorded": True}))
    with pytest.raises(InvalidExperiment, match="has no user"):
        sweep.ask(ask(a_pool(user=""), workload={"recorded": True}))
