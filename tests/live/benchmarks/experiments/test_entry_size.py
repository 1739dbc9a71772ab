"""The size of an entry of a PgBouncer that somebody else configures, measured through it by a login that was given."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from benchmarks.experiments import results
from benchmarks.experiments.advice import answers, grid, sweep
from benchmarks.experiments.report import presentation
from benchmarks.models import Experiment, ExperimentState, ExternalEndpoint, Purpose
from panel.quickstart import account
from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port
from pools.inventory import poolers
from pools.models import Cluster, Entry, Pool
from tests.callers import bearer, person
from tests.live.benchmarks.experiments.conftest import until_ended
from tests.live.conftest import APP_PASSWORD, APP_ROLE
from tests.live.pools.conftest import SID, TRIXIE, in_folder

pytestmark = pytest.mark.django_db(transaction=True)
LOGIN = {"user": APP_ROLE, "password": APP_PASSWORD}


PROGRAMS = {"installed": "", "trixie": TRIXIE, "sid": SID}


@pytest.fixture(params=list(PROGRAMS))
def operated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer, dataset: str
) -> Iterator[PgBouncerServer]:
    """An operator's PgBouncer with an entry of four connections, whose console login may only read."""
    folder = PROGRAMS[request.param]
    if request.param != "installed" and not Path(folder, "usr/sbin/pgbouncer").exists():
        pytest.skip(f"there is no PgBouncer of {request.param} in a folder")
    program = str(in_folder(folder)) if folder else None
    home = tmp_path_factory.mktemp("entry-size")
    made = PgBouncerServer(home, free_port(), "pooldeck", "console-password", program)
    account.make_folder(home)
    with made:
        ini, users = made.config_dir / "pgbouncer.ini", made.config_dir / "userlist.txt"
        line = f"theirs = host=127.0.0.1 port={postgres.port} dbname={dataset} pool_size=4 pool_mode=transaction"
        account.write_private(ini, ini.read_text().replace("[databases]\n", f"[databases]\n{line}\n", 1))
        account.write_private(users, f'{users.read_text()}"{APP_ROLE}" "{APP_PASSWORD}"\n')
        with made.connect() as console:
            console.execute(b"RELOAD")
        yield made


@pytest.fixture
def entry(operated: PgBouncerServer, cluster: Cluster) -> Entry:
    login = {"admin_user": operated.admin_user, "admin_password": operated.admin_password}
    address = {"name": "edge", "kind": "pgbouncer", "host": operated.host, "port": operated.port}
    made, reason = poolers.register(address | login)
    assert reason == ""
    return made.entries.get(name="theirs")


@pytest.fixture(autouse=True)
def in_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "ROUNDS", 1)
    monkeypatch.setattr(grid, "MOST_S", 2)
    monkeypatch.setattr(sweep, "CANDIDATES", (1, 2))


@pytest.mark.usefixtures("worker")
def test_sizes_are_measured_through_the_entry_up_to_its_own_and_nothing_of_it_is_changed(
    operated: PgBouncerServer, entry: Entry, cluster: Cluster
) -> None:
    api, before = bearer(), {path.name: path.read_bytes() for path in operated.config_dir.iterdir()}
    asked = {"entry": str(entry.pk), "workload": {"builtin": "select-only", "clients": 16}, "minutes": 1}
    refused = api.post("/api/v1/advice/pool-size/", asked, format="json")
    assert (refused.status_code, "give one at entries/" in str(refused.json())) == (400, True)
    api.post(f"/api/v1/entries/{entry.pk}/endpoint/", LOGIN, format="json")
    answer = api.post("/api/v1/advice/pool-size/", asked, format="json")
    assert answer.status_code == 201, answer.content
    experiment = until_ended(Experiment.objects.get(pk=answer.json()["id"]))
    assert experiment.state == ExperimentState.SUCCEEDED, experiment.reasons
    runs = list(experiment.runs.filter(purpose=Purpose.LOAD))
    print([(run.arm, run.status, run.reasons, run.summary.get("tps")) for run in runs], experiment.skipped)
    assert {(run.options["clients"], run.pooled_by, run.is_external) for run in runs} == {
        (busy, "PgBouncer", True) for busy in (1, 2, 4)
    }
    found = experiment.advice["recommendation"]
    assert found["size"] in (1, 2, 4)
    assert (found["clients"], found["left_of_budget"]) == (16, None)
    assert {cell["size"] for cell in found["cells"]} <= {1, 2, 4}
    conclusion = presentation.conclusion(results.of(experiment))
    assert f"put pool_size={found['size']} into its line" in conclusion
    assert any("up to 4" in one for one in answers.limits(experiment))
    assert not experiment.resources.exists()
    assert not Pool.objects.exists()
    assert {path.name: path.read_bytes() for path in operated.config_dir.iterdir()} == before


@pytest.mark.parametrize("operated", ["installed"], indirect=True)
@pytest.mark.usefixtures("worker")
def test_the_page_tries_the_login_and_starts_the_sweep(entry: Entry, cluster: Cluster) -> None:
    browser = Client()
    browser.force_login(person())
    page = f"/entries/{entry.pk}/size/"
    load = {
        "clients": "8",
        "minutes": "1",
        "builtin": "select-only",
        "script": "SELECT count(*) FROM pgbench_branches;",
    }
    wrong = browser.post(page, LOGIN | load | {"password": "wrong"})
    assert (wrong.status_code, ExternalEndpoint.objects.exists(), Experiment.objects.exists()) == (422, False, False)
    few = browser.post(page, LOGIN | load | {"clients": "1"})
    assert (few.status_code, list(few.context["form"].errors)) == (422, ["clients"])
    assert APP_PASSWORD not in browser.get(page).content.decode()
    started = browser.post(page, LOGIN | load)
    experiment = Experiment.objects.get()
    assert started.url == f"/experiments/{experiment.pk}/"
    assert "SELECT count(*)" in experiment.definition
    assert APP_PASSWORD not in experiment.definition + str(experiment.advice)
    assert f"What size should the pool {entry.name} have?" in browser.get(started.url).content.decode()
    assert started.url in browser.get(page).content.decode()
    assert until_ended(experiment).state == ExperimentState.SUCCEEDED


@pytest.mark.parametrize("operated", ["installed"], indirect=True)
@pytest.mark.parametrize(
    ("change", "asked", "field"),
    [
        ({"size": 1}, {}, "entry"),
        ({"cluster": None}, {}, "entry"),
        ({"database": ""}, {}, "entry"),
        ({}, {"question": "pooling"}, "question"),
        ({}, {"workload": {"scale": 2}}, "workload"),
    ],
)
def test_what_can_not_be_measured_is_refused_with_the_reason(
    entry: Entry, cluster: Cluster, change: dict[str, object], asked: dict[str, object], field: str
) -> None:
    api = bearer()
    api.post(f"/api/v1/entries/{entry.pk}/endpoint/", LOGIN, format="json")
    Entry.objects.update(**change)
    answer = api.post("/api/v1/advice/pool-size/", {"entry": str(entry.pk), **asked}, format="json")
    assert (answer.status_code, list(answer.json())) == (400, [field])
