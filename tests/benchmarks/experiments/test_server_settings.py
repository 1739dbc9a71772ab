"""What an experiment does where the server has fewer connections than the playbook needs."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from benchmarks.experiments import library, server_settings, start
from benchmarks.library.settings_profiles import restart, validation
from pools.clusters import connect
from pools.models import ClusterStatus
from tests.benchmarks.experiments.records import an_experiment
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(monkeypatch):
    """A server of 100 connections that the panel may restart, and that a profile can change."""
    found = SimpleNamespace(most=100, sessions=[("app", "", 3)], problems=[], command=["restart"])

    @contextmanager
    def connected(cluster, **_):
        yield SimpleNamespace(
            execute=lambda _: SimpleNamespace(fetchone=lambda: (found.most,), fetchall=lambda: found.sessions)
        )

    monkeypatch.setattr(connect, "connect", connected)
    monkeypatch.setattr(validation, "check", lambda *_, **__: SimpleNamespace(problems=found.problems))
    monkeypatch.setattr(restart, "command_for", lambda _: found.command)
    return found


def raised():
    return server_settings.raised(library.find("idle-tax"), a_cluster(), is_admin=False)


def test_every_arm_gets_what_the_server_is_short_of(server):
    settings, notes = raised()
    assert settings == {"max_connections": "1150"}
    assert "1,150 instead of 100" in notes[0]
    assert notes[1:] == ["A restart ends 3 sessions that are connected now: app: 3."]
    arms = start.arms_of(an_experiment("idle-tax", server_settings=settings))
    assert {arm.profile["max_connections"] for arm in arms} == {"1150"}
    tuned = start.arms_of(an_experiment("tuning", server_settings=settings, cluster=a_cluster(name="two")))
    assert tuned[-1].profile == {"max_connections": "1150", "synchronous_commit": "off"}


def test_a_server_that_has_enough_is_left_alone(server):
    server.most = 1150
    assert raised() == ({}, [])


def test_without_a_restart_command_a_note_says_so(server):
    server.command = None
    settings, notes = raised()
    assert settings == {}
    assert "POOLDECK_RESTART_FILE names no command" in notes[0]


def test_what_the_command_line_gives_is_named(server):
    server.problems = ["max_connections is given on the server's command line"]
    settings, notes = raised()
    assert settings == {}
    assert "command line" in notes[0]


def test_a_protected_cluster_lists_the_restart_only_where_there_will_be_one(server):
    spec, cluster = library.find("idle-tax"), a_cluster()
    arms = spec.arms(quick=True)
    assert "max_connections" in "; ".join(start.changes(spec, arms, cluster))
    ClusterStatus.objects.update_or_create(cluster=cluster, defaults={"max_connections": 1200})
    assert "max_connections" not in "; ".join(start.changes(spec, arms, cluster))
    assert "max_connections" in "; ".join(start.changes(spec, arms))
