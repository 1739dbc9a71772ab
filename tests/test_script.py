"""The scripts around the panel: lists of packages, and what people without root are told."""

import os
import re
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from panel.quickstart import account

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = sorted(path for path in [*(ROOT / "script").iterdir(), ROOT / ".ci" / "run"] if path.is_file())


def bash(words: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", words, "bash", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_sound_bash(script: Path) -> None:
    assert subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=True).stderr == ""


@pytest.mark.parametrize(
    "name",
    [
        "script/up",
        "script/test",
        "script/check",
        "script/image",
        "script/jmeter",
        "script/docs",
        "script/install-packages",
        ".ci/run",
    ],
)
def test_commands_can_be_run(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)


def run_script(*words: str) -> subprocess.CompletedProcess[str]:
    """Run one of the scripts that start pytest, as a shell would that is no part of this test run."""
    ours = ("PYTEST_", "POOLDECK_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment["POOLDECK_TEST_IN_MEMORY"] = "no"  # Otherwise it would mount a file system over that of this test run.
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_a_check_runs_the_concerned_tests_and_prints_its_time() -> None:
    checked = run_script("script/check", "tests/test_concerned.py")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "pytest tests/test_concerned.py" in checked.stdout
    assert re.search(r"^\[ *\d+ s\] ruff check$", checked.stdout, re.MULTILINE)
    assert re.fullmatch(r"\[ *\d+ s\] pytest: 0, linters: 0 \(0 is good\)", checked.stdout.splitlines()[-1])


def test_a_check_fails_where_a_linter_does(tmp_path: Path) -> None:
    (tmp_path / "unused.py").write_text('"""A module."""\n\nimport os\n')
    checked = run_script("script/check", str(tmp_path / "unused.py"))
    assert checked.returncode == 1
    assert "`os` imported but unused" in checked.stdout
    assert "no test without servers concerns these" in checked.stdout


@pytest.mark.parametrize("app", tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["files"])
def test_modules_and_folders_of_each_app_have_types_and_imports(app: str) -> None:
    typed = [app, f"{app}/models", f"{app}/errors.py"]
    others = [
        f"{app}/migrations/0001_initial.py",
        f"templates/{app}/one.html",
        f"tests/{app}",
        "manage.py",
        "script/up",
    ]
    assert bash('. script/linters.sh; typed_among "$@"', *typed, *others).stdout.split() == typed


def test_words_for_pytest_run_no_linter() -> None:
    run = run_script("script/test", "--collect-only", "-q", "tests/test_concerned.py")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "ruff" not in run.stdout
    assert "pytest: 0, linters: 0, timing: 0 (0 is good)" in run.stdout


def test_hooks_of_commits_run_what_is_there() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    check, subject = local["hooks"]
    assert (local["repo"], check["language"], check["require_serial"]) == ("local", "system", True)
    assert os.access(ROOT / check["entry"], os.X_OK)
    assert re.search(subject["entry"], "x" * 73 + "\n\nwhy")
    assert not re.search(subject["entry"], "x" * 72 + "\n\n" + "y" * 100)


def test_the_workflow_runs_what_continuous_integration_runs_here() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yaml").read_text())
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step][-1] == ".ci/run"
    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    assert [yaml.safe_load(form.read_text()).keys() for form in forms[:1]] == [
        {"name", "description", "labels", "body"}
    ]


def test_ci_runs_script_test() -> None:
    assert 'exec "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../script/test" "$@"' in (ROOT / ".ci/run").read_text()


def test_jmeter_is_locked_by_checksums_with_what_its_plans_need() -> None:
    lines = (ROOT / "docker/jmeter.lock").read_text().splitlines()
    assert all(re.fullmatch(r"[0-9a-f]{64}  [\w./-]+\.jar", line) for line in lines)
    names = [line.split()[1].rsplit("/", 1)[1] for line in lines]
    assert len(names) == len(set(names))
    parts = {name.removesuffix("-5.6.3.jar") for name in names if name.startswith("ApacheJMeter")}
    assert parts == {
        "ApacheJMeter",
        *(f"ApacheJMeter_{part}" for part in ("components", "config", "core", "functions", "http", "jdbc")),
    }
    assert any(re.fullmatch(r"postgresql-42\.[\d.]+\.jar", name) for name in names)


def test_a_jmeter_that_differs_from_its_lock_is_not_installed(tmp_path: Path) -> None:
    if bash(". script/packages.sh; missing_packages docker/packages.txt docker/packages-jmeter.txt").stdout:
        pytest.skip("script/jmeter would install packages")
    for line in (ROOT / "docker/jmeter.lock").read_text().splitlines():
        jar = tmp_path / "maven" / line.split()[1]
        jar.parent.mkdir(parents=True, exist_ok=True)
        jar.write_bytes(b"another")
    environment = os.environ | {"MAVEN_REPOSITORY": (tmp_path / "maven").as_uri()}
    words = ["script/jmeter", str(tmp_path / "home" / "jmeter")]
    made = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 1
    assert "org/postgresql/postgresql/" in made.stdout
    assert made.stderr.endswith(
        f"{environment['MAVEN_REPOSITORY']} serves other files: name another in MAVEN_REPOSITORY\n"
    )
    assert list((tmp_path / "home").iterdir()) == []


def test_a_folder_with_other_files_is_no_home_for_jmeter(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("")
    made = subprocess.run(["script/jmeter", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (made.returncode, (tmp_path / "precious").exists()) == (2, True)
    assert f"{tmp_path} holds something else" in made.stderr


def test_a_list_of_packages_may_hold_comments_and_empty_lines(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("# all of it\n\nbash\nmawk   # why\n")
    assert bash('. script/packages.sh; listed_packages "$1"', str(tmp_path / "list")).stdout == "bash\nmawk\n"


def test_only_packages_that_are_not_installed_are_missing(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("bash\nno-such-package\ncoreutils\n")
    assert bash('. script/packages.sh; missing_packages "$1"', str(tmp_path / "list")).stdout == "no-such-package\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody without sudo")
def test_people_without_root_are_told_the_command_and_get_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("no-such-package\n")
    words = ["bash", "-c", f". {ROOT}/script/lib.sh; need_packages {tmp_path}/list"]
    described = subprocess.run(
        account.as_unprivileged(words, signal.SIGKILL, tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert described.returncode == 2
    assert described.stderr.endswith(
        "as root, run: apt-get update && apt-get install -y --no-install-recommends no-such-package\n"
    )


def test_a_failing_step_names_itself_and_the_remedy() -> None:
    failed = bash('. script/lib.sh; step "painting the roof" "buy paint" sh -c "echo no paint >&2; exit 7"')
    assert failed.returncode == 1
    assert "painting the roof" in failed.stdout
    assert failed.stderr.splitlines()[-2:] == [
        "failed: painting the roof (exit code 7; its own message is above)",
        "buy paint",
    ]


def test_a_stamp_holds_for_the_same_files_only(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("1")
    write = bash('. script/lib.sh; stamp_of "$1/lock" > "$1/stamp"; is_stamped "$1/stamp" "$1/lock"', str(tmp_path))
    assert write.returncode == 0
    (tmp_path / "lock").write_text("2")
    assert bash('. script/lib.sh; is_stamped "$1/stamp" "$1/lock"', str(tmp_path)).returncode == 1
