"""The queues of work, and which of them a worker listens on: runs may take a day, and nothing else waits for them."""

from enum import StrEnum

RUNS = "runs"  # those that any generator may carry
TASKS = "celery"  # Celery's own default: applies, looks and what beat sends


class WorkerKind(StrEnum):
    """What a worker takes (POOLDECK_WORKER)."""

    ALL = "all"
    RUNS = "runs"
    TASKS = "tasks"

    @property
    def takes_runs(self) -> bool:
        """Whether it is a generator."""
        return self is not WorkerKind.TASKS

    @property
    def takes_tasks(self) -> bool:
        """Whether it applies configurations and looks after what there is."""
        return self is not WorkerKind.RUNS


def of_generator(generator: str) -> str:
    """The queue of the runs that this generator alone may carry."""
    return f"generator.{generator}"


def of_poolers(generator: str) -> str:
    """The queue of the tasks for the poolers whose folders are on this generator's host."""
    return f"poolers.{generator}"


def listened_on(kind: WorkerKind, generator: str) -> list[str]:
    """The queues of a worker of this kind and name."""
    runs = [RUNS, of_generator(generator)] if kind.takes_runs else []
    tasks = [TASKS, of_poolers(generator)] if kind.takes_tasks else []
    return tasks + runs
