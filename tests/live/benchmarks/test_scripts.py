"""Runs with scripts of users on a real server: gated, confined, mixed by weight, and refused to roles of power."""

import signal
import time
from datetime import timedelta
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory

import psutil
import pytest
from django.utils import timezone

from benchmarks.engines import script_gate
from benchmarks.engines.pgbench import binary, options
from benchmarks.engines.pgbench.command import build_command
from benchmarks.errors import InvalidOptions, Refused
from benchmarks.library.scripts import library
from benchmarks.models import ObservationKind, Run, Status, Validity
from benchmarks.processes import sandbox, workdir
from benchmarks.processes.process import Line, LoadProcess, drain
from benchmarks.processes.sandbox import bubblewrap, landlock
from benchmarks.runs.execution import reaper, runner
from benchmarks.runs.execution.recorder import Recorder
from panel.quickstart.servers import PostgresServer, free_port
from pools.clusters.endpoints import Endpoint
from tests import programs
from tests.benchmarks.processes.sandbox.mechanisms import MECHANISMS, NO_BUBBLEWRAP
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import (
    LASTING,
    execute,
    has_samples,
    homes_of,
    pgbenches,
    short,
    wait_for,
    wait_until_load_is_silent,
)
from tests.live.conftest import APP_ROLE

ONE = {"text": "\\set n random(1, 10)\nSELECT :n;\n"}
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("few_are_enough")]
EACH_MECHANISM = pytest.mark.parametrize("mechanism", MECHANISMS)


@pytest.fixture
def only(monkeypatch):
    """Let one sandbox alone be there."""

    def choose(*targets):
        monkeypatch.setattr(sandbox, "MECHANISMS", targets)
        sandbox.mechanism_for.cache_clear()

    yield choose
    sandbox.mechanism_for.cache_clear()


@pytest.fixture
def ask(cluster, dataset, in_this_process):
    """Submits a short run as the role `app`."""

    def submit_run(user=APP_ROLE, confirm="", **options):
        target = {"cluster": str(cluster.pk), "database": dataset, "user": user}
        return submit_one(target=target, options=short(**options), author=None, confirm=confirm)

    return submit_run


@EACH_MECHANISM
def test_a_script_runs_confined(ask, only, mechanism):
    only(mechanism)
    run = execute(ask(scripts=[ONE], duration=4))  # observed once a second, and a sandbox takes one to start
    assert (run.status, run.validity, run.reasons) == (Status.SUCCEEDED, Validity.VALID, [])
    assert run.command[1:4] == ["-n", "-f", "script-1.sql@1"]
    assert run.summary["transactions"] > 100
    assert run.summary["latency_p95_ms"] > 0, "its log is written in the sandbox and read outside"
    assert mechanism.NAME.lower() not in " ".join(run.command).lower()
    observations = run.observations.filter(kind=ObservationKind.GENERATOR)
    assert max(observation.figures["cpu_percent"] for observation in observations) > 1, (
        "pgbench is found under its sandbox"
    )


@EACH_MECHANISM
def test_a_script_that_got_past_the_gate_finds_no_shell_and_no_file(ask, only, mechanism, monkeypatch, tmp_path):
    only(mechanism)
    tmp_path.chmod(0o777)
    canary = tmp_path / "canary"
    monkeypatch.setattr(script_gate, "check", lambda text, **_: None)
    for text in (
        f"SELECT 1;\n\\shell touch {canary}\n",
        f"SELECT 1;\n\\setshell x touch {canary}; echo 7\n",
        f"SELECT 1 \\shell /usr/bin/touch {canary}\n",
    ):
        run = execute(ask(scripts=[{"text": text}]))
        assert (run.status, run.exit_code) == (Status.FAILED, 2), run.error
    assert not canary.exists()


@pytest.fixture
def socket_folder():
    """Where every account can reach a socket."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield folder


@EACH_MECHANISM
def test_a_confined_load_reaches_a_unix_socket(only, mechanism, tmp_path_factory, socket_folder):
    only(mechanism)
    settings = {"unix_socket_directories": socket_folder}
    home = tmp_path_factory.mktemp("postgres")
    with PostgresServer(home, free_port(), password="secret", settings=settings) as server:
        endpoint = Endpoint(socket_folder, server.port, "postgres", server.superuser, "secret", sslmode="disable")
        assert "number of transactions actually processed: 1/1" in said_once(endpoint)


def said_once(endpoint):
    """What a confined pgbench prints that runs a script once."""
    with workdir.private_home("socket", endpoint.password) as home:
        program = binary.find()
        checked = options.validate({"scripts": [ONE], "transactions": 1, "clients": 1, "percentiles": False})
        words = {"purpose": "load", "binary": program.path, "home": home, "application_name": "socket"}
        command = sandbox.confine(build_command(checked, **words, endpoint=endpoint, version=program.version), home)
        for name, text in command.files.items():
            workdir.put(home / name, text)
        load = LoadProcess(command.argv, command.env, home, Queue())
        load.join(10)
        load.stop()
        return [event.text for event in drain(load.events) if isinstance(event, Line)]


def test_the_gate_is_asked_again_before_the_program_starts(ask):
    run = ask(scripts=[ONE])
    smuggled = [*run.options["scripts"]]
    smuggled[0]["text"] = "SELECT 1;\nSELECT 1 \\shell echo"
    Run.objects.filter(pk=run.pk).update(options=run.options | {"scripts": smuggled})
    run = execute(run)
    assert run.status == Status.FAILED
    assert "script 1, line 2 ('SELECT 1 \\shell echo'): \\shell starts a program" in run.error
    assert run.command == []


def test_where_no_sandbox_works_scripts_are_refused_and_built_in_ones_run(ask, only):
    only()
    run = execute(ask(scripts=[ONE]))
    assert run.status == Status.FAILED
    assert run.error.startswith("a script of your own needs a sandbox, and none works here")
    assert execute(ask()).status == Status.SUCCEEDED


def test_scripts_are_mixed_by_weight_and_reported_each(ask):
    script = library.create(name="counting", text="SELECT count(*) FROM pgbench_branches;\n")
    given = [{"script": "counting", "weight": 3}, ONE]
    run = execute(ask(builtin=["select-only@6"], scripts=given, warm_up=1, duration=2))
    assert (run.status, run.validity) == (Status.SUCCEEDED, Validity.VALID), run.reasons
    assert run.command[1:8] == ["-n", "-b", "select-only@6", "-f", "script-1-counting-v1.sql@3", "-f", "script-2.sql@1"]
    assert [(one["name"], one["weight"], one["target_percent"]) for one in run.summary["scripts"]] == [
        ("<builtin: select only>", 6, 60.0),
        ("script-1-counting-v1.sql", 3, 30.0),
        ("script-2.sql", 1, 10.0),
    ]
    assert sum(one["transactions"] for one in run.summary["scripts"]) == run.summary["transactions"]
    script.delete()
    again = submit_one(
        target={"cluster": str(run.cluster_id), "database": run.database, "user": run.role},
        options=run.options,
        author=None,
    )
    assert again.options == run.options


@pytest.mark.parametrize("protocol", ["simple", "extended", "prepared"])
def test_variables_reach_a_script_alike_under_every_protocol(ask, postgres, dataset, protocol):
    with postgres.connect(dataset) as connection:
        connection.execute("DROP TABLE IF EXISTS heard; CREATE TABLE heard (n int, share float, less int, word text)")
        connection.execute("GRANT ALL ON heard TO app")
    text = "\\set twice 2 * :n\nINSERT INTO heard VALUES (:twice, :share, 5-:less, :word);\n"
    given = {"n": 21, "share": 0.25, "less": -3, "word": "Oslo-7:b/c@d.e"}
    run = execute(ask(scripts=[{"text": text}], variables=given, protocol=protocol, transactions=1, clients=1))
    assert run.status == Status.SUCCEEDED, run.error
    with postgres.connect(dataset) as connection:
        assert connection.execute("SELECT * FROM heard").fetchall() == [(42, 0.25, 8, "Oslo-7:b/c@d.e")]


HOSTILE = [
    "x'); DROP TABLE kept; --",
    "'; DROP TABLE kept; SELECT '",
    "\\'; DROP TABLE kept; --",
    "$$; DROP TABLE kept; $$",
    "/**/ OR 1=1",
    "kept;DROP/**/TABLE/**/kept",
    ":word",
    "' UNION SELECT rolpassword FROM pg_authid WHERE rolname LIKE '",
    "UNION SELECT usename FROM pg_user WHERE usename LIKE ",
    '"; DROP TABLE kept; --"',
    "|| current_user ||",
    "E'\\''",
]


@pytest.mark.parametrize("protocol", ["simple", pytest.param("extended", marks=pytest.mark.slow), "prepared"])
@pytest.mark.parametrize("place", [":word", "':word'", "'a :word b'"])
def test_text_of_a_variable_never_becomes_sql(ask, postgres, dataset, protocol, place):
    with postgres.connect(dataset) as connection:
        connection.execute("DROP TABLE IF EXISTS kept, said; CREATE TABLE kept (n int); CREATE TABLE said (word text)")
        connection.execute("ALTER TABLE kept OWNER TO app; GRANT ALL ON said TO app")
    refused = 0
    for value in HOSTILE:
        options = {"transactions": 1, "clients": 1, "protocol": protocol, "variables": {"word": value}}
        try:
            run = ask(scripts=[{"text": f"INSERT INTO said SELECT {place};\n"}], **options)
        except InvalidOptions:
            refused += 1
            continue
        execute(run)
        with postgres.connect(dataset) as connection:
            assert connection.execute("SELECT to_regclass('kept')::text").fetchone() == ("kept",)
            parsed = connection.execute("DELETE FROM said RETURNING word").fetchall()
            assert parsed == ([(value,)] if place == ":word" else []), (value, parsed)
    assert refused == (len(HOSTILE) - 1 if protocol == "simple" else 0)  # `:word` is a word


@pytest.mark.parametrize(
    ("grant", "reason"),
    [
        ("ALTER ROLE reaching SUPERUSER", "is a superuser"),
        ("GRANT pg_execute_server_program TO reaching", "is a member of pg_execute_server_program"),
        ("GRANT pg_read_server_files TO reaching", "is a member of pg_read_server_files"),
        ("GRANT pg_write_server_files TO middle; GRANT middle TO reaching", "is a member of pg_write_server_files"),
        ("ALTER ROLE middle SUPERUSER; GRANT middle TO reaching", "is a member of middle"),
        ("ALTER ROLE reaching CREATEROLE", "may make itself a member of pg_execute_server_program"),
    ],
)
def test_a_role_that_reaches_the_servers_host_gets_no_script(ask, cluster, postgres, grant, reason):
    with postgres.connect() as connection:
        connection.execute("CREATE ROLE reaching LOGIN PASSWORD 'reaching'; CREATE ROLE middle")
        if reason.startswith("may") and connection.info.server_version >= 160_000:
            reason = ""
        connection.execute(grant)
    known = cluster.role_passwords.model(cluster=cluster, role="reaching")
    known.password = "reaching"
    known.save(force_insert=True)
    try:
        if reason:
            with pytest.raises(Refused, match=f"role reaching {reason}.*choose a role without such rights"):
                ask(user="reaching", scripts=[ONE])
        else:
            ask(user="reaching", scripts=[ONE])
    finally:
        with postgres.connect() as connection:
            connection.execute("DROP ROLE reaching; DROP ROLE middle")
    assert not reason or not Run.objects.filter(role="reaching").exists()


def test_the_admin_that_is_a_superuser_gets_no_script(ask):
    with pytest.raises(Refused, match="role postgres is a superuser"):
        ask(user="", scripts=[ONE])


def test_a_right_that_came_after_the_submit_is_seen_before_the_start(ask, postgres):
    run = ask(scripts=[ONE])
    with postgres.connect() as connection:
        connection.execute("GRANT pg_execute_server_program TO app")
        try:
            run = execute(run)
        finally:
            connection.execute("REVOKE pg_execute_server_program FROM app")
    assert run.status == Status.FAILED
    assert "role app is a member of pg_execute_server_program" in run.error
    assert run.command == []


def test_a_protected_cluster_asks_for_the_name(ask, cluster, dataset):
    cluster.protected = True
    cluster.save(update_fields=["protected"])
    with pytest.raises(Refused, match=f"is protected and a script of your own may write.*name, {dataset}, to go on"):
        ask(scripts=[ONE])
    assert ask(confirm=dataset, scripts=[ONE]).status == Status.QUEUED


@EACH_MECHANISM
def test_a_confined_load_is_cancelled_whole(ask, only, mechanism, monkeypatch):
    only(mechanism)
    run = ask(scripts=[ONE], duration=60)
    claimed = Run.objects.claim(str(run.pk), "local")
    started = time.monotonic()
    real = Recorder.sample

    def cancel_then(recorder, progress, at):
        recorder.run.request_cancel()
        real(recorder, progress, at)

    monkeypatch.setattr(Recorder, "sample", cancel_then)
    runner.execute(claimed)
    run.refresh_from_db()
    assert (run.status, run.exit_code) == (Status.CANCELLED, -signal.SIGTERM)
    assert pgbenches(run) == []
    assert time.monotonic() - started < 40


def test_a_confined_load_dies_with_its_worker(worker, cluster, dataset):
    """The worker's processes are killed; what they started, inside its sandbox too, is gone a second later."""
    target = {"cluster": str(cluster.pk), "database": dataset, "user": APP_ROLE}
    run = submit_one(target=target, options=LASTING | {"duration": 60, "scripts": [ONE]}, author=None)
    run = wait_for(run, has_samples(1))
    inside = pgbenches(run)
    wrappers = 0 if NO_BUBBLEWRAP else 1
    assert len(inside) >= 1 + wrappers, "pgbench runs in bubblewrap, under a process of that"
    whose = [*inside, *(one.pid for one in psutil.Process(inside[0]).parents())]
    worker.kill(signal.SIGKILL)
    killed_at = time.monotonic()
    while pgbenches(run):
        assert time.monotonic() - killed_at < 30, f"pgbench outlives its worker: {programs.states(whose)}"
        time.sleep(0.01)
    wait_until_load_is_silent(run)
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert [lost.pk for lost in reaper.reap()] == [run.pk]
    assert homes_of(run) == []


def test_which_pgbench_is_confined_is_the_one_that_runs():
    assert sandbox.mechanism_for(binary.find().path) in (bubblewrap, landlock)


def test_a_script_reads_the_scale_that_the_run_gives_and_pgbench_counts_it_beside_its_own(ask):
    text = "SELECT 1 / (CASE WHEN :scale = {} THEN 1 ELSE 0 END);\n"
    with pytest.raises(InvalidOptions, match="script 1 reads :scale, which would be 1: give the scale of the tables"):
        ask(scripts=[{"text": text.format(7)}])
    run = execute(ask(scripts=[{"text": text.format(7)}], scale=7))
    assert (run.status, run.error, run.summary["scale"]) == (Status.SUCCEEDED, "", 7)
    beside = execute(ask(scripts=[{"text": text.format(1)}], builtin="select-only"))  # `dataset` is of scale 1
    assert (beside.status, beside.error) == (Status.SUCCEEDED, "")
