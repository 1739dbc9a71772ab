"""Access in the browser: staff may change things, other logged-in users may only view them."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

View = Callable[..., HttpResponse]


def staff_only(view: View) -> View:
    """Answer 403 to users who are not staff, as the API does to tokens without the scope."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_staff:
            raise PermissionDenied(_("only staff may change things here"))
        return view(request, *args, **kwargs)

    return guarded


def staff_changes(view: View) -> View:
    """Let all logged-in users view the page, and answer 403 to a POST of those who are not staff."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method == "POST" and not request.user.is_staff:
            raise PermissionDenied(_("only staff may change things here"))
        return view(request, *args, **kwargs)

    return guarded
