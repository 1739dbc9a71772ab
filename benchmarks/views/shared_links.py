"""Pages of read-only links: those of a run, a comparison or an experiment, and what whoever has one sees."""

from datetime import timedelta
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from benchmarks.experiments.report import shared_links
from benchmarks.experiments.report.shared_links import ComparisonOf, Shown
from benchmarks.models import Experiment, Run, SharedLink
from benchmarks.views.compare import asked_runs
from core.accounts import lockout
from core.accounts.access import allow, find, needs
from core.accounts.permissions import person

LIFETIMES = [
    (1, gettext_lazy("in a day")),
    (7, gettext_lazy("in 7 days")),
    (30, gettext_lazy("in 30 days")),
    (90, gettext_lazy("in 90 days")),
]
UNTRACED = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow", "Cache-Control": "no-store"}


class LinkForm(forms.Form):
    """How long a new link works."""

    lifetime_days = forms.TypedChoiceField(choices=LIFETIMES, coerce=int, initial=7, label=gettext_lazy("Expires"))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("link.manage")
def run_links(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the links of a run; POST makes one and shows its address, never again."""
    return _links(request, find(request, Run.objects.all(), pk=pk))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("link.manage")
def experiment_links(request: HttpRequest, pk: UUID) -> HttpResponse:
    """List the links of an experiment; POST makes one and shows its address, never again."""
    return _links(request, find(request, Experiment.objects.all(), pk=pk))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@needs("link.manage")
def comparison_links(request: HttpRequest) -> HttpResponse:
    """List the links of a comparison, whose runs the address names as that of its page does; POST makes one."""
    runs = asked_runs(request)
    allow(request, *runs)
    if len(runs) < shared_links.FEWEST_COMPARED:
        return redirect("run-compare")  # which lets them be chosen
    return _links(request, ComparisonOf(runs, request.GET.get("baseline", "")))


def _links(request: HttpRequest, shown: Shown) -> HttpResponse:
    form = LinkForm(request.POST if request.method == "POST" else None)
    made = ""
    if form.is_valid():
        lifetime = timedelta(days=form.cleaned_data["lifetime_days"])
        _link, made = shared_links.issue(shown, person(request.user), lifetime)
        form = LinkForm()
    links = shared_links.of(shown).select_related("author")
    context = {"shown": shown, **_place(shown), "links": links, "form": form, "made": made}
    return render(request, "benchmarks/shared_links.html", context, status=422 if form.is_bound else 200)


def _place(shown: Shown) -> dict[str, object]:
    """Return what the page calls the record, and where it leads back to."""
    if isinstance(shown, ComparisonOf):
        numbers = ", ".join(str(run.number) for run in shown.runs)
        return {"title": _("Links to the comparison of runs %(numbers)s") % {"numbers": numbers}, "compared": shown}
    back = "run-detail" if isinstance(shown, Run) else "experiment-detail"
    return {"title": _("Links to %(shown)s") % {"shown": shown}, "back": back}


@require_POST
@needs("link.manage", destroys=gettext_lazy("Revoke the link"))
def link_revoke(request: HttpRequest, pk: UUID) -> HttpResponse:
    """End a link."""
    link = find(request, SharedLink.objects.select_related("run", "experiment"), pk=pk)
    link.revoke()
    messages.success(request, _("The link is revoked: who opens it from now on sees nothing."))
    return redirect(_address_of_links(link))


def _address_of_links(link: SharedLink) -> str:
    """Return the address of the page that lists the link."""
    if compared := link.comparison:
        query = urlencode({"run": compared["runs"], "baseline": compared["baseline"]}, doseq=True)
        return f"{reverse('comparison-links')}?{query}"
    return reverse("run-links" if link.run_id else "experiment-links", args=[link.shown.pk])


@login_not_required
@sensitive_variables("token")
@require_safe
@needs("public.read")
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """Show the figures that a link leads to; 410 where it has ended, 404 for one that never was.

    429 where one address asked for more than `WRONG_TOKENS` that never were within a minute.
    """
    link = shared_links.find(token)
    if link is None:
        if wait_s := lockout.wrong_token_wait_s(request):
            text = _("Too many wrong links came from your address: try again in %(seconds)d s.") % {"seconds": wait_s}
            return HttpResponse(
                text, status=429, content_type="text/plain", headers={**UNTRACED, "Retry-After": wait_s}
            )
        raise Http404(_("there is no such link"))
    if link.works and request.method == "GET":
        link.note_opened()
    figures = shared_links.figures(link) if link.works else {}
    context = {"of": figures, "expires_at": link.expires_at}
    answer = render(request, "benchmarks/shared.html", context, status=200 if figures else 410)
    for name, value in UNTRACED.items():
        answer[name] = value
    return answer
