"""The gate against the real thing: an unfiltered pgbench never starts a program for a script that the gate lets pass.

Each script runs with a canary that its commands would touch, as an account without rights, against a server that is
there. POOLDECK_TEST_GATE_CASES sets how many generated scripts are tried; the figures are printed (pytest -s).
"""

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from benchmarks.engines import script_gate
from benchmarks.engines.pgbench import binary
from benchmarks.engines.script_text import for_pgbench
from benchmarks.processes.process import LOAD_UID
from panel.quickstart.servers import PostgresServer
from tests.live.benchmarks.gate_cases import LONG, ORDINARY, TOUCH, TRICKS, mutated
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE

CASES = int(os.environ.get("POOLDECK_TEST_GATE_CASES", "150"))


class Trial:
    """An unfiltered pgbench with a folder of its own, in which a canary may be touched."""

    def __init__(self, folder: Path, postgres: PostgresServer) -> None:
        self.folder, self.canary = folder, folder / "touched"
        self.program = binary.find()
        self.counts: Counter[str] = Counter()
        folder.mkdir(parents=True)
        if os.geteuid() == 0:
            os.chown(folder, LOAD_UID, LOAD_UID)
        self.environment = {
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C",
            "PGHOST": postgres.host,
            "PGPORT": str(postgres.port),
            "PGUSER": APP_ROLE,
            "PGPASSWORD": APP_PASSWORD,
            "PGOPTIONS": "-c statement_timeout=200",
        }

    def touches(self, text: str) -> bool:
        """Whether pgbench ran a command of the script."""
        self.canary.unlink(missing_ok=True)
        self.run(text)
        return self.canary.exists()

    def reads(self, text: str) -> bool:
        """Whether pgbench can read the script: what the server says of its statements is another thing."""
        return b".sql:" not in self.run(text).stderr

    def run(self, text: str) -> "subprocess.CompletedProcess[bytes]":
        """Run it once in an unfiltered pgbench."""
        script = self.folder / "script.sql"
        script.write_bytes(text.replace(TOUCH, f"touch {self.canary}").encode("utf-8", "surrogatepass"))
        script.chmod(0o644)
        argv = [self.program.path, "-n", "-t", "1", "-c", "1", "-f", script.name, APP_DATABASE]
        drop = ["setpriv", f"--reuid={LOAD_UID}", f"--regid={LOAD_UID}", "--clear-groups"] if os.geteuid() == 0 else []
        return subprocess.run(
            [*drop, *argv],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def passes(self, text: str) -> bool:
        """Whether the gate would give the script to this pgbench."""
        try:
            script_gate.check(text, major=self.program.version[0])
        except script_gate.ScriptRefused:
            return False
        return True

    def judge(self, text: str) -> str:
        """What became of a script, of its own text where it is refused, else of the text that pgbench is given.

        `touched, passed` would be a hole.
        """
        passed = self.passes(text)
        touched = self.touches(for_pgbench(text) if passed else text)
        described = f"{'touched' if touched else 'harmless'}, {'passed' if passed else 'refused'}"
        self.counts[described] += 1
        return described


@pytest.fixture(scope="module")
def trial(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory):
    folder = Path("/tmp") / f"pooldeck-gate-{os.getpid()}"  # The load's account can reach this folder.
    yield Trial(folder, postgres)
    shutil.rmtree(folder, ignore_errors=True)


def test_the_trial_can_fail(trial: Trial) -> None:
    """pgbench runs commands here, or the rest would prove nothing."""
    assert trial.touches("\\shell CANARY")
    assert trial.touches("\\setshell x CANARY; echo 1")
    assert not trial.touches("SELECT 1;")


def test_every_known_trick_is_refused(trial: Trial) -> None:
    described = Counter(trial.judge(text) for text in TRICKS + LONG)
    print(f"\nknown tricks: {dict(described)}")
    assert "touched, passed" not in described
    assert described["touched, refused"] >= 12


def test_ordinary_scripts_pass_and_are_read(trial: Trial) -> None:
    refused = [text for text in ORDINARY if not trial.passes(text)]
    print(f"\nordinary scripts: {len(ORDINARY)}, refused {len(refused)}")
    assert refused == []
    assert [text for text in ORDINARY if not trial.reads(for_pgbench(text))] == []


def test_whatever_touches_the_canary_was_refused(trial: Trial) -> None:
    trial.counts.clear()

    @settings(
        max_examples=CASES,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(text=mutated())
    def never_a_hole(text: str) -> None:
        assert trial.judge(text) != "touched, passed", repr(text)

    never_a_hole()
    print(f"\ngenerated scripts: {dict(trial.counts)}")
    assert trial.counts["touched, refused"] > CASES // 20
