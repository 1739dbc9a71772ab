"""Settings that somebody else changes while a profile is in force, and what roles and databases have of their own."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchmarks.errors import InvalidOptions, Refused
from benchmarks.library.settings_profiles import apply, privileges, validation
from benchmarks.models import AppliedProfile, Run, SettingsProfile, Status, Validity
from benchmarks.runs.execution import reaper
from panel.quickstart.servers import PostgresServer, free_port
from pools.models import Cluster
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import has_samples, wait_for
from tests.live.standbys import registered
from tests.pages import page_of
from tests.postgresqls import bindirs

VALUES = {"work_mem": "7MB", "checkpoint_timeout": "7min"}
THEIRS = "work_mem was changed to 64MB outside the panel while the profile was in force: its new value was kept"
Alter = Callable[..., None]


@pytest.fixture
def alter(postgres: PostgresServer) -> Iterator[Alter]:
    """Somebody else's ALTER SYSTEM, of which nothing is left after the test; None resets."""

    def change(**settings: str | None) -> None:
        with postgres.connect() as session:
            for name, value in settings.items():
                session.execute(f"ALTER SYSTEM SET {name} = '{value}'" if value else f"ALTER SYSTEM RESET {name}")
            session.execute("SELECT pg_reload_conf()")

    yield change
    change(**dict.fromkeys((*VALUES, "max_wal_senders"), None))


@pytest.fixture
def run(cluster: Cluster) -> Run:
    return Run.objects.enqueue(cluster=cluster, database="loaded", options={"settings_profile": "tuned"}, by_admin=True)


def held_by(postgres: PostgresServer) -> dict[str, str]:
    """What ALTER SYSTEM holds, by name."""
    lines = (postgres.cluster_folder / "postgresql.auto.conf").read_text().splitlines()
    pairs = (line.split(" = ") for line in lines if line and not line.startswith("#"))
    return {name: value.strip("'") for name, value in pairs}


def test_what_somebody_else_set_meanwhile_stays_and_the_rest_comes_back(
    run: Run, cluster: Cluster, postgres: PostgresServer, alter: Alter
) -> None:
    alter(checkpoint_timeout="6min")
    row = apply.apply_profile(run, cluster, VALUES)
    alter(work_mem="64MB")
    assert apply.take_back(row)
    assert held_by(postgres) == {"checkpoint_timeout": "6min", "work_mem": "64MB"}
    kept = AppliedProfile.objects.get(run=run)
    assert (kept.restored_at is not None, kept.error) == (True, THEIRS)
    before = {"work_mem": None, "checkpoint_timeout": "6min"}
    noted = {"name": "tuned", "values": VALUES, "before": before, "left": [THEIRS]}
    assert Run.objects.get(pk=run.pk).conditions["settings_profile"] == noted


def test_what_somebody_else_reset_meanwhile_stays_away(
    run: Run, cluster: Cluster, postgres: PostgresServer, alter: Alter
) -> None:
    alter(work_mem="5MB")
    row = apply.apply_profile(run, cluster, VALUES)
    alter(work_mem=None)
    assert apply.take_back(row)
    assert held_by(postgres) == {}
    assert row.error == "work_mem was reset outside the panel while the profile was in force: its new value was kept"


def test_the_same_size_in_other_words_is_somebody_elses_too(
    run: Run, cluster: Cluster, postgres: PostgresServer, alter: Alter
) -> None:
    row = apply.apply_profile(run, cluster, VALUES)
    alter(work_mem="7168kB")
    assert apply.take_back(row)
    assert held_by(postgres) == {"work_mem": "7168kB"}


def test_a_profile_that_was_put_in_force_half_way_comes_back_whole(
    run: Run, cluster: Cluster, postgres: PostgresServer, alter: Alter
) -> None:
    alter(checkpoint_timeout="6min")
    before = {"work_mem": None, "checkpoint_timeout": "6min"}
    row = AppliedProfile.objects.create(run=run, cluster=cluster, values=VALUES, before=before)
    alter(work_mem="7MB")  # The worker died at this point.
    assert apply.take_back(row)
    assert (held_by(postgres), row.error) == ({"checkpoint_timeout": "6min"}, "")


def test_all_of_it_may_be_somebody_elses_by_then(
    run: Run, cluster: Cluster, postgres: PostgresServer, alter: Alter
) -> None:
    row = apply.apply_profile(run, cluster, {"work_mem": "7MB"})
    alter(work_mem="64MB")
    assert apply.take_back(row)
    assert (held_by(postgres), row.error) == ({"work_mem": "64MB"}, THEIRS)


@pytest.mark.django_db(transaction=True)
def test_the_run_is_not_relied_on_and_says_why(
    submit: Any, worker: Any, postgres: PostgresServer, alter: Alter, admin_client: Any
) -> None:
    SettingsProfile.objects.create(name="tuned", values=VALUES)
    run = submit(settings_profile="tuned", duration=10, rate=50)
    wait_for(run, has_samples(1), 60)
    alter(work_mem="64MB")
    done = wait_for(run, lambda found: found.is_final, 60)
    assert (done.status, done.validity) == (Status.SUCCEEDED, Validity.SUSPECT), done.error
    assert THEIRS in done.reasons
    assert done.conditions["settings_profile"]["left"] == [THEIRS]
    page = page_of(admin_client.get(f"/runs/{run.pk}/"))
    assert page.count(THEIRS) >= 2  # The page says it beside the figures and among the conditions.


def test_the_reaper_tells_it_of_a_run_that_was_lost(
    run: Run, cluster: Cluster, postgres: PostgresServer, alter: Alter
) -> None:
    apply.apply_profile(run, cluster, VALUES)
    alter(work_mem="64MB")
    Run.objects.filter(pk=run.pk).update(status=Status.LOST)
    reaper.restore_settings()
    assert Run.objects.get(pk=run.pk).conditions["settings_profile"]["left"] == [THEIRS]
    assert apply.applied_on(cluster) is None


def test_a_restart_level_setting_that_is_so_already_needs_no_restart_to_come_back(
    run: Run, cluster: Cluster, postgres: PostgresServer, alter: Alter
) -> None:
    row = apply.apply_profile(run, cluster, {"max_wal_senders": "10", "work_mem": "7MB"})
    assert (apply.take_back(row), row.error, held_by(postgres)) == (True, "", {})


@pytest.fixture
def app_has_its_own(postgres: PostgresServer, bench: str) -> Iterator[None]:
    with postgres.connect() as session:
        session.execute("ALTER ROLE app SET work_mem = '3MB'")
        session.execute(f"ALTER DATABASE {bench} SET work_mem = '7168kB'")
        yield
        session.execute("ALTER ROLE app RESET work_mem")
        session.execute(f"ALTER DATABASE {bench} RESET work_mem")


@pytest.mark.usefixtures("app_has_its_own", "in_this_process")
@pytest.mark.django_db(transaction=True)
def test_a_setting_that_the_loads_role_has_of_its_own_is_refused_before_the_run(
    submit: Any, cluster: Cluster, dataset: str, postgres: PostgresServer
) -> None:
    profile = SettingsProfile.objects.create(name="tuned", values=VALUES)
    found = {
        one.name: one for one in validation.check(cluster, VALUES, is_admin=True, role="app", database=dataset).findings
    }
    described = (
        "work_mem would have no effect on the load (role app has 3MB of its own): leave it out, or run "
        "ALTER ROLE app RESET work_mem"
    )
    assert (found["work_mem"].problem, found["checkpoint_timeout"].problem) == (described, "")
    target = {"cluster": str(cluster.pk), "database": dataset, "user": "app"}
    with pytest.raises(InvalidOptions) as caught:
        submitted(target, settings_profile=profile.name)
    assert caught.value.errors == {"settings_profile": [f"tuned: {described}"]}
    assert (
        validation.check(cluster, VALUES, is_admin=True, role="postgres", database=dataset).problems == []
    )  # 7168kB are 7MB
    assert [one.warning for one in validation.check(cluster, VALUES, is_admin=True).findings] == [
        "not in effect everywhere: role app has 3MB of its own",
        "",
    ]


def submitted(target: dict[str, str], **options: Any) -> Run:
    return submit_one(target=target, options={"clients": 1, "duration": 1} | options, author=None)


@pytest.fixture
def plain(postgres: PostgresServer, cluster: Cluster) -> Iterator[PostgresServer]:
    """The cluster's login is a role that may do with the load's tables what it likes, and nothing beside."""
    with postgres.connect() as session:
        session.execute("CREATE ROLE plain LOGIN PASSWORD 'plain-secret' IN ROLE app")
        cluster.admin_user, cluster.admin_password = "plain", "plain-secret"
        cluster.save()
        yield postgres
        session.execute("DROP OWNED BY plain")
        session.execute("DROP ROLE plain")


@pytest.mark.django_db(transaction=True)
def test_a_role_that_could_not_bring_settings_back_is_refused_before_the_run(
    dataset: str, cluster: Cluster, plain: PostgresServer, admin_client: Any
) -> None:
    profile = SettingsProfile.objects.create(name="tuned", values=VALUES)
    with pytest.raises(InvalidOptions) as caught:
        submitted({"cluster": str(cluster.pk), "database": dataset}, settings_profile="tuned")
    assert caught.value.errors == {"settings_profile": [f"tuned: {privileges.UNREADABLE}"]}
    assert not Run.objects.filter(purpose="load").exists()
    page = page_of(admin_client.get(f"/settings-profiles/{profile.pk}/", {"cluster": str(cluster.pk)}))
    assert privileges.UNREADABLE.replace("'", "&#x27;") in page


def test_a_role_with_the_rights_granted_needs_no_superuser(run: Run, cluster: Cluster, plain: PostgresServer) -> None:
    with plain.connect() as session:
        session.execute("GRANT SELECT ON pg_file_settings TO plain; GRANT pg_read_all_settings TO plain")
        session.execute("GRANT EXECUTE ON FUNCTION pg_show_all_file_settings(), pg_reload_conf() TO plain")
        session.execute("GRANT ALTER SYSTEM ON PARAMETER work_mem TO plain")
    assert validation.check(cluster, VALUES, is_admin=True).refusal == (
        "the panel's role may not use ALTER SYSTEM of checkpoint_timeout: GRANT ALTER SYSTEM ON PARAMETER "
        "checkpoint_timeout to it, or use a superuser"
    )
    row = apply.apply_profile(run, cluster, {"work_mem": "7MB"})
    assert (apply.take_back(row), row.error, held_by(plain)) == (True, "", {})


def test_a_server_that_refuses_alter_system_is_said_before(db: None, tmp_path_factory: Any) -> None:
    home, settings = tmp_path_factory.mktemp("fixed"), {"allow_alter_system": "off"}
    with PostgresServer(home, free_port(), password="own-secret", bindir=bindirs()["18"], settings=settings) as server:
        cluster = registered(server)
        assert validation.check(cluster, VALUES, is_admin=True).refusal == privileges.SWITCHED_OFF
        with pytest.raises(Refused, match="refuses ALTER SYSTEM altogether"):
            apply.apply_profile(Run.objects.enqueue(cluster=cluster, by_admin=True), cluster, VALUES)
