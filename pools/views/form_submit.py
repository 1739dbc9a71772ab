"""Shared handling of a form's submit: call the verb and turn its errors into the page's status and context.

Settings may run SQL: unusual SQL needs the user's own password, asked for on demand.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

from django.forms import BaseForm
from django.http import HttpRequest
from django.utils.translation import gettext as _

from core.accounts import confirmation
from pools.errors import ClusterUnreachable, IllegalTransition, InvalidValues, PoolerUnreachable, Stale
from pools.forms.base import PanelForm
from pools.inventory.sql_settings import NotAllowed, SqlRight
from pools.models.base import VersionedModel

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Saved = TypeVar("Saved")
OWN_PASSWORD = "own_password"  # noqa: S105 (the name of a field)


@dataclass
class Attempt(Generic[Saved]):
    """Result of a submit: the verb's return value, or the HTTP status and context of the form shown again."""

    saved: Saved | None = None
    status: int = 200
    context: dict[str, object] = field(default_factory=dict)


def attempt(form: PanelForm, verb: Callable[[], Saved], current: VersionedModel | None = None) -> Attempt[Saved]:
    """Call the verb; show its errors beside the fields, and the current values beside a stale edit (409)."""
    try:
        return Attempt(verb())
    except InvalidValues as error:
        form.add_errors(error.errors)
        return Attempt()
    except (ClusterUnreachable, PoolerUnreachable) as error:
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


def attempt_with_sql(
    request: HttpRequest, form: PanelForm, verb: Callable[[SqlRight], Saved], current: VersionedModel | None = None
) -> Attempt[Saved]:
    """Call `attempt` with the user's right to set SQL, which depends on a recently confirmed password.

    If the verb needs that password, nothing is saved and the context has the message `asks_password`.
    """
    password = request.POST.get(OWN_PASSWORD, "")
    confirmed = confirmation.confirm(request, password) if password else confirmation.is_recent(request)
    asks: dict[str, object] = {}

    def tried() -> Saved:
        try:
            return verb(SqlRight.ANY if confirmed else SqlRight.ORDINARY)
        except NotAllowed:
            asks["asks_password"] = (
                _("That is not your password.") if password else _("You entered it more than 15 minutes ago.")
            )
            raise

    found = attempt(form, tried, current)
    found.context |= asks
    return found


class StaleValue(TypedDict):
    """A field whose typed value differs from the current one."""

    label: "StrOrPromise"
    yours: object
    theirs: object


def differences(form: BaseForm, current: VersionedModel) -> list[StaleValue]:
    """Return the typed values that differ from the current ones; never passwords."""
    found: list[StaleValue] = []
    for bound in form:
        name = bound.name
        if name == "version" or name.endswith("password") or not hasattr(current, name):
            continue
        yours, theirs = form.cleaned_data.get(name), getattr(current, name)
        if ("" if yours is None else yours) != ("" if theirs is None else theirs):
            found.append({"label": bound.label, "yours": yours, "theirs": theirs})
    return found


def _rebase(form: PanelForm, current: VersionedModel) -> None:
    """Set the form's version to the current one, so that its next submit is not stale."""
    form.data = dict(form.data.items()) | {"version": str(current.version)}
