"""Guard of pages that change a pooler's configuration: a watched one has to be taken over first."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from core.accounts.access import find
from pools.errors import IllegalTransition
from pools.models import Pooler

View = Callable[..., HttpResponse]


def managed_only(view: View) -> View:
    """Send whoever asks for a page that a watched pooler does not have to its own page, with the reason."""

    @wraps(view)
    def guarded(request: HttpRequest, pk: UUID, *args: Any, **named: Any) -> HttpResponse:
        try:
            find(request, Pooler.objects.all(), pk=pk).require_managed()
        except IllegalTransition as error:
            messages.error(request, str(error))
            return redirect("pooler-detail", pk)
        return view(request, pk, *args, **named)

    return guarded
