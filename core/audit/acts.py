"""Acts that are no writes to a tracked model: commands to a pooler or a server, and secrets that are shown."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import Model

from core.audit.recording import Subject, attempt, record
from core.audit.tracking import ANNOUNCED, TRACKED

P = ParamSpec("P")
Result = TypeVar("Result")


def subject_of(instance: Model) -> Subject:
    """Return a record as what an act is about."""
    tracked = TRACKED.get(type(instance))
    kind = tracked.kind if tracked and not tracked.path else instance._meta.model_name or ""
    cluster_id = _found(instance, tracked.cluster if tracked else "cluster_id")
    above: tuple[str, ...] = getattr(instance, "belongs_to", ())
    lookups = tracked.team if tracked else [f"{path}__team_id" for path in above]
    team_id = next(filter(None, (_found(instance, lookup) for lookup in lookups)), None)
    return Subject(kind, str(instance.pk), str(instance), cluster_id, team_id)


def subject_with(kind: str, pk: object) -> Subject:
    """Return the record of a tracked kind with this id as what an act is about; without a name where there is none."""
    tracked = next((one for one in TRACKED.values() if one.kind == kind and not one.path), None)
    try:
        found = tracked.model._base_manager.filter(pk=pk).first() if tracked and pk else None
    except (TypeError, ValueError, ValidationError):  # the address has something else than its primary key
        found = None
    return subject_of(found) if found else Subject(kind, str(pk or ""))


def _found(instance: Model, lookup: str) -> UUID | None:
    """Return the id that a lookup such as `cluster__team_id` leads to; None where it leads nowhere."""
    found: Any = instance if lookup else None
    for name in lookup.split("__"):
        found = getattr(found, name, None)
    return found if isinstance(found, UUID) else None


def recorded(action: str, *shown: str) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Record each call of a function whose first argument is the record that it acts on: before it, and its outcome.

    The arguments named by `shown` are kept; those of a mapping without what is secret there.
    """

    def decorate(act: Callable[P, Result]) -> Callable[P, Result]:
        signature = inspect.signature(act)
        ANNOUNCED.add(action)

        @wraps(act)
        def recording(*words: P.args, **named: P.kwargs) -> Result:
            given = signature.bind(*words, **named).arguments
            about = {name: _plain(given[name]) for name in shown if name in given}
            with attempt(action, subject_of(next(iter(given.values()))), **about):
                return act(*words, **named)

        return recording

    return decorate


def record_reveal(instance: Model, form: str) -> None:
    """Record that a secret of a record is shown; `form` says how, such as `page`, `psql` or `files`."""
    record("secret.reveal", subject_of(instance), after={"form": form})


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Model) else value
