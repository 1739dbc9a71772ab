"""The keys of `Run.options` that the panel itself reads: its own, and those that several load programs share.

Each engine declares its further options beside its fields (`benchmarks.engines`). All are validated there; an option
that was left out is absent or None, as its engine has it.
"""

from typing import NotRequired, TypedDict


class RunScript(TypedDict):
    """A script with its text; `version` is that of the library, None for a text that is not of it."""

    text: str
    weight: int
    name: str
    version: NotRequired[int | None]


LEAST_REST_S = 2.0  # of a stage, which may go on at another rate


class Stage(TypedDict):
    """One stage of a load: so many clients for so long, at a rate in transactions a second if it has one."""

    duration_s: int
    clients: int
    rate: NotRequired[float]


class DatasetOptions(TypedDict, total=False):
    """The options that an experiment's tables are made with; the engine has one of them."""

    scale: int
    rows: int


class SetupOptions(TypedDict, total=False):
    """The conditions before and around a load; see `benchmarks.runs.setup.options`."""

    idle_connections: int
    idle_reads: str
    idle_at: str
    settings_profile: str
    vacuum: bool
    checkpoint: bool
    warm_up: int


class RunOptions(SetupOptions, total=False):
    """The options of a run or a preparation."""

    # The number of clients, by each program's word for it.
    clients: int | None
    concurrency: int | None
    threads: int | None
    # The length of the load.
    duration: int | None
    transactions: int | None
    events: int | None
    rate: float | None
    stages: list[Stage]  # absent for a constant load; `clients` is then the most of any stage, `duration` their sum
    # The load itself.
    builtin: str | list[str] | None
    scripts: list[RunScript] | None
    script: str | None
    workload: str | None
    plan: str
    scale: int | None
    variables: dict[str, int | float | str] | None
    # The way in which clients connect and send their queries.
    connect: bool
    protocol: str
    random_seed: int | None
    pool_size: int | None
    # The output and the logs.
    progress: int
    percentiles: bool
    sampling_rate: float | None
    report_per_command: bool
