"""The pages that ask for a login through an entry: a refused question keeps nothing of it."""

import pytest

from benchmarks.errors import Refused
from benchmarks.experiments import dispatch
from benchmarks.experiments.advice import sweep
from benchmarks.library.scripts import privileges
from benchmarks.models import Experiment, ExternalEndpoint
from benchmarks.runs.submission.submit import QueueDown
from benchmarks.targets import external
from core.accounts.models import Team
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry

ASKED = {"user": "app", "password": "new-secret", "clients": "8", "minutes": "1"}
MEASURE = "Measure what size it should have"


@pytest.fixture(autouse=True)
def lets_in(monkeypatch):
    """Each login works, as a role without further rights, and Redis answers."""
    monkeypatch.setattr(external, "_check", lambda endpoint: None)
    monkeypatch.setattr(privileges, "refuse_reaching", lambda target: None)
    monkeypatch.setattr(sweep, "require_queue", lambda: None)
    monkeypatch.setattr(dispatch, "request_advance", lambda: None)


@pytest.fixture
def entry(db):
    return an_entry(name="orders", cluster=a_cluster(name="shop", protected=False), size=4)


def known(entry):
    """An endpoint that was made of the entry before."""
    values = {"name": "mine", "host": entry.pooler.host, "port": entry.pooler.port, "database": "orders", "user": "app"}
    endpoint = ExternalEndpoint(**values)
    endpoint.password = "old-secret"
    endpoint.save()
    return endpoint


def test_the_login_is_kept_with_the_sweep(staff, entry):
    endpoint = known(entry)
    started = staff.post(f"/entries/{entry.pk}/size/", ASKED)
    experiment = Experiment.objects.get()
    assert (started.status_code, experiment.advice["external"]) == (302, str(endpoint.pk))
    assert experiment.pooler == entry.pooler
    endpoint.refresh_from_db()
    assert endpoint.password == "new-secret"


def test_an_endpoint_of_another_team_at_the_same_address_stays_as_it_is(staff, entry):
    theirs = known(entry)
    ExternalEndpoint.objects.filter(pk=theirs.pk).update(team=Team.objects.create(name="Payments"))
    kept = theirs.sealed_password
    staff.post(f"/entries/{entry.pk}/size/", ASKED)
    made = ExternalEndpoint.objects.exclude(pk=theirs.pk).get()
    assert (made.team, made.user) == (entry.pooler.team, "app")
    theirs.refresh_from_db()
    assert (theirs.name, theirs.sealed_password) == ("mine", kept)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("refused", ["protected", "size", "script", "ceiling", "superuser", "queue"])
def test_a_refused_question_keeps_nothing_of_the_login(staff, entry, monkeypatch, refused, is_known):
    endpoint = known(entry) if is_known else None

    def refuse(*_args):
        raise {"superuser": Refused, "queue": QueueDown, "ceiling": Refused}[refused]("no")

    if refused == "protected":
        type(entry.cluster).objects.update(protected=True)
    elif refused == "size":
        type(entry).objects.update(size=1)
    elif refused == "superuser":
        monkeypatch.setattr(privileges, "refuse_reaching", refuse)
    elif refused == "queue":
        monkeypatch.setattr(sweep, "require_queue", refuse)
    elif refused == "ceiling":
        monkeypatch.setattr(sweep.limits, "check", refuse)
    script = "\\shell ls" if refused == "script" else ""
    answer = staff.post(f"/entries/{entry.pk}/size/", ASKED | {"script": script})
    assert (answer.status_code, bool(answer.context["form"].errors), Experiment.objects.exists()) == (422, True, False)
    if endpoint is None:
        assert not ExternalEndpoint.objects.exists()
    else:
        endpoint.refresh_from_db()
        assert endpoint.password == "old-secret"


def test_an_unknown_size_is_called_unknown(staff, entry):
    type(entry).objects.update(size=None)
    page = page_of(staff.post(f"/entries/{entry.pk}/size/", ASKED))
    assert f"size of entry orders is not known: check pooler {entry.pooler}" in page.replace("\n", " ")


def test_the_size_of_a_managed_entry_is_asked_of_its_pool(staff, entry):
    assert staff.get(f"/entries/{entry.pk}/size/").status_code == 200
    entry.pool = a_pool(name="orders", pooler=a_pooler(port=1))
    entry.save()
    assert staff.get(f"/entries/{entry.pk}/size/").status_code == 404
    assert MEASURE not in page_of(staff.get(f"/entries/{entry.pk}/run/"))


@pytest.mark.parametrize(
    ("change", "is_offered"),
    [({}, True), ({"database": ""}, False), ({"kind": "pgpool"}, False), ({"kind": "haproxy"}, False)],
)
def test_the_size_is_offered_where_it_can_be_measured(staff, entry, change, is_offered):
    for name, value in change.items():
        setattr(entry.pooler if name == "kind" else entry, name, value)
    entry.pooler.save()
    entry.save()
    link = f'href="/entries/{entry.pk}/size/"'
    pages = [page_of(staff.get(f"/entries/{entry.pk}/{page}")) for page in ("", "run/")]
    assert [link in page for page in pages] == [is_offered, is_offered]
