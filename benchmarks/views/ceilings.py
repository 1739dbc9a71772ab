"""The pages of ceilings, the limits of runs, which administrators set."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from benchmarks.forms.ceilings import CeilingForm
from benchmarks.models import Ceiling
from core.accounts.access import Access, needs


@require_safe
@needs("ceiling.view")
def ceiling_list(request: HttpRequest) -> HttpResponse:
    """List all ceilings, on one page since they are few."""
    ceilings = Access.of(request).visible(Ceiling.objects.select_related("cluster"))
    return render(request, "benchmarks/ceiling_list.html", {"ceilings": ceilings})


@needs("ceiling.change")
def ceiling_create(request: HttpRequest) -> HttpResponse:
    """Show and save the form of a new ceiling."""
    return _form(request, None)


@needs("ceiling.change")
def ceiling_edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Show and save the form of an existing ceiling."""
    return _form(request, get_object_or_404(Ceiling, pk=pk))


@require_POST
@needs("ceiling.change", destroys=gettext_lazy("Remove the run limits"))
def ceiling_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a ceiling: it no longer limits new runs."""
    ceiling = get_object_or_404(Ceiling, pk=pk)
    ceiling.delete()
    messages.success(request, _("The run limit for %(ceiling)s was removed.") % {"ceiling": ceiling})
    return redirect("ceiling-list")


def _form(request: HttpRequest, ceiling: Ceiling | None) -> HttpResponse:
    form = CeilingForm(request.POST or None, instance=ceiling)
    if request.method == "POST" and form.is_valid():
        form.save()
        return redirect("ceiling-list")
    return render(request, "benchmarks/ceiling_form.html", {"form": form, "ceiling": ceiling})
