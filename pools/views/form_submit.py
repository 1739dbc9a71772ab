"""What every form's submit shares: try the verb, and turn its refusals into what the page shows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.db.models import Model
from django.forms import BaseForm

from pools.errors import ClusterUnreachable, IllegalTransition, InvalidValues, PoolerUnreachable, Stale
from pools.forms.records import Typed

Saved = TypeVar("Saved")


@dataclass
class Attempt(Generic[Saved]):
    """What came of a submit: the verb's answer, or the HTTP status and context of the form shown again."""

    saved: Saved | None = None
    status: int = 200
    context: dict[str, Any] = field(default_factory=dict)


def attempt(form: Typed, verb: Callable[[], Saved], current: Model | None = None) -> Attempt[Saved]:
    """Call the verb; what it refuses stands beside the fields, a stale edit (409) beside what stands now."""
    try:
        return Attempt(verb())
    except InvalidValues as error:
        form.take(error.errors)
        return Attempt()
    except ClusterUnreachable as error:  # the forms are for staff
        return Attempt(context={"unreachable": error.detail_for(to_admin=True)})
    except PoolerUnreachable as error:
        return Attempt(context={"unreachable": str(error)})
    except IllegalTransition as error:
        form.add_error(None, str(error))
        return Attempt(status=409)
    except Stale:
        if current is None:
            raise
        current.refresh_from_db()
        _rebase(form, current)
        return Attempt(status=409, context={"stale": differences(form, current)})


def differences(form: BaseForm, current: Model) -> list[dict[str, Any]]:
    """Where what was typed differs from what stands now: label, yours, theirs; passwords are never compared."""
    found = []
    for bound in form:
        name = bound.name
        if name == "version" or name.endswith("password") or not hasattr(current, name):
            continue
        yours, theirs = form.cleaned_data.get(name), getattr(current, name)
        if ("" if yours is None else yours) != ("" if theirs is None else theirs):
            found.append({"label": bound.label, "yours": yours, "theirs": theirs})
    return found


def _rebase(form: Typed, current: Any) -> None:
    """Let the next submit of what was typed be measured against the version now shown."""
    form.data = dict(form.data.items()) | {"version": str(current.version)}
