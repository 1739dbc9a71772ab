"""A host by SSH and a worker of one name: the worker is refused, wherever it is named or names itself."""

import pytest
from rest_framework.test import APIClient

from benchmarks.generators import registration, registry
from benchmarks.models import Generator, Run
from pools.inventory import poolers
from pools.inventory.poolers import InvalidPooler
from pools.models import Host, Pooler
from tests.callers import bearer, person
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pooler

pytestmark = pytest.mark.django_db
REFUSAL = (
    "generator load-1 is the host app-1, which is reached by SSH, and no worker: choose the delivery ssh with this "
    "host, or name a worker that runs beside the pooler"
)
POOLER = {
    "name": "edge",
    "kind": "pgbouncer",
    "host": "127.0.0.1",
    "port": 1,
    "admin_user": "pooldeck",
    "admin_password": "console-password",
    "config_dir": "/etc/pgbouncer",
    "generator": "load-1",
}


@pytest.fixture
def by_ssh() -> Generator:
    programs = {"pgbench": {"path": "/usr/bin/pgbench", "version": "pgbench (PostgreSQL) 16.4"}}
    host = Host.objects.create(name="app-1", address="192.0.2.7", user="app", state="online", programs=programs)
    return registry.add_host(host, "load-1")


@pytest.fixture
def admin() -> APIClient:
    return bearer("read", "apply", "admin")


def test_it_is_refused_as_the_worker_of_a_pooler(by_ssh: Generator, admin: APIClient) -> None:
    with pytest.raises(InvalidPooler) as refused:
        poolers.register(POOLER)
    assert refused.value.errors == {"generator": [REFUSAL]}
    answer = admin.post("/api/v1/poolers/", POOLER)
    assert (answer.status_code, REFUSAL in answer.content.decode()) == (400, True)
    assert not Pooler.objects.exists()


def test_the_form_of_a_pooler_says_so_and_keeps_what_was_typed(by_ssh: Generator, client) -> None:
    client.force_login(person())
    page = page_of(client.post("/poolers/new/", POOLER | {"delivery": "worker"}))
    assert REFUSAL in page
    assert 'value="load-1"' in page


def test_it_is_refused_as_the_worker_to_take_a_pooler_over(by_ssh: Generator) -> None:
    with pytest.raises(InvalidPooler) as refused:
        poolers.checked_place(a_pooler(name="edge"), "worker", None, "load-1")
    assert refused.value.errors == {"generator": [REFUSAL]}


def test_a_worker_of_its_name_leaves_its_record_alone(by_ssh: Generator, settings, caplog) -> None:
    settings.GENERATOR = "load-1"
    before = Generator.objects.values().get()
    registration.register()
    assert Generator.objects.values().get() == before
    assert "start this worker with another POOLDECK_GENERATOR" in caplog.text


def test_a_worker_of_its_name_is_given_no_run_for_any(by_ssh: Generator) -> None:
    """The run was bound to the host, which the load was then started on."""
    run = Run.objects.enqueue(cluster=a_cluster())
    assert Run.objects.claim(str(run.pk), "load-1") is None
    assert Run.objects.claim(str(run.pk), "local")


def test_the_generator_is_unusable_while_such_a_worker_lives(by_ssh: Generator, seen) -> None:
    seen("local")
    assert [one.fault for one in registry.known() if one.ssh_host] == [""]
    seen("load-1")
    fault = "a worker is named load-1 too: start it with another POOLDECK_GENERATOR"
    assert [one.fault for one in registry.known() if one.ssh_host] == [fault]
