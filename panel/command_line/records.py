"""The records of the API that the commands read, with the keys that they use."""

from typing import NotRequired, TypedDict, TypeVar


class Record(TypedDict):
    """Any record."""

    id: str


AnyRecord = TypeVar("AnyRecord", bound=Record)


class Pool(Record):
    """A pool."""

    name: str
    database: str
    user: str
    mode: str
    size: int
    state: str


class Team(Record):
    """A team."""

    name: str


class Limit(TypedDict, total=False):
    """A limit of a metric, one of both bounds."""

    metric: str
    at_least: float
    at_most: float


class Threshold(Limit):
    """A limit with what the run measured."""

    value: float | None
    passed: bool


class Target(TypedDict):
    """What a run loads."""

    label: str


class Stage(TypedDict):
    """The figures of one stage of a load; those of its process are there once it has ended."""

    clients: int
    duration_s: int
    status: NotRequired[str]
    tps: NotRequired[float | None]


class Summary(TypedDict):
    """The figures of a whole run."""

    tps: float | None
    stages: NotRequired[list[Stage]]


class Run(Record):
    """A run; `validity` is empty until its end."""

    number: int
    group: str | None
    status: str
    progress_percent: float | None
    validity: str
    reasons: list[str]
    error: str
    target: Target
    summary: Summary
    thresholds: list[Threshold]


class Arm(TypedDict):
    """The runs of one configuration; ratio, interval and verdict are those against the baseline."""

    label: str
    n_valid: int
    median: float | None
    ratio: float | None
    interval: list[float] | None
    verdict: str | None


class Comparison(TypedDict):
    """The comparison of runs by one metric."""

    metric: str
    arms: list[Arm]
    conclusion: str
