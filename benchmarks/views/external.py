"""The pages of external endpoints."""

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from benchmarks.errors import InvalidTarget
from benchmarks.forms.external import ExternalEndpointForm
from benchmarks.models import ExternalEndpoint
from benchmarks.targets import external
from core.accounts.access import Access, find, needs
from core.accounts.people.ownership import chosen_team, offer_team

ENDPOINTS_A_PAGE = 50


@require_safe
@needs("external.view")
def external_list(request: HttpRequest) -> HttpResponse:
    """List the external endpoints that runs may load."""
    endpoints = Paginator(
        Access.of(request).visible(ExternalEndpoint.objects.select_related("cluster")), ENDPOINTS_A_PAGE
    )
    return render(request, "benchmarks/external_list.html", {"page": endpoints.get_page(request.GET.get("page"))})


@require_http_methods(["GET", "HEAD", "POST"])
@needs("external.change")
def external_create(request: HttpRequest) -> HttpResponse:
    """Show and save the form of a new endpoint."""
    return _form(request, ExternalEndpoint(), {})


@require_http_methods(["GET", "HEAD", "POST"])
@needs("external.change")
def external_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show and save the form of an existing endpoint."""
    endpoint = find(request, ExternalEndpoint.objects.all(), pk=pk)
    return _form(request, endpoint, ExternalEndpointForm.initial_of(endpoint))


@require_http_methods(["GET", "HEAD", "POST"])
@needs("external.change", destroys=gettext_lazy("Remove the endpoint"))
def external_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete an endpoint after a confirmation; its runs stay."""
    endpoint = find(request, ExternalEndpoint.objects.all(), pk=pk)
    if request.method != "POST":
        return render(request, "benchmarks/external_delete.html", {"endpoint": endpoint, "runs": endpoint.runs.count()})
    endpoint.delete()
    text = _("The external endpoint %(endpoint)s was removed; its runs stay.")
    messages.success(request, text % {"endpoint": endpoint})
    return redirect("external-list")


def _form(request: HttpRequest, endpoint: ExternalEndpoint, initial: dict[str, object]) -> HttpResponse:
    form = ExternalEndpointForm(request.POST or None, initial=initial, access=Access.of(request))
    is_new = endpoint._state.adding
    if is_new:
        offer_team(request, form, "external.change")
    if request.method == "POST" and form.is_valid():
        if is_new and (team := chosen_team(request, form, "external.change")):
            endpoint.team_id = team.pk
        try:
            saved = external.save(endpoint, **form.cleaned_data)
        except InvalidTarget as error:
            form.add_errors(error.errors)
        else:
            text = _("%(endpoint)s accepted a login as %(user)s.")
            messages.success(request, text % {"endpoint": saved, "user": saved.user})
            return redirect("external-list")
    context = {"form": form, "endpoint": None if is_new else endpoint}
    return render(request, "benchmarks/external_form.html", context, status=422 if form.errors else 200)
