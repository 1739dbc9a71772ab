"""Sampled values of columns are in no script that anyone reads, and in no line that a program prints."""

import pytest

from benchmarks.engines.pgbench import options
from benchmarks.errors import Refused
from benchmarks.library.scripts import sampled
from benchmarks.models import Run
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
SHOWN = "SELECT * FROM card WHERE owner = $1 AND state = $2;\n"
TEXT = (
    "\\set p1 random(1, 2)\n\\set p3 random(4111111111111111, 4222222222222222)\n"
    "SELECT /* pooldeck */ * FROM card WHERE owner = (ARRAY['ann@example.org', 'bob''s']::text[])[:p1]"
    " AND state = 'xy';\n"
)


@pytest.fixture
def run() -> Run:
    return Run(cluster=a_cluster(name="shop"), database="shop")


@pytest.fixture
def given(run: Run) -> dict[str, object]:
    """The options of a run of such a script, checked as those of every run."""
    text = sampled.sealed(run.cluster_id, "shop", shown=SHOWN, text=TEXT)
    return options.validate({"scripts": [{"text": text, "name": "cards"}, {"text": "SELECT 'own';"}]})


def test_only_the_run_that_executes_it_has_the_values(run: Run, given: dict[str, object]) -> None:
    assert not any(word in str(given) for word in ("ann@", "4111"))  # shorter ones may be in what is encrypted
    assert SHOWN.strip() in given["scripts"][0]["text"]
    assert [one["text"] for one in sampled.opened(run, given)["scripts"]] == [TEXT, "SELECT 'own';"]


def test_as_a_browser_sends_it_back_it_is_the_same(run: Run, given: dict[str, object]) -> None:
    sent = given["scripts"][0]["text"].strip().replace("\n", "\r\n")
    assert sampled.opened(run, {"scripts": [{"text": sent}]})["scripts"] == [{"text": TEXT}]


@pytest.mark.parametrize("change", ["database", "cluster", "text"])
def test_no_other_run_gets_them(run: Run, given: dict[str, object], change: str) -> None:
    other = Run(cluster=a_cluster(name="other"), database="shop") if change == "cluster" else run
    if change == "database":
        other.database = "mine"
    if change == "text":
        given["scripts"][0]["text"] = given["scripts"][0]["text"].replace("SELECT *", "SELECT owner")
    with pytest.raises(Refused, match="sampled values of a script are of another database, or it was changed"):
        sampled.opened(other, given)


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
def test_what_the_program_prints_has_no_values(
    run: Run, given: dict[str, object], line: str, shown: str | None
) -> None:
    found = sampled.mask(given, sampled.opened(run, given))(line)
    assert "ann" not in found
    if shown is not None:
        assert found == shown
    elif "ann@" not in line:
        assert found == line


def test_the_lines_of_other_runs_stay_as_they_are(run: Run) -> None:
    plain = options.validate({"scripts": [{"text": "SELECT 'ann';"}]})
    assert sampled.mask(plain, sampled.opened(run, plain))("SELECT 'ann';") == "SELECT 'ann';"
