"""Which SQL a caller of the API may set in settings of a pooler."""

from rest_framework.request import Request

from core.accounts import confirmation
from core.accounts.models import Scope
from core.accounts.permissions import holds
from pools.inventory.sql_settings import SqlRight


def sql_right(request: Request) -> SqlRight:
    """Return the right: none without the scope `admin`, any only in a session with a recently entered password."""
    if not holds(request.user, request.auth, Scope.ADMIN):
        return SqlRight.NONE
    is_person = request.auth is None and confirmation.is_recent(request._request)
    return SqlRight.ANY if is_person else SqlRight.ORDINARY
