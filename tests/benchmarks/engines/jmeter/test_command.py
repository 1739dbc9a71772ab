"""Where JMeter and its plans are found, what is asked of them, and the words and files that start one."""

import zipfile
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from benchmarks.engines import jmeter
from benchmarks.engines.contract import Command
from benchmarks.engines.jmeter import binary, build_command, find, preview, validate
from benchmarks.engines.programs import ProgramMissing
from benchmarks.errors import InvalidOptions, Refused
from pools.endpoints import Endpoint

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
    with pytest.raises(ProgramMissing, match="does not tell its version"):
        find()
    settings.JMETER, settings.JMETER_PLANS = str(a_jmeter(tmp_path / "jm", "5.6.3")), ""
    with pytest.raises(ProgramMissing, match="name that in POOLDECK_JMETER_PLANS"):
        find()


def test_without_java_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ProgramMissing, match="no java on the PATH of this host: install"):
        binary.java()


def test_the_form_offers_the_plans_of_the_folder() -> None:
    fields = jmeter.fields_for("load")
    assert (fields[0].name, fields[0].choices) == ("plan", ("http.jmx", "jdbc.jmx"))
    assert jmeter.fields_for("prepare") == ()
    assert jmeter.tables_of({}, purpose="load") is None


def test_left_out_is_filled() -> None:
    assert validate({"plan": "jdbc.jmx"}) == {"plan": "jdbc.jmx", "clients": 10, "duration": 30, "memory_mb": 512}


@pytest.mark.parametrize(
    ("raw", "purpose", "wrong", "reason"),
    [
        ({}, "load", "plan", "choose a plan: one of bad.jmx, http.jmx, jdbc.jmx"),
        ({"plan": "../jdbc.jmx"}, "load", "plan", "is no plan here"),
        ({"plan": "http.jmx"}, "load", "plan", "addresses of your own are off"),
        ({"plan": "bad.jmx"}, "load", "plan", "element SystemSampler is not allowed"),
        ({"plan": "jdbc.jmx", "clients": 0}, "load", "clients", "out of range"),
        ({"plan": "jdbc.jmx", "threads": 5}, "load", "threads", "is not an option here"),
        ({}, "prepare", "purpose", "JMeter prepares nothing"),
    ],
)
def test_what_can_not_be_is_refused_by_name(
    raw: dict[str, Any], purpose: str, wrong: str, reason: str, plans: Path
) -> None:
    (plans / "bad.jmx").write_text("<jmeterTestPlan><hashTree><SystemSampler/></hashTree></jmeterTestPlan>")
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
    assert command.argv[1:5] == ["-m", "benchmarks.loads.jmeter", "--log=requests.log", "--"]
    java = command.argv[5:]
    assert java[:2] == ["/usr/bin/java", "-Xmx512m"]
    assert {"-Djmeter.home=/opt/jmeter", "-Djdk.net.hosts.file=/run/home/hosts", "-Jclients=3", "-Jduration=5"} <= set(
        java
    )
    assert not any("pa ss" in word for word in [*command.argv, *command.env.values()])
    assert command.files["plan.jmx"] == (PLANS / "jdbc.jmx").read_text()
    assert built(percentiles=False).argv[1:4] == ["-m", "benchmarks.loads.jmeter", "--"]


def test_properties_read_back_as_they_were() -> None:
    lines = dict(line.split("=", 1) for line in built().files["target.properties"].splitlines())
    read = {name: value.encode().decode("unicode_escape") for name, value in lines.items()}
    assert (read["user"], read["password"]) == ("app", "pa ss=ü\\")
    assert read["jdbc_url"] == (
        "jdbc:postgresql://[::1]:5432/my%20shop?sslmode=verify-full&sslrootcert=%2Frun%2Froot.crt"
        "&ApplicationName=pooldeck-1&prepareThreshold=0&connectTimeout=10"
    )
    assert read["jmeterengine.nongui.port"] == "0"


def test_a_plan_that_was_changed_meanwhile_is_checked_again(plans: Path) -> None:
    (plans / "jdbc.jmx").write_text("<jmeterTestPlan><SystemSampler/></jmeterTestPlan>")
    with pytest.raises(Refused, match=r"plan jdbc\.jmx can't be run any more: element SystemSampler"):
        built()


def test_the_preview_is_what_a_shell_takes() -> None:
    assert preview(validate({"plan": "jdbc.jmx"}), ENDPOINT).startswith("jmeter -n -t plan.jmx -l results.jtl")
