"""Which SQL the caller of the API may have run by a setting of a pooler."""

from rest_framework.request import Request

from panel.accounts import confirmation
from panel.accounts.models import Scope
from panel.accounts.permissions import holds
from pools.inventory.sql_settings import SqlRight


def sql_right(request: Request) -> SqlRight:
    """None without the scope `admin`; as superusers only in a browser's session whose password was given lately."""
    if not holds(request.user, request.auth, Scope.ADMIN):
        return SqlRight.NONE
    is_person = request.auth is None and confirmation.is_recent(request._request)
    return SqlRight.ANY if is_person else SqlRight.ORDINARY
