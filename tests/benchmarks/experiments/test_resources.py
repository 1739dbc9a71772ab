"""What an experiment makes for itself."""

import pytest

from benchmarks.errors import BenchmarksError
from benchmarks.experiments import poolers, resources
from benchmarks.experiments.report import presentation
from benchmarks.experiments.start import arms_of
from benchmarks.models import ResourceKind, SettingsProfile
from core.accounts.models import Team
from pools.models import Pool
from pools.poolers import KINDS
from tests.benchmarks.experiments.records import an_experiment
from tests.pools.records import a_cluster, a_pool, a_pooler, checked, three_processes

pytestmark = pytest.mark.django_db


def test_a_pool_that_the_budget_makes_smaller_is_noted_on_the_page() -> None:
    cluster = a_cluster(name="db7")
    checked(cluster, max_connections=100)
    a_pool(cluster=cluster, size=10)
    experiment = an_experiment("burst", cluster=cluster)
    size = resources.size_within_budget(cluster, 97, a_pooler())
    assert size < 97
    of_three = a_pooler(processes=three_processes())
    assert resources.size_within_budget(cluster, 97, of_three) == size // 3  # each opens as many
    for _ in range(2):  # made again after a crash, it is noted once
        resources.note_smaller_size(experiment, 97, size)
    note = f"The pool of 97 has {size} connections here: the budget of db7 has no more left."
    assert presentation.show(experiment).notes == (note,)
    resources.note_smaller_size(experiment, 5, 5)
    assert experiment.notes == [note]


def test_the_pools_of_a_pgpool_are_made_first_and_in_full() -> None:
    experiment = an_experiment()
    kinds = [need.values["kind"] for need in resources.needs(experiment, arms_of(experiment)) if need.kind == "pool"]
    assert kinds == ["pgpool", "pgbouncer", "pgbouncer"]


def test_a_pgpool_without_room_for_its_children_is_refused_with_what_to_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(KINDS["pgpool"]), "connections_of", lambda pooler: 32)
    cluster = a_cluster()
    checked(cluster, max_connections=100, superuser_reserved_connections=3, reserved_connections=0)
    a_pool(cluster=cluster, size=75)
    a_pooler(name="pgpool", kind="pgpool", port=2, config_dir="/etc/pgpool")
    experiment = an_experiment(cluster=cluster)
    need = next(one for one in resources.needs(experiment, arms_of(experiment)) if one.key.startswith("pgpool"))
    with pytest.raises(BenchmarksError) as refused:
        resources.create(experiment, need)
    assert str(refused.value).startswith("pgpool may open 32 connections, and the budget of ")
    assert "left: free " in str(refused.value)
    assert "raise max_connections" in str(refused.value)


def test_what_it_makes_is_looked_up_among_what_it_made() -> None:
    """A crash came before the ids were written down, and others have a pool and a profile of these names."""
    team = Team.objects.create(name="Payments")
    experiment = an_experiment("tuning", cluster=a_cluster(team=team))
    name = resources.name_of(experiment, "p1")
    pool = experiment.resources.create(kind=ResourceKind.POOL, key="pgbouncer-transaction-8-scram", name=name)
    profile = experiment.resources.create(kind=ResourceKind.PROFILE, key="fsync=off", name="experiment 1 profile 1")
    theirs = a_pool(name=name)
    their_profile = SettingsProfile.objects.create(name=profile.name, values={"work_mem": "1MB"})
    assert resources.pool_of(pool) is None
    assert resources.remove_all(experiment) == []
    assert Pool.objects.get() == theirs
    assert SettingsProfile.objects.get() == their_profile
    made = a_pool(name=name, made_for=f"experiment {experiment.number}")
    assert resources.pool_of(pool) == made


def test_its_profiles_belong_to_its_team() -> None:
    team = Team.objects.create(name="Payments")
    experiment = an_experiment("tuning", cluster=a_cluster(team=team))
    need = next(one for one in resources.needs(experiment, arms_of(experiment)) if one.kind == ResourceKind.PROFILE)
    made = SettingsProfile.objects.get(pk=resources.create(experiment, need).record)
    assert made.team == team
    assert resources.remove_all(experiment) == []
    assert not SettingsProfile.objects.exists()


def test_its_pools_are_made_on_a_pooler_of_its_team_or_one_shared_with_that() -> None:
    team = Team.objects.create(name="Payments")
    theirs = a_pooler()
    experiment = an_experiment(cluster=a_cluster(team=team))
    assert poolers.find(experiment, "pgbouncer") is None
    theirs.shared_with.add(team)
    assert poolers.find(experiment, "pgbouncer") == theirs
    own = a_pooler(team=team)
    theirs.shared_with.clear()
    assert poolers.find(experiment, "pgbouncer") == own
