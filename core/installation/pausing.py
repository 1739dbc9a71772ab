"""Pausing: the tasks of a paused panel do nothing, so that a copy never writes where its original still does."""

import uuid
from typing import Any

from celery import Task
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from core.installation import outages, signed_messages
from core.installation.models import Installation
from core.lib import env

PAUSED = _("the panel is paused, because it may be a copy: an admin can resume it at /installation/")
# they describe the workers themselves, and connect to no server
GO_ON = frozenset(
    {
        "benchmarks.tasks.ask_generators",
        "benchmarks.tasks.describe_generator",
        "benchmarks.tasks.register_generator",
    }
)


def is_paused() -> bool:
    """Tell whether the panel is paused until a person resumes it."""
    return Installation.objects.exclude(paused_at=None).exists()


def pause(reason: str) -> None:
    """Pause the tasks; a database that no panel was started with yet gets its record."""
    now = {"paused_at": timezone.now(), "paused_because": reason}
    nowhere = {"home": str(env.home()), "home_inode": 0, "last_start": uuid.uuid4()}
    Installation.objects.update_or_create(pk=1, defaults=now, create_defaults=nowhere | now)


def resume() -> None:
    """Let the periodic tasks run again; clears the reason of the pause."""
    Installation.objects.update(paused_at=None, paused_because="")


def in_templates(request: HttpRequest) -> dict[str, object]:
    """Provide `panel_is_paused`, queried once a page and only if a template uses it."""
    return {"panel_is_paused": SimpleLazyObject(is_paused)}


class PausableTask(Task):  # type: ignore[type-arg]
    """A task that does nothing while the panel is paused; the periodic tasks of beat pick its work up later.

    Where messages are signed, it does nothing for one that was carried out before either.
    """

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> object:
        if self.request.called_directly or self.name not in outages.periodic_tasks():
            return self._unless_paused(*args, **kwargs)
        return outages.carry_out(self.name, lambda: self._unless_paused(*args, **kwargs))

    def _is_replayed(self) -> bool:
        if self.request.called_directly or not self.app.conf.security_key:
            return False
        return not signed_messages.is_first(str(self.request.id), self.request.expires)

    def _unless_paused(self, *args: Any, **kwargs: Any) -> object:
        if self._is_replayed() or (self.name not in GO_ON and is_paused()):
            return None
        return super().__call__(*args, **kwargs)
