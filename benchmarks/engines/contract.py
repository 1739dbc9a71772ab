"""What an engine and the rest of the panel say to each other: its options, its samples, what a line of it means."""

from dataclasses import dataclass, field

Value = int | float | bool | str
PASSFILE, ROOT_CERTIFICATE = "pgpass", "root.crt"  # in the private home of a run


@dataclass(frozen=True, slots=True)
class Field:
    """One option: its long name at the program (underscores for hyphens), how it is shown, and what it may be.

    `since` is the first major version that knows it; `default` None means "not passed".
    """

    name: str
    flag: str
    label: str
    kind: str  # int, float, bool, choice, text or one of the engine's own
    default: Value | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    help: str = ""
    group: str = "Load"
    purpose: str = "load"
    since: int = 9


@dataclass(frozen=True, slots=True)
class Command:
    """A program to start: its words, its whole environment (neither holds a password), and the files it reads.

    `files` are names in the run's private home and their texts; they are written there before it starts.
    """

    argv: list[str]
    env: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """One interval of a load; every count is of that interval, and None is what was not printed or was a NaN.

    `t` is in seconds since the load began (under pgbench's --progress-timestamp a Unix time).
    """

    t: float
    tps: float | None
    latency_ms: float | None
    stddev_ms: float | None
    failed: int | None = None
    lag_ms: float | None = None
    skipped: int | None = None
    retried: int | None = None
    retries: int | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """What one line says while the program runs: a sample, or how far a preparation is (0 to 100), or neither.

    `worth_telling` is whether people should read it among the messages.
    """

    sample: Progress | None = None
    percent: float | None = None
    worth_telling: bool = True
