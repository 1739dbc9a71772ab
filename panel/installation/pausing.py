"""A paused panel: its tasks do nothing, so that a copy never writes where the original still does."""

from typing import Any

from celery import Task
from django.utils.functional import SimpleLazyObject

from panel.installation.models import Installation

PAUSED = "the panel is paused, as it may be a copy: an admin resumes it at /installation/"
# what tells of the workers themselves, and touches no server
GO_ON = frozenset(
    {
        "benchmarks.tasks.ask_generators",
        "benchmarks.tasks.describe_generator",
        "benchmarks.tasks.register_generator",
    }
)


def is_paused() -> bool:
    """Whether the panel waits for a person to resume it."""
    return Installation.objects.exclude(paused_at=None).exists()


def resume() -> None:
    """Let the tasks go on."""
    Installation.objects.update(paused_at=None, paused_because="")


def in_templates(request: Any) -> dict[str, Any]:
    """`panel_is_paused`, asked once a page and only where a template does."""
    return {"panel_is_paused": SimpleLazyObject(is_paused)}


class PausableTask(Task):  # type: ignore[type-arg]
    """A task that does nothing while the panel is paused: what it was to do is found again by beat's next."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Carry it out."""
        if self.name not in GO_ON and is_paused():
            return None
        return super().__call__(*args, **kwargs)
