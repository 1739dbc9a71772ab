"""Submits of forms whose settings may run SQL: unusual SQL needs the user's own password, asked for on demand."""

from collections.abc import Callable
from typing import Any

from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext as _

from panel.accounts import confirmation
from pools.forms.records import Typed
from pools.inventory.sql_settings import NotAllowed, SqlRight
from pools.views.form_submit import Attempt, attempt

OWN_PASSWORD = "own_password"  # noqa: S105 (the name of a field)


def attempt_with_sql(
    request: HttpRequest, form: Typed, verb: Callable[[SqlRight], Any], current: Model | None = None
) -> Attempt[Any]:
    """Call `attempt` with the user's right to set SQL, which depends on a recently confirmed password.

    If the verb needs that password, nothing is saved and the context has the message `asks_password`.
    """
    given = request.POST.get(OWN_PASSWORD, "")
    confirmed = confirmation.confirm(request, given) if given else confirmation.is_recent(request)
    asks: dict[str, Any] = {}

    def tried() -> Any:
        try:
            return verb(SqlRight.ANY if confirmed else SqlRight.ORDINARY)
        except NotAllowed:
            asks["asks_password"] = (
                _("That is not your password.") if given else _("You entered it more than 15 minutes ago.")
            )
            raise

    found = attempt(form, tried, current)
    found.context |= asks
    return found
