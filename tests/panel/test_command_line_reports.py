"""Reports of `pooldeck run` for a CI, and the jobs in the documentation that read them."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from panel.command_line import pooldeck, reports, runs
from panel.command_line.records import Comparison, Run

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "ci-gate.md"
SCHEMAS = {"jobs:": "vendor.github-workflows", "pool:": "vendor.gitlab-ci"}
COMPARISON: Comparison = {
    "metric": "tps",
    "arms": [
        {"label": "direct", "n_valid": 3, "median": 1000, "ratio": None, "interval": None, "verdict": None},
        {"label": "pooled", "n_valid": 3, "median": 2000, "ratio": 2, "interval": [1.9, 2.1], "verdict": "faster"},
    ],
    "conclusion": "pooled is ×2 as fast.",
}


def a_run(number: int = 7, **fields: Any) -> Run:
    run: dict[str, Any] = {
        "id": str(number),
        "number": number,
        "group": None,
        "status": "succeeded",
        "progress_percent": None,
        "validity": "valid",
        "reasons": [],
        "error": "",
        "target": {"label": "orders"},
        "summary": {"tps": 1234.5},
        "thresholds": [],
    }
    return run | fields  # type: ignore[return-value]


def limit(value: float, *, passed: bool) -> dict[str, Any]:
    return {"metric": "latency_p95_ms", "at_most": 2.0, "value": value, "passed": passed}


def test_each_run_is_a_case_and_a_missed_limit_a_failure() -> None:
    found = [a_run(7, thresholds=[limit(1.5, passed=True)]), a_run(8, thresholds=[limit(3, passed=False)])]
    assert (
        reports.as_junit(found, [], has_pair=False)
        == """\
<?xml version='1.0' encoding='utf-8'?>
<testsuites tests="2" failures="1" errors="0">
  <testsuite name="pooldeck" tests="2" failures="1" errors="0" skipped="0">
    <testcase name="run 7 orders" classname="pooldeck">
      <system-out>tps: 1,234
latency_p95_ms: 1.5</system-out>
    </testcase>
    <testcase name="run 8 orders" classname="pooldeck">
      <failure message="run 8: latency_p95_ms at most 2: it is 3">run 8: latency_p95_ms at most 2: it is 3</failure>
      <system-out>tps: 1,234
latency_p95_ms: 3</system-out>
    </testcase>
  </testsuite>
</testsuites>
"""
    )


def test_the_ratio_of_a_pair_is_a_case_of_its_own() -> None:
    text = reports.as_junit([a_run()], ["ratio at least 3: it is 1.9"], has_pair=True)
    suite = ET.fromstring(text)[0]  # noqa: S314 (a report of our own)
    assert [(case.get("name"), case.find("failure") is not None) for case in suite] == [
        ("run 7 orders", False),
        ("ratio of the pair", True),
    ]


def test_what_xml_can_not_have_and_what_it_means_something_by_is_written_so_that_it_can_be_read() -> None:
    run = a_run(validity="", status="failed", error="FATAL: <no & \x00\x1b[31m entry>")
    root = ET.fromstring(reports.as_junit([run], [], has_pair=False))  # noqa: S314 (a report of our own)
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text == "run 7 is failed: FATAL: <no & \ufffd\ufffd[31m entry>"


def test_the_summary_has_both_tables_and_what_keeps_the_gate_closed() -> None:
    text = reports.as_markdown([a_run(target={"label": "a|b_<i>"})], COMPARISON, ["ratio at least 3: it is 1.9"])
    assert (
        text
        == r"""## Pooldeck: failed

| Run | Target | Status | Validity | tps |
| --- | --- | --- | --- | --- |
| 7 | a\|b\_\<i\> | succeeded | valid | 1,234 |

| Arm | Valid | tps | Ratio | 95 % | Verdict |
| --- | --- | --- | --- | --- | --- |
| direct | 3 | 1,000 | – | – | – |
| pooled | 3 | 2,000 | 2 | 1.9–2.1 | faster |

pooled is ×2 as fast.

### Gate failed

- ratio at least 3: it is 1.9
"""
    )


class FakeApi:
    """A panel whose run has ended below its limit."""

    def __init__(self, _login: object) -> None:
        pass

    def post(self, _path: str, _body: object) -> Run:
        return a_run(thresholds=[{"metric": "tps", "at_least": 2000.0, "value": 1234.5, "passed": False}])


def test_the_reports_are_written_where_the_gate_fails_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(runs, "Api", FakeApi)
    monkeypatch.setattr(runs.Login, "read", lambda: None)
    monkeypatch.setattr(runs, "pool_named", lambda _api, name: {"id": name})
    junit, markdown = tmp_path / "out.xml", tmp_path / "summary.md"
    words = ["run", "orders", "--fail-under", "2000", "--junit", str(junit), "--markdown", str(markdown)]
    done = CliRunner().invoke(pooldeck, words)
    assert done.exit_code == 1, done.output
    assert 'failures="1"' in junit.read_text()
    assert markdown.read_text().startswith("## Pooldeck: failed")
    unwritable = CliRunner().invoke(pooldeck, ["run", "orders", "--junit", str(tmp_path)])
    assert (unwritable.exit_code, "can't be written" in unwritable.output) == (2, True)


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The requests for runs that the client sends."""
    sent: list[dict[str, Any]] = []

    class Recording(FakeApi):
        def post(self, _path: str, body: object) -> Run:
            assert isinstance(body, dict)
            sent.append(body)
            return super().post(_path, body)

    monkeypatch.setattr(runs, "Api", Recording)
    monkeypatch.setattr(runs.Login, "read", lambda: None)
    monkeypatch.setattr(runs, "pool_named", lambda _api, name: {"id": name})
    return sent


@pytest.mark.parametrize(
    ("words", "sent"), [([], {}), (["--sweep-clients", "1,4 16"], {"sweep_clients": [1, 4, 16]})], ids=["one", "sweep"]
)
def test_a_sweep_is_sent_only_where_one_is_asked_for(
    bodies: list[dict[str, Any]], words: list[str], sent: dict[str, list[int]]
) -> None:
    done = CliRunner().invoke(pooldeck, ["run", "orders", *words])
    assert done.exit_code == 0, done.output
    assert [{name: body[name] for name in body if name == "sweep_clients"} for body in bodies] == [sent]


def test_stages_take_the_place_of_clients_and_duration(bodies: list[dict[str, Any]]) -> None:
    words = ["run", "orders", "--stage", "30s:10", "--stage", "2m:50:500", "--stage", "5:1:0.5/s"]
    done = CliRunner().invoke(pooldeck, words)
    assert done.exit_code == 0, done.output
    assert [body["options"] for body in bodies] == [
        {
            "builtin": "select-only",
            "stages": [
                {"duration_s": 30, "clients": 10},
                {"duration_s": 120, "clients": 50, "rate": 500.0},
                {"duration_s": 5, "clients": 1, "rate": 0.5},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--stage", "30s"], "'30s' is not a stage: use TIME:CLIENTS"),
        (["--stage", "30s:1", "-c", "4"], "leave out -c and -T"),
        (["--stage", "30s:1", "--time", "4"], "leave out -c and -T"),
    ],
)
def test_a_wrong_stage_sends_nothing(bodies: list[dict[str, Any]], words: list[str], reason: str) -> None:
    done = CliRunner().invoke(pooldeck, ["run", "orders", *words])
    assert (done.exit_code, bodies) == (2, [])
    assert reason in done.output


def test_the_figures_of_stages_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    runs._print_stages(
        [{"clients": 4, "duration_s": 30, "status": "succeeded", "tps": 1200.5}, {"clients": 8, "duration_s": 5}]
    )
    first, second = (line.split() for line in capsys.readouterr().out.splitlines()[1:])
    assert first[:5] == ["1", "4", "30", "s", "succeeded"]
    assert second == ["2", "8", "5", "s", "–", "–"]


@pytest.mark.parametrize("beginning", SCHEMAS)
def test_the_jobs_of_the_guide_are_valid_by_the_schemas_of_their_services(beginning: str, tmp_path: Path) -> None:
    (text,) = [
        one for one in re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL) if one.startswith(beginning)
    ]
    job = tmp_path / "job.yml"
    job.write_text("on: push\n" + text if beginning == "jobs:" else text)
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[beginning], str(job)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--junit pool.xml" in json.dumps(text)
