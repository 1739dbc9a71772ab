"""Password confirmation: a session shows stored passwords only shortly after its user entered their own."""

import time

from django.contrib.auth import authenticate
from django.http import HttpRequest

CONFIRMED_AT = "password_confirmed_at"
HOLDS_FOR_S = 15 * 60


def note(request: HttpRequest) -> None:
    """Record in the session that its user has just entered their password."""
    request.session[CONFIRMED_AT] = time.time()


def is_recent(request: HttpRequest) -> bool:
    """Tell whether the password was entered within the last `HOLDS_FOR_S`."""
    confirmed_at: float = request.session.get(CONFIRMED_AT, 0.0)
    return 0 <= time.time() - confirmed_at < HOLDS_FOR_S


def confirm(request: HttpRequest, password: str) -> bool:
    """Check the password of the session's user under the login limits, and record the confirmation if it is right."""
    if authenticate(request, username=request.user.get_username(), password=password) != request.user:
        return False
    note(request)
    return True
