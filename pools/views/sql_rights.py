"""Which SQL the person at a form may have run by a setting of a pooler, and the question for their password."""

from collections.abc import Callable
from typing import Any

from django.db.models import Model
from django.http import HttpRequest

from panel.accounts import confirmation
from pools.forms.records import Typed
from pools.inventory.sql_settings import NotAllowed, SqlRight
from pools.views.form_submit import Attempt, attempt

OWN_PASSWORD = "own_password"  # noqa: S105 (the name of a field)


def attempt_with_sql(
    request: HttpRequest, form: Typed, verb: Callable[[SqlRight], Any], current: Model | None = None
) -> Attempt[Any]:
    """`attempt` with the right that the person has; where their password is needed, the context has `asks_password`.

    A wrong one is told in the same words as at any other door, and nothing is saved.
    """
    given = request.POST.get(OWN_PASSWORD, "")
    confirmed = confirmation.confirm(request, given) if given else confirmation.is_recent(request)
    asks: dict[str, Any] = {}

    def tried() -> Any:
        try:
            return verb(SqlRight.ANY if confirmed else SqlRight.ORDINARY)
        except NotAllowed:
            asks["asks_password"] = "That is not your password." if given else "You gave it more than 15 minutes ago."
            raise

    found = attempt(form, tried, current)
    found.context |= asks
    return found
