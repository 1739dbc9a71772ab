"""What each request of a logged-in browser passes."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from core.accounts import browser_sessions
from core.accounts.permissions import person


class BrowserSessions(MiddlewareMixin):
    """Notes from where each browser session is used, for its owner's account page."""

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Note the use; requests with a token have no session."""
        if request.user.is_authenticated:
            browser_sessions.note_use(request, person(request.user))
