"""Who may change things in the browser: staff; everybody else who is logged in may look."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

View = Callable[..., HttpResponse]


def staff_only(view: View) -> View:
    """Answer 403 to users who are not staff, as the API does to tokens without the scope."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_staff:
            raise PermissionDenied("only staff may change things here")
        return view(request, *args, **kwargs)

    return guarded


def staff_changes(view: View) -> View:
    """Let everybody who is logged in look, and answer 403 to a POST of users who are not staff."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST" and not request.user.is_staff:
            raise PermissionDenied("only staff may change things here")
        return view(request, *args, **kwargs)

    return guarded
