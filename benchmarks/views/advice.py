"""The pages of advice on a pool: ask for it, and apply what was recommended."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.experiments import results
from benchmarks.experiments.advice import sweep
from benchmarks.experiments.advice.request import AdviceRequest
from benchmarks.experiments.report import advice
from benchmarks.forms import form_errors
from benchmarks.forms.advice import AdviceForm
from benchmarks.models import Experiment
from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from core.lib.errors import DomainError
from pools.errors import PoolsError
from pools.inventory import pools
from pools.models import Pool

AT_ONCE_MINUTES, AT_ONCE_SCALE = 1, 1  # the minutes and scale of the first answer, which takes one click


@require_http_methods(["GET", "HEAD", "POST"])
@needs("experiment.start")
def advice_ask(request: HttpRequest, pool: UUID) -> HttpResponse:
    """Show what can be asked of a pool (`?question=` chooses), and start the sweep that answers."""
    found = find(request, Pool.objects.wanted().select_related("pooler", "cluster"), pk=pool)
    form = AdviceForm(
        request.POST or None,
        pool=found,
        access=Access.of(request),
        initial={"question": request.GET.get("question", sweep.SIZE)},
    )
    if request.method == "POST" and form.is_valid():
        try:
            advice_request = AdviceRequest(
                cluster=found.cluster,
                pool=found,
                author=person(request.user),
                access=Access.of(request),
                **form.request(),
            )
            return redirect("experiment-detail", sweep.ask(advice_request).pk)
        except DomainError as error:
            form_errors.add_to(form, error)
    context = {"pool": found, "form": form, "past": _past(found, Access.of(request))}
    return render(request, "benchmarks/advice_form.html", context, status=400 if request.method == "POST" else 200)


@require_POST
@needs("experiment.start")
def advice_at_once(request: HttpRequest, pool: UUID) -> HttpResponse:
    """Start a first answer to "direct or pooled?" by one click; what stands in its way is said beside the form."""
    found = find(request, Pool.objects.wanted().select_related("pooler", "cluster"), pk=pool)
    load = {"scale": AT_ONCE_SCALE}
    advice_request = AdviceRequest(
        cluster=found.cluster,
        pool=found,
        author=person(request.user),
        access=Access.of(request),
        question=sweep.POOLING,
        minutes=AT_ONCE_MINUTES,
        workload=load,
    )
    try:
        return redirect("experiment-detail", sweep.ask(advice_request).pk)
    except DomainError as error:
        messages.error(request, str(error))
    return redirect(f"{reverse('advice-ask', args=[found.pk])}?question={sweep.POOLING}")


def _past(pool: Pool, access: Access) -> list[tuple[Experiment, str]]:
    """Return the latest advice on the pool with the name of its question."""
    found = access.visible(Experiment.objects.all()).filter(advice__pool=str(pool.pk))[:5]
    return [(one, str(advice.QUESTIONS[one.advice["question"]])) for one in found]


@require_POST
@needs("experiment.apply")
def advice_apply(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Give the pool the recommended size and reserve."""
    experiment = find(request, Experiment.objects.all(), pk=pk)
    advised = advice.show(experiment, results.of(experiment))
    if advised is None or advised.found is None or advised.pool is None or not advised.is_final:
        messages.error(request, _("There is nothing to apply: the sweep has no recommendation, or the pool is gone."))
        return redirect("experiment-detail", experiment.pk)
    Access.of(request).require("pool.change", advised.pool)
    try:
        pools.change(advised.pool, advice.values(advised.found, advised.pool), None, person(request.user))
    except PoolsError as error:
        messages.error(request, str(error))
        return redirect("experiment-detail", experiment.pk)
    text = _("The pool gets size %(size)s with a reserve of %(reserve)s, as experiment %(number)s advised.")
    messages.success(request, text % {**advised.found, "number": experiment.number})
    return redirect("pool-detail", advised.pool.pk)
