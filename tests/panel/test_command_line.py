"""The client as a folder, its `api`, and the gate of `run --pair`; with a panel: tests/live/benchmarks."""

import io
import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from email.message import Message
from pathlib import Path

import pytest
from click.testing import CliRunner

from panel.command_line import pooldeck
from panel.command_line.gates import Gate, ratio_faults

ROOT = Path(__file__).resolve().parents[2]


def comparison(ratio, interval):
    arms = [{"ratio": None, "interval": None, "verdict": None}]
    return {"arms": [*arms, {"ratio": ratio, "interval": interval, "verdict": "no difference shown"}]}


@pytest.mark.parametrize(
    ("bound", "interval", "fault"),
    [
        ("at_least", [1.35, 1.8], ""),
        ("at_least", [0.8, 2.8], "it is 0.8, the lower end of the 95 % interval of 1.5"),
        ("at_most", [0.8, 1.2], ""),
        ("at_most", [0.8, 2.8], "it is 2.8, the upper end of the 95 % interval of 1.5"),
        ("at_least", None, "it is 1.5 without an interval: ask for more pairs with --repeat"),
    ],
)
def test_luck_passes_no_gate(bound, interval, fault):
    """A ratio of 1.5 (0.8 to 2.8) passed `--fail-under 1.3`."""
    found = ratio_faults(comparison(1.5, interval), [Gate("ratio", bound, 1.3)], is_point=False)
    assert found == ([f"ratio {bound.replace('_', ' ')} 1.3: {fault}"] if fault else [])


def test_the_ratio_itself_is_judged_where_that_is_asked_for():
    gates = [Gate("ratio", "at_least", 1.3), Gate("tps", "at_least", 1e9)]
    assert ratio_faults(comparison(1.5, [0.8, 2.8]), gates, is_point=True) == []
    assert ratio_faults({"arms": []}, gates, is_point=False) == [
        "ratio at least 1.3: there is no figure, as too few runs are valid"
    ]


@pytest.mark.parametrize("flags", [(), ("-P",)])
def test_a_copy_of_its_folder_works_by_any_name_without_the_panel(tmp_path, flags):
    """A job may copy it; started by a relative path too, beside files that have names of the standard library."""
    shutil.copytree(ROOT / "panel" / "command_line", tmp_path / "client")
    (tmp_path / "json.py").write_text("raise RuntimeError\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    argv = [sys.executable, *flags, "client", "pools"]
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "Error: No login: run `pooldeck login URL`, or set POOLDECK_URL and POOLDECK_TOKEN.\n",
    )


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("TRACE", "pools/"), "'TRACE' is not one of"),
        (("POST", "pools/", "-d", "{name: app}"), "the body is not JSON: Expecting property name"),
        (("POST", "pools/", "-d", ""), "the body is not JSON: Expecting value"),
        (("POST", "pools/", "-f", "-"), "the body is not JSON: Expecting value"),
        (("POST", "pools/", "-f", "missing.json"), "'missing.json': No such file or directory"),
        (("POST", "pools/", "-f", "-", "-d", "{}"), "from --data or from --file, not from both"),
    ],
)
def test_a_request_that_can_not_be_meant_is_never_sent(words, reason):
    """Without a login: each is refused before one is needed."""
    done = CliRunner(env={"XDG_CONFIG_HOME": "/nowhere", "POOLDECK_URL": ""}).invoke(pooldeck, ["api", *words])
    assert (done.exit_code, reason in done.output) == (2, True), done.output


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (urllib.error.URLError("refused"), 2, "http://panel does not answer as a panel does: <urlopen error refused>"),
        (urllib.error.HTTPError("", 503, "", Message(), io.BytesIO(b'{"detail": "busy"}')), 5, "GET pools/: 503: busy"),
        (urllib.error.HTTPError("", 502, "", Message(), io.BytesIO(b"<html>")), 5, "GET pools/: 502: <html>"),
        (urllib.error.HTTPError("", 403, "", Message(), io.BytesIO(b'{"detail": "no"}')), 4, "GET pools/: 403: no"),
    ],
)
def test_a_panel_that_fails_is_told_from_one_that_refuses(monkeypatch, error, code, reason):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", fail)
    login = {"POOLDECK_URL": "http://panel", "POOLDECK_TOKEN": "of-a-test"}
    done = CliRunner(env=login).invoke(pooldeck, ["api", "GET", "pools/"])
    assert (done.exit_code, done.output) == (code, f"Error: {reason}\n")


TEAMS = {"results": [{"id": "7a", "name": "Payments"}, {"id": "7b", "name": "Fraud"}], "next": None}


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (("GET", "clusters/"), ("GET", "/api/v1/clusters/?team=7a", None)),
        (("GET", "clusters/?search=x"), ("GET", "/api/v1/clusters/?search=x&team=7a", None)),
        (("POST", "scripts/", "-d", '{"name": "a"}'), ("POST", "/api/v1/scripts/", {"name": "a", "team": "7a"})),
        (("PATCH", "clusters/1/"), ("PATCH", "/api/v1/clusters/1/", {"team": "7a"})),
    ],
)
@pytest.mark.parametrize("team", ["Payments", "7a"])
def test_a_team_is_named_by_its_name_or_id(monkeypatch, words, sent, team):
    requests = []

    def answer(_opener, request, **_):
        requests.append(request)
        return io.BytesIO(json.dumps(TEAMS if "/teams/" in request.full_url else {}).encode())

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", answer)
    login = {"POOLDECK_URL": "http://panel", "POOLDECK_TOKEN": "of-a-test"}
    done = CliRunner(env=login).invoke(pooldeck, ["api", *words, "--team", team])
    last = requests[-1]
    body = json.loads(last.data) if last.data else None
    assert (done.exit_code, last.method, last.full_url.removeprefix("http://panel"), body) == (0, *sent), done.output


def test_an_unknown_team_and_a_body_that_has_no_fields_are_refused(monkeypatch):
    monkeypatch.setattr(urllib.request.OpenerDirector, "open", lambda *_, **__: io.BytesIO(json.dumps(TEAMS).encode()))
    runner = CliRunner(env={"POOLDECK_URL": "http://panel", "POOLDECK_TOKEN": "of-a-test"})
    unknown = runner.invoke(pooldeck, ["api", "GET", "clusters/", "--team", "Sales"])
    assert (unknown.exit_code, unknown.output) == (
        2,
        "Error: There is no team Sales; `pooldeck api GET teams/` lists them.\n",
    )
    listed = runner.invoke(pooldeck, ["api", "POST", "scripts/", "-d", "[1]", "--team", "Fraud"])
    assert (listed.exit_code, "--team needs a body that is a JSON object" in listed.output) == (2, True)


@pytest.mark.parametrize(("reason", "sent"), [("moved to\nKöln", "moved to Köln"), ("", None)])
def test_a_reason_is_sent_in_utf_8_in_one_line(monkeypatch, reason, sent):
    requests = []
    monkeypatch.setattr(
        urllib.request.OpenerDirector, "open", lambda _, request, **__: requests.append(request) or io.BytesIO(b"")
    )
    runner = CliRunner(env={"POOLDECK_URL": "http://panel", "POOLDECK_TOKEN": "of-a-test"})
    done = runner.invoke(pooldeck, ["api", "DELETE", "pools/1/", "--reason", reason])
    header = requests[-1].get_header("X-reason")
    assert (done.exit_code, header and header.encode("latin-1").decode()) == (0, sent), done.output
