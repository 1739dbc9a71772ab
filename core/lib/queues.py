"""Celery queues, and which of them a worker consumes. Runs have their own: one may take a day."""

from enum import StrEnum

RUNS = "runs"  # runs for any generator
TASKS = "celery"  # Celery's own default: applies, checks and the periodic tasks of beat


class WorkerKind(StrEnum):
    """The queues that a worker takes from (POOLDECK_WORKER)."""

    ALL = "all"
    RUNS = "runs"
    TASKS = "tasks"

    @property
    def takes_runs(self) -> bool:
        return self is not WorkerKind.TASKS

    @property
    def takes_tasks(self) -> bool:
        return self is not WorkerKind.RUNS


def of_generator(generator: str) -> str:
    """Return the queue of runs that only this generator takes."""
    return f"generator.{generator}"


def of_poolers(generator: str) -> str:
    """Return the queue of tasks for poolers whose folders are on this generator's host."""
    return f"poolers.{generator}"


def listened_on(kind: WorkerKind, generator: str) -> list[str]:
    """Return the queues that a worker of this kind and name consumes."""
    runs = [RUNS, of_generator(generator)] if kind.takes_runs else []
    tasks = [TASKS, of_poolers(generator)] if kind.takes_tasks else []
    return tasks + runs
