"""Where JMeter and its plans are found, what is asked of them, and the words and files that start one."""

import zipfile
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from benchmarks.engines.binaries import ProgramMissing
from benchmarks.engines.jmeter import binary, options
from benchmarks.engines.jmeter.binary import find
from benchmarks.engines.jmeter.command import build_command, preview
from benchmarks.engines.jmeter.options import validate
from benchmarks.errors import InvalidOptions, Refused
from benchmarks.processes.command import Command
from pools.clusters.endpoints import Endpoint

PLANS = Path(__file__).parent / "plans"
ENDPOINT = Endpoint("::1", 5432, "my shop", "app", "pa ss=ü\\", "verify-full", "/run/root.crt")


@pytest.fixture(autouse=True)
def plans(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of plans, and a Java."""
    for path in PLANS.glob("*.jmx"):
        (tmp_path / path.name).write_text(path.read_text())
    settings.JMETER_PLANS, settings.JMETER = str(tmp_path), ""
    monkeypatch.setattr("benchmarks.engines.jmeter.binary.on_path", lambda name, remedy: f"/usr/bin/{name}")
    return tmp_path


def a_jmeter(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    with zipfile.ZipFile(home / "bin" / "ApacheJMeter.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\nImplementation-Version: {version}\n")
    return home


def test_the_named_jmeter_is_found_by_its_jar(settings: Settings, tmp_path: Path) -> None:
    settings.JMETER = str(a_jmeter(tmp_path / "jm", "5.6.3"))
    assert (find().path, find().version_text, find().version) == (settings.JMETER, "JMeter 5.6.3", (5, 6))


def test_what_is_missing_is_told_with_the_remedy(settings: Settings, tmp_path: Path) -> None:
    settings.JMETER = str(tmp_path)
    with pytest.raises(ProgramMissing, match=r"there is no bin/ApacheJMeter\.jar in POOLDECK_JMETER="):
        find()
    settings.JMETER = str(a_jmeter(tmp_path / "old", "2.13.19691222"))
    with pytest.raises(ProgramMissing, match=r"is 2\.13, and Debian's 2\.13 can't read its own plans"):
        find()
    settings.JMETER = str(a_jmeter(tmp_path / "odd", "new"))
    with pytest.raises(ProgramMissing, match="has no version in its manifest"):
        find()
    settings.JMETER, settings.JMETER_PLANS = str(a_jmeter(tmp_path / "jm", "5.6.3")), ""
    with pytest.raises(ProgramMissing, match="name it in POOLDECK_JMETER_PLANS"):
        find()


def test_without_java_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProgramMissing, match="no java on the PATH of this host: install"):
        binary.java()


def test_a_host_tells_its_plans_and_why_some_can_not_be_run(settings: Settings, plans: Path) -> None:
    (plans / "bad.jmx").write_text("<jmeterTestPlan><hashTree><SystemSampler/></hashTree></jmeterTestPlan>")
    (plans / "big.jmx").write_text(" " * 3_000_000)
    (plans / "folder.jmx").mkdir()
    (plans / "latin.jmx").write_bytes(b"\xe9")
    described = options.host_files()
    assert [name for name, fault in described.items() if not fault] == ["jdbc.jmx"]
    faults = {name: fault.partition(":")[0] for name, fault in described.items() if fault}
    assert faults == {
        "bad.jmx": "element SystemSampler is not allowed",
        "big.jmx": "the plan has more than 1,000,000 bytes",
        "folder.jmx": "[Errno 21] Is a directory",
        "http.jmx": "addresses of your own are off",
        "latin.jmx": "'utf-8' codec can't decode byte 0xe9 in position 0",
    }
    settings.JMETER_PLANS = ""
    assert options.host_files() == {}


def test_a_load_alone_has_options_and_needs_its_plan_of_its_generator() -> None:
    assert options.fields_for("prepare") == ()
    assert options.tables_of({}, purpose="load") is None
    assert options.file_needed({"plan": "jdbc.jmx"}) == ("plan", "jdbc.jmx")


def test_left_out_is_filled_and_a_plan_may_be_one_of_another_host() -> None:
    assert validate({"plan": "far.jmx"}) == {"plan": "far.jmx", "clients": 10, "duration": 30, "memory_mb": 512}


@pytest.mark.parametrize(
    ("raw", "purpose", "wrong", "reason"),
    [
        ({}, "load", "plan", "choose a plan: one that a generator has in its POOLDECK_JMETER_PLANS"),
        (
            {"plan": "../jdbc.jmx"},
            "load",
            "plan",
            "'../jdbc.jmx' is not the name of a plan: choose that of a .jmx file",
        ),
        ({"plan": "jdbc.xml"}, "load", "plan", "is not the name of a plan"),
        ({"plan": ["jdbc.jmx"]}, "load", "plan", "is not the name of a plan"),
        ({"plan": "a\x00.jmx"}, "load", "plan", "is not the name of a plan"),
        ({"plan": "jdbc.jmx", "clients": 0}, "load", "clients", "out of range"),
        ({}, "prepare", "purpose", "JMeter prepares nothing"),
    ],
)
def test_what_can_not_be_is_refused_by_name(raw: dict[str, Any], purpose: str, wrong: str, reason: str) -> None:
    with pytest.raises(InvalidOptions) as refused:
        validate(raw, purpose=purpose)
    assert list(refused.value.errors) == [wrong]
    assert reason in refused.value.errors[wrong][0]


def built(**options: Any) -> Command:
    checked = {"plan": "jdbc.jmx", "clients": 3, "duration": 5, "memory_mb": 512}
    return build_command(
        checked | options,
        purpose="load",
        binary="/opt/jmeter",
        home=Path("/run/home"),
        endpoint=ENDPOINT,
        application_name="pooldeck-1",
        version=(5, 6),
    )


def test_the_password_stands_in_a_file_of_the_private_home_alone() -> None:
    command = built()
    assert command.argv[1:5] == ["-m", "benchmarks.load_programs.jmeter_results", "--log=requests.log", "--"]
    java = command.argv[5:]
    assert java[:2] == [str(Path("/usr/bin/java").resolve()), "-Xmx512m"]
    assert (command.confined, command.confined_at) == (True, 5)
    assert {"-Djmeter.home=/opt/jmeter", "-Djdk.net.hosts.file=/run/home/hosts", "-Jclients=3", "-Jduration=5"} <= set(
        java
    )
    assert not any("pa ss" in word for word in [*command.argv, *command.env.values()])
    assert command.files["plan.jmx"] == (PLANS / "jdbc.jmx").read_text()
    assert built(percentiles=False).argv[1:4] == ["-m", "benchmarks.load_programs.jmeter_results", "--"]


def test_sums_of_transaction_controllers_are_left_out_beside_their_requests(plans: Path) -> None:
    text, controller = (PLANS / "jdbc.jmx").read_text(), '<TransactionController testclass="TransactionController">'
    for parent, words in (("true", ["--"]), ("false", ["--requests", "--"])):
        held = f'<boolProp name="TransactionController.parent">{parent}</boolProp></TransactionController><hashTree/>'
        (plans / "jdbc.jmx").write_text(text.replace("<JDBCSampler", f"{controller}{held}<JDBCSampler", 1))
        assert built(percentiles=False).argv[3 : 3 + len(words)] == words


def test_properties_read_back_as_they_were() -> None:
    lines = dict(line.split("=", 1) for line in built().files["target.properties"].splitlines())
    read = {name: value.encode().decode("unicode_escape") for name, value in lines.items()}
    assert (read["user"], read["password"]) == ("app", "pa ss=ü\\")
    assert read["jdbc_url"] == (
        "jdbc:postgresql://[::1]:5432/my%20shop?sslmode=verify-full&sslrootcert=%2Frun%2Froot.crt"
        "&ApplicationName=pooldeck-1&prepareThreshold=0&connectTimeout=10"
    )
    assert read["jmeterengine.nongui.port"] == "0"


def test_the_host_that_starts_it_checks_its_own_plan(plans: Path) -> None:
    with pytest.raises(Refused, match=r"plan far\.jmx can't be run on this generator: there is no plan far\.jmx"):
        built(plan="far.jmx")
    (plans / "jdbc.jmx").write_text("<jmeterTestPlan><SystemSampler/></jmeterTestPlan>")
    with pytest.raises(Refused, match=r"plan jdbc\.jmx can't be run on this generator: element SystemSampler"):
        built()


def test_the_preview_is_what_a_shell_takes() -> None:
    assert preview(validate({"plan": "jdbc.jmx"}), ENDPOINT).startswith("jmeter -n -t plan.jmx -l results.jtl")
