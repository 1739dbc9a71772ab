"""Values drawn from columns are in no script that anyone reads, and in no line that a program prints."""

from contextlib import nullcontext

import pytest

from benchmarks.engines.pgbench import options
from benchmarks.errors import Refused
from benchmarks.library.scripts import placeholders, sampled
from benchmarks.library.scripts.placeholders import FilledQuery
from benchmarks.models import Run
from pools.clusters import connect
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
SHOWN = "SELECT * FROM card WHERE owner = $1 AND state = $2;\n"
TEXT = (
    "\\set p1 random(1, 2)\n\\set p3 random(4111111111111111, 4222222222222222)\n"
    "SELECT /* pooldeck */ * FROM card WHERE owner = (ARRAY['ann@example.org', 'bob''s']::text[])[:p1]"
    " AND state = 'xy';\n"
)


SCRIPT = sampled.marked(SHOWN.removesuffix(";\n"))
VALUES = {SCRIPT: TEXT}


@pytest.fixture
def run() -> Run:
    scripts = [{"text": SCRIPT, "name": "cards"}, {"text": "SELECT 'own';"}]
    options_of_run = options.validate({"scripts": scripts})
    return Run(cluster=a_cluster(name="shop"), database="shop", options=options_of_run)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries for which values are drawn; the session with the server is the test's."""
    queries: list[str] = []

    def filled(_connection: object, query: str) -> FilledQuery:
        queries.append(query)
        return FilledQuery(TEXT, "")

    monkeypatch.setattr(connect, "connect", lambda *_args, **_options: nullcontext())
    monkeypatch.setattr(placeholders, "filled", filled)
    return queries


def test_only_the_program_gets_the_values(run: Run, asked: list[str]) -> None:
    values = sampled.drawn(run)
    assert asked == ["SELECT * FROM card WHERE owner = $1 AND state = $2"]
    assert [one["text"] for one in sampled.with_values(run.options, values)["scripts"]] == [TEXT, "SELECT 'own';"]
    assert [one["text"] for one in run.options["scripts"]] == [SCRIPT, "SELECT 'own';"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SCRIPT.strip().replace("\n", "\r\n"), id="as-a-browser-sends-it-back"),
        pytest.param(f"-- sampled values, encrypted: gAAAAABnot-opened_==\n{SHOWN}", id="of-an-earlier-release"),
    ],
)
def test_the_text_is_the_same_script(run: Run, asked: list[str], text: str) -> None:
    run.options["scripts"] = [{"text": text}]
    assert sampled.with_values(run.options, sampled.drawn(run))["scripts"] == [{"text": TEXT}]
    assert asked == ["SELECT * FROM card WHERE owner = $1 AND state = $2"]


def test_other_scripts_ask_no_server(run: Run, asked: list[str]) -> None:
    run.options["scripts"] = [{"text": SHOWN}, {"text": "SELECT 1;"}]
    assert (sampled.drawn(run), asked) == ({}, [])


def test_without_a_registered_cluster_the_reason_is_said(run: Run) -> None:
    run.cluster = None
    with pytest.raises(Refused, match="from the statistics of a registered cluster: put values in place of"):
        sampled.drawn(run)


def test_a_value_that_pgbench_would_misread_is_not_in_the_reason(
    run: Run, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placeholders, "filled", lambda *_: FilledQuery("\\! ann@example.org\n", ""))
    with pytest.raises(Refused, match=r"no values can be drawn for SELECT .* pgbench would misread") as refused:
        sampled.drawn(run)
    assert "ann@" not in str(refused.value)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("progress: 1.0 s, 4111.0 tps, lat 0.5 ms stddev 0.1", None),
        ("tps = 4111.25 (without initial connection time)", None),
        ("         0.002  \\set p3 random(4111111111111111, 4222", "         0.002  \\set p3 random($1, $2"),
        ("  0.4  SELECT /* pooldeck */ * FROM card WHERE owner = (ARRAY['ann@exam", None),
        ('pgbench: error: ERROR:  invalid input syntax for type integer: "ann@example.org"', None),
        ("LINE 1: ...RRAY['ann@exa", "LINE 1: (not shown)"),
        ('ERROR:  bad state "xy" of bob\'s', "ERROR:  bad state (not shown) of (not shown)"),
    ],
)
def test_what_the_program_prints_has_no_values(line: str, shown: str | None) -> None:
    found = sampled.mask(VALUES)(line)
    assert "ann" not in found
    if shown is not None:
        assert found == shown
    elif "ann@" not in line:
        assert found == line


def test_the_lines_of_other_runs_stay_as_they_are() -> None:
    assert sampled.mask({})("SELECT 'ann';") == "SELECT 'ann';"
