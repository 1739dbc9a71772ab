"""The pages of ceilings: what runs are held to; superusers set it."""

from functools import wraps
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from benchmarks.forms.ceilings import CeilingForm
from benchmarks.models import Ceiling
from panel.lib.access import View


def superusers_only(view: View) -> View:
    """Answer 403 to all others: staff are who the ceilings hold for."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not request.user.is_superuser:
            raise PermissionDenied("only superusers may set ceilings: they hold for staff")
        return view(request, *args, **kwargs)

    return guarded


@require_safe
def ceiling_list(request: HttpRequest) -> HttpResponse:
    """Every ceiling there is; they are few."""
    ceilings = Ceiling.objects.select_related("cluster")
    return render(request, "benchmarks/ceiling_list.html", {"ceilings": ceilings})


@superusers_only
def ceiling_create(request: HttpRequest) -> HttpResponse:
    """The form of a new one."""
    return _form(request, None)


@superusers_only
def ceiling_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """The form of one that there is."""
    return _form(request, get_object_or_404(Ceiling, pk=pk))


@require_POST
@superusers_only
def ceiling_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Let runs go without it from now on."""
    ceiling = get_object_or_404(Ceiling, pk=pk)
    ceiling.delete()
    messages.success(request, f"The ceiling for {ceiling} was removed.")
    return redirect("ceiling-list")


def _form(request: HttpRequest, ceiling: Ceiling | None) -> HttpResponse:
    form = CeilingForm(request.POST or None, instance=ceiling)
    if request.method == "POST" and form.is_valid():
        form.save()
        return redirect("ceiling-list")
    return render(request, "benchmarks/ceiling_form.html", {"form": form, "ceiling": ceiling})
