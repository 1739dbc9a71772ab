"""Shared handling of a form's submit: call the verb and turn its errors into the page's status and context."""

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
    """Result of a submit: the verb's return value, or the HTTP status and context of the form shown again."""

    saved: Saved | None = None
    status: int = 200
    context: dict[str, Any] = field(default_factory=dict)


def attempt(form: Typed, verb: Callable[[], Saved], current: Model | None = None) -> Attempt[Saved]:
    """Call the verb; show its errors beside the fields, and the current values beside a stale edit (409)."""
    try:
        return Attempt(verb())
    except InvalidValues as error:
        form.take(error.errors)
        return Attempt()
    except ClusterUnreachable as error:  # only staff see these forms
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
    """Return where the typed values differ from the current ones: `label`, `yours`, `theirs`; never passwords."""
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
    """Set the form's version to the current one, so that its next submit is not stale."""
    form.data = dict(form.data.items()) | {"version": str(current.version)}
