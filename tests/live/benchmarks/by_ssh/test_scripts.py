"""Scripts of one's own on a host by SSH: in bubblewrap there, or not at all."""

from pathlib import Path

import pytest

from benchmarks.engines import script_gate
from benchmarks.engines.pgbench import binary
from benchmarks.errors import InvalidOptions
from benchmarks.generators import registry
from benchmarks.models import Run, Status, Validity
from benchmarks.processes import host_sandbox
from pools.hosts import ssh
from pools.inventory import hosts
from pools.models import Cluster, Host
from tests.live.benchmarks.by_ssh.test_runs import homes, submitted
from tests.live.benchmarks.conftest import LASTING, execute
from tests.live.conftest import APP_ROLE
from tests.live.pools.hosts.conftest import reachable

pytestmark = [
    pytest.mark.usefixtures("few_are_enough", "in_this_process"),
    pytest.mark.django_db(transaction=True),
]
ONE = {"text": "\\set n random(1, 10)\nSELECT :n;\n"}


@pytest.fixture
def confining(host: Host) -> Host:
    """A host whose check found a sandbox that works."""
    fault = host.programs.get("bwrap", {"fault": "not installed"}).get("fault")
    if fault:
        pytest.skip(f"bubblewrap can do nothing here: {fault}")
    registry.add_host(host)
    return host


def with_script(cluster: Cluster, database: str, host: Host, text: dict[str, str] = ONE, **options: object) -> Run:
    generator = registry.Generator.objects.get(ssh_host=host)
    return submitted(cluster, database, generator, user=APP_ROLE, **LASTING | {"scripts": [text], **options})


def test_a_script_runs_confined(cluster: Cluster, dataset: str, confining: Host) -> None:
    run = execute(with_script(cluster, dataset, confining, percentiles=True, sampling_rate=1))
    assert (run.status, run.error, run.validity) == (Status.SUCCEEDED, "", Validity.VALID)
    assert run.command[1:4] == ["-n", "-f", "script-1.sql@1"]
    assert "bwrap" not in " ".join(run.command)
    assert run.summary["latency_samples"] == run.summary["transactions"] > 100
    assert homes(run) == []


def test_the_libraries_of_the_program_are_listed_and_not_those_of_what_starts_it(host: Host) -> None:
    with ssh.connected(host) as connection:
        assert "/libpq.so" in host_sandbox._listing(binary.find().path, connection)


@pytest.mark.parametrize("text", ["\\shell touch {0}", "\\setshell x touch {0}; echo 7", "SELECT 1 \\shell touch {0}"])
def test_a_script_that_got_past_the_gate_finds_no_shell(
    cluster: Cluster, dataset: str, confining: Host, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(script_gate, "check", lambda text, **_: None)
    with reachable() as folder:
        folder.chmod(0o777)
        run = execute(
            with_script(cluster, dataset, confining, {"text": f"SELECT 1;\n{text.format(folder / 'canary')}\n"})
        )
        assert (run.status, run.exit_code) == (Status.FAILED, 2), run.error
        assert not (folder / "canary").exists()
    assert homes(run) == []


def test_a_host_that_has_none_is_refused_before_a_run_is_queued(
    cluster: Cluster, dataset: str, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.add_host(host)
    monkeypatch.setattr(hosts, "SHOWN", ("pgbench",))
    hosts.check(host)
    with pytest.raises(InvalidOptions) as refused:
        with_script(cluster, dataset, host)
    assert refused.value.errors == {
        "scripts": [
            f"host {host.name} has no sandbox for scripts of one's own: install bubblewrap there, then check it"
        ]
    }


def test_one_that_was_installed_since_is_found_without_a_check(cluster: Cluster, dataset: str, confining: Host) -> None:
    programs = {name: found for name, found in confining.programs.items() if name != "bwrap"}
    Host.objects.filter(pk=confining.pk).update(programs=programs, checked_at=None)
    assert execute(with_script(cluster, dataset, confining)).status == Status.SUCCEEDED
    confining.refresh_from_db()
    assert "bwrap" in confining.programs


def test_a_sandbox_that_does_not_work_is_refused_with_its_own_words(
    cluster: Cluster, dataset: str, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.add_host(host)
    monkeypatch.setattr(hosts, "SANDBOX_TRIAL", ("sh", "-c", "echo bwrap: no namespaces here >&2; exit 1"))
    hosts.check(host)
    with pytest.raises(
        InvalidOptions, match=r"does not work on host \S+ \(bwrap: no namespaces here\): allow its account"
    ):
        with_script(cluster, dataset, host)


@pytest.mark.parametrize(
    ("wrapper", "reason"),
    [
        ('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n', "bubblewrap lets /bin/sh start"),
        ("#!/bin/sh\necho bwrap: no room >&2; exit 1\n", "bubblewrap does not start "),
    ],
)
def test_a_sandbox_that_is_none_fails_the_run_before_its_load(
    cluster: Cluster, dataset: str, confining: Host, monkeypatch: pytest.MonkeyPatch, wrapper: str, reason: str
) -> None:
    with reachable() as folder:
        folder.chmod(0o755)
        program = Path(folder, "bwrap")
        program.write_text(wrapper)
        program.chmod(0o755)
        monkeypatch.setattr(host_sandbox, "_FIND", host_sandbox._FIND.replace("command -v bwrap", f"echo {program}"))
        run = execute(with_script(cluster, dataset, confining))
    assert (run.status, run.command, reason in run.error) == (Status.FAILED, [], True), run.error
    assert "none works on host" in run.error
    assert homes(run) == []
