"""One line at a time: what each says, that none breaks the reader, and that no sample is made up."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.engines.base import Progress
from benchmarks.engines.pgbench.lines import (
    AbortMessage,
    Failure,
    InitDone,
    InitPhase,
    InitProgress,
    Notice,
    Unknown,
    aborted_clients,
    read_line,
)
from tests.benchmarks.engines.pgbench import captured
from tests.drawing import examples

REAL_LINES = sorted({line for path in captured.paths() for line in captured.read(path).stderr.splitlines()})
PROGRESS_LINES = [line for line in REAL_LINES if "progress:" in line] + [
    "progress: 60.0 s, 941.0 tps, lat 8.497 ms stddev 1.587",
    "progress: 1544601698.395 s, 36992.5 tps, lat 1.492 ms stddev 0.380",
    "progress: 1.0 s, 187.1 tps, lat 2.039 ms stddev 1.285, lag 1.711 ms, 3 skipped",
    "progress: 1.0 s, 0.0 tps, lat -nan ms stddev -nan",
    "progress: 1.0 s, 1.0 tps, lat 2.039 ms stddev 1.285, 4 failed, lag 1.711 ms, 3 skipped, 5 retried, 9 retries",
]


@pytest.mark.parametrize(
    ("line", "sample"),
    [
        ("progress: 60.0 s, 941.0 tps, lat 8.497 ms stddev 1.587", Progress(60.0, 941.0, 8.497, 1.587)),
        (
            "progress: 1.0 s, 187.1 tps, lat 2.039 ms stddev 1.285, lag 1.711 ms, 3 skipped",
            Progress(1.0, 187.1, 2.039, 1.285, lag_ms=1.711, skipped=3),
        ),
        (
            "progress: 1.0 s, 187.1 tps, lat 2.039 ms stddev 1.285, 7 failed, lag 1.711 ms",
            Progress(1.0, 187.1, 2.039, 1.285, failed=7, lag_ms=1.711),
        ),
        (
            "progress: 2.0 s, 9.0 tps, lat 2.000 ms stddev 1.000, 0 failed"
            ", lag 1.000 ms, 3 skipped, 4 retried, 5 retries",
            Progress(2.0, 9.0, 2.0, 1.0, failed=0, lag_ms=1.0, skipped=3, retried=4, retries=5),
        ),
        (
            "progress: 2.0 s, 10.0 tps, lat 2.000 ms stddev 1.000, 0 failed, 4 retried, 5 retries",
            Progress(2.0, 10.0, 2.0, 1.0, failed=0, retried=4, retries=5),
        ),
        ("progress: 3.0 s, 0.0 tps, lat -nan ms stddev -nan", Progress(3.0, 0.0, None, None)),
        ("progress: 3.0 s, nan tps, lat NaN ms stddev inf, 0 failed", Progress(3.0, None, None, None, failed=0)),
        (
            "progress: 1727268744.514 s, 441.4 tps, lat 9.052 ms stddev 3.985, 0 failed\r",
            Progress(1727268744.514, 441.4, 9.052, 3.985, failed=0),
        ),
    ],
)
def test_a_progress_line_of_any_version_is_a_sample(line: str, sample: Progress) -> None:
    assert read_line(line) == sample


@pytest.mark.parametrize(
    "line",
    [
        "progress: 1.0 s, 187.1 tps, lat 2.039 ms stddev 1.28",  # cut: the deviation has three decimals
        "progress: 1.0 s, 187.1 tps, lat 2.039 ms stddev 1.285, 12",
        "progress: 1.0 s, 187. tps, lat 2.039 ms stddev 1.285",
        "progress: 1.0 s, 187.1 tps, lat 2.039 ms",
        "progress: 1.0 s, 187,1 tps, lat 2,039 ms stddev 1,285",
        "progress: -1.0 s, 187.1 tps, lat 2.039 ms stddev 1.285",
        "progress: ١.٠ s, 187.1 tps, lat 2.039 ms stddev 1.285",
        f"progress: {'9' * 400}.0 s, 187.1 tps, lat 2.039 ms stddev 1.285",
        'ERROR:  "progress: 1.0 s, 187.1 tps, lat 2.039 ms stddev 1.285"',
        "NOTICE:  progress: 1.0 s, 187.1 tps, lat 2.039 ms stddev 1.285",
        "LOG:  statement: -- progress: 1.0 s, 187.1 tps, lat 2.039 ms stddev 1.285, 0 failed",
        "my progress: 1.0 s, 187.1 tps, lat 2.039 ms stddev 1.285",
        "progress: 1.0 s, 187.1 tps, lat 2.039 ms stddev 1.285, 0 failed, and more",
    ],
)
def test_a_line_that_is_cut_or_quoted_is_no_sample(line: str) -> None:
    assert not isinstance(read_line(line), Progress)


@pytest.mark.parametrize(
    "line",
    [
        "pgbench: progress: 5.0 s, 10.0 tps, lat 1.000 ms stddev 0.100, 0 failed",
        "pgbench: error: progress: 5.0 s, 10.0 tps, lat 1.000 ms stddev 0.100, 0 failed",
        'pgbench: error: client 3 script 0 aborted in command 0 query 0: ERROR:  portal "" does not exist'
        "progress: 5.0 s, 10.0 tps, lat 1.000 ms stddev 0.100, 0 failed",
        "progress: 5.0 s, 10.0 tps, lat 1.000 ms stddev 0.100, 0 failedpgbench: error: client 3 script 0 aborted in",
        "    progress: 5.0 s, 10.0 tps, lat 1.000 ms stddev 0.100, 0 failed  ",
    ],
)
def test_a_whole_sample_between_errors_of_other_threads_is_read(line: str) -> None:
    assert read_line(line) == Progress(5.0, 10.0, 1.0, 0.1, failed=0)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("dropping old tables...", InitPhase("d", "dropping old tables...")),
        ("creating tables...", InitPhase("t", "creating tables...")),
        ("creating 3 partitions...", InitPhase("t", "creating 3 partitions...")),
        ("generating data...", InitPhase("g", "generating data...")),
        ("generating data (client-side)...", InitPhase("g", "generating data (client-side)...")),
        ("generating data (server-side)...", InitPhase("G", "generating data (server-side)...")),
        ("vacuum...", InitPhase("v", "vacuum...")),
        ("vacuuming...", InitPhase("v", "vacuuming...")),
        ("set primary keys...", InitPhase("p", "set primary keys...")),
        ("creating foreign keys...", InitPhase("f", "creating foreign keys...")),
        ("done.", InitDone()),
        (
            "100000 of 300000 tuples (33%) done (elapsed 0.08 s, remaining 0.16 s)",
            InitProgress(100_000, 300_000, 33, 0.08, 0.16),
        ),
        (
            "100000 of 500000 tuples (20%) of pgbench_accounts done (elapsed 0.06 s, remaining 0.25 s)",
            InitProgress(100_000, 500_000, 20, 0.06, 0.25, "pgbench_accounts"),
        ),
        (
            "done in 0.70 s (drop tables 0.00 s, client-side generate 0.46 s, primary keys 0.24 s).",
            InitDone(0.70, {"drop tables": 0.0, "client-side generate": 0.46, "primary keys": 0.24}),
        ),
    ],
)
def test_each_line_of_preparing_a_dataset_is_read(line: str, read: object) -> None:
    assert read_line(line) == read


@pytest.mark.parametrize(
    ("line", "clients"),
    [
        ("pgbench: error: client 0 script 0 aborted in command 0 query 0: ERROR:  no", (0,)),
        ("pgbench: error: client 38 aborted in command 0 (SQL) of script 0; perhaps the backend died", (38,)),
        ("pgbench: error: client 2 aborted while establishing connection", (2,)),
        ("client 7 aborted in state 3: ERROR:  no", (7,)),  # 9.6
        ("Client 7 aborted while establishing connection", (7,)),
        ("pgbench: pgbench:pgbench: error: client 114 script 0 aborted in command 0 query 0: ERROR:  no", (114,)),
        ("pgbench: error: client 1 aborted in command 2pgbench: error: client 4 aborted in command 5", (1, 4)),
        ("pgbench: error: Run was aborted; the above results are incomplete.", ()),
        ("Run was aborted; the above results are incomplete.", ()),
        ("pgbench: error: Run was aborted due to an error in thread 1", ()),
    ],
)
def test_who_gave_up_is_told(line: str, clients: tuple[int, ...]) -> None:
    assert read_line(line) == AbortMessage(line, clients)
    assert aborted_clients(line) == clients


@pytest.mark.parametrize(
    "line",
    [
        "pgbench: error: could not create connection for client 99",
        "pgbench: fatal: could not count number of branches: ERROR:  no",
        'connection to database "b" failed:',
        'Connection to database "b" failed:',
        'ERROR:  relation "pgbench_branches" does not exist',
        "FATAL:  terminating connection due to administrator command",
        "COPY is not supported in pgbench, aborting",
        "Cancel request sent",
    ],
)
def test_what_went_wrong_is_a_failure(line: str) -> None:
    assert read_line(line) == Failure(line)


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("starting vacuum...end.", True),
        ("pgbench: setting random seed to 42", True),
        ("pgbench: warning: scale option ignored, using count from pgbench_branches table (2)", True),
        ("scale option ignored, using count from pgbench_branches table (2)", True),
        ('NOTICE:  table "pgbench_accounts" does not exist, skipping', False),
        ("HINT:  Either run this COPY outside of a transaction block", False),
    ],
)
def test_what_needs_no_action_is_a_notice(line: str, own: bool) -> None:
    assert read_line(line) == Notice(line, own)


@pytest.mark.parametrize("line", ["", "hello", "tps = 3 (without initial connection time)", "client 3 aborted"])
def test_any_other_line_is_unknown(line: str) -> None:
    assert read_line(line) == Unknown(line)


def as_printed(sample: Progress) -> re.Pattern[str]:
    """What must stand in a line for it to be this sample."""

    def of(value: float | None, decimals: int) -> str:
        return r"-?(nan|inf)" if value is None else rf"0*{re.escape(f'{value:.{decimals}f}')}"

    t = rf"({of(sample.t, 1)}|{of(sample.t, 3)})"
    head = (
        rf"progress: {t} s, {of(sample.tps, 1)} tps, lat {of(sample.latency_ms, 3)} ms stddev {of(sample.stddev_ms, 3)}"
    )
    counts = ("failed", sample.failed), ("skipped", sample.skipped), ("retried", sample.retried)
    rest = [rf"(?=.*, 0*{count} {name})" for name, count in counts if count is not None]
    return re.compile("".join(rest) + ".*" + head, re.IGNORECASE)


SNIPPETS = st.sampled_from(
    ["pgbench: error: ", "nan", "-nan", "progress: ", "\r", "0", ".", ", ", "failed", "ERROR:  ", "\x00"]
)


@st.composite
def mutated_lines(draw: st.DrawFn) -> str:
    """A real line with small edits, and sometimes cut or glued to another; a sixth of them are still samples."""
    text = draw(st.sampled_from(PROGRESS_LINES) | st.sampled_from(REAL_LINES))
    for _ in range(draw(st.integers(0, 3))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        piece = draw(SNIPPETS | st.sampled_from("0123456789., -") | st.text(max_size=3))
        text = text[:at] + piece + text[at + length :]
    other, at = draw(st.sampled_from(["", *PROGRESS_LINES])), draw(st.integers(0, len(text)))
    return draw(st.sampled_from([text, text, text, text[:at], text[at:], text + other, other + text]))


@settings(max_examples=examples(1500), deadline=None)
@given(mutated_lines())
def test_a_mutated_line_never_raises_and_never_makes_up_a_sample(line: str) -> None:
    read = read_line(line)
    if isinstance(read, Progress):
        assert as_printed(read).search(line.replace("\n", " "))


@settings(max_examples=examples(500), deadline=None)
@given(st.text())
def test_any_text_is_read_without_raising(text: str) -> None:
    assert not isinstance(read_line(text), Progress | InitProgress)
