"""The pages of schedules: the list, the form with its next times, and what became of the past ones."""

from uuid import UUID

from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from benchmarks.errors import InvalidFields
from benchmarks.forms.schedules import ScheduleForm, TimesForm, initial_of
from benchmarks.models import Experiment, Run, Schedule, ScheduledStart, StartState
from benchmarks.schedules import cron, due, starting, store, trend_chart, trends
from core.accounts.access import Access, find, needs
from core.accounts.permissions import person
from core.lib.errors import DomainError
from core.lib.long_lists import LongList
from core.lib.query_params import id_of
from pools.monitoring import channels

PAGE_SIZE = 25
NEXT_TIMES = 5
WITH_REPEATED = (
    "run__cluster__team",
    "run__external__team",
    "run__external__cluster",
    "run__team",
    "experiment__cluster__team",
    "experiment__team",
    "author",
    "consented_by",
)


@require_safe
@needs("schedule.view")
def schedule_list(request: HttpRequest) -> HttpResponse:
    """List the schedules by name, each with its last start."""
    found = Access.of(request).visible(Schedule.objects.select_related(*WITH_REPEATED))
    page = LongList(found, PAGE_SIZE).get_page(request.GET.get("page"))
    lasts = _last_starts([schedule.pk for schedule in page])
    rows = [(schedule, cron.in_words(schedule.cron), lasts.get(schedule.pk)) for schedule in page]
    return render(request, "benchmarks/schedule_list.html", {"page": page, "rows": rows})


def _last_starts(schedules: list[UUID]) -> dict[UUID, ScheduledStart]:
    """Return the latest start of each schedule, in one query."""
    latest = ScheduledStart.objects.filter(schedule=OuterRef("pk")).order_by("-due_at").values("pk")[:1]
    keys = Schedule.objects.filter(pk__in=schedules).values_list(Subquery(latest), flat=True)
    starts = ScheduledStart.objects.filter(pk__in=keys).select_related("run", "experiment")
    return {start.schedule_id: start for start in starts}


@require_safe
@needs("schedule.view")
def schedule_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show a schedule with its next times and what became of its past ones."""
    schedule = find(request, Schedule.objects.select_related(*WITH_REPEATED), pk=pk)
    starts = schedule.starts.select_related("run", "experiment", "by")
    page = LongList(starts, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "schedule": schedule,
        "in_words": cron.in_words(schedule.cron),
        "upcoming": [] if schedule.paused_at else _upcoming(schedule),
        "page": page,
        "rows": [(start, cron.shown(start.due_at, schedule.time_zone)) for start in page],
        "channels": channels.configured(),
    }
    return render(request, "benchmarks/schedule_detail.html", context)


def _upcoming(schedule: Schedule) -> list[str]:
    zone = schedule.time_zone
    return [cron.shown(time, zone) for time in cron.upcoming(schedule.cron, zone, timezone.now(), NEXT_TIMES)]


@require_safe
@needs("schedule.view")
def schedule_trend(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the figures of its nights, and since when their level is another one."""
    schedule = find(request, Schedule.objects.select_related("run", "experiment"), pk=pk)
    found = trends.of(schedule)
    context = {
        "schedule": schedule,
        "drawings": [trend_chart.draw(trend, schedule.time_zone) for trend in found.trends],
        "left_out": [(one, cron.shown(one.start.due_at, schedule.time_zone)) for one in reversed(found.left_out)],
        "count": len(found.nights) + len(found.left_out),
    }
    return render(request, "benchmarks/schedule_trend.html", context)


@require_safe
@needs("schedule.change")
def schedule_preview(request: HttpRequest) -> HttpResponse:
    """Render the next times of the form as it is filled in."""
    return render(request, "benchmarks/includes/schedule_times.html", _times_of(TimesForm(request.GET)))


def _times_of(form: TimesForm) -> dict[str, object]:
    """Return the next times of a form, or the reason for which there are none."""
    try:
        found = form.upcoming(timezone.now(), NEXT_TIMES)
        return {"upcoming": [cron.shown(time, form.cleaned_data["time_zone"]) for time in found], "fault": ""}
    except InvalidFields as error:
        return {"upcoming": [], "fault": " ".join(message for found in error.errors.values() for message in found)}


@needs("schedule.change")
def schedule_create(request: HttpRequest) -> HttpResponse:
    """Show and save the form of a schedule for the run (`?run=`) or the experiment (`?experiment=`) of the address."""
    repeated = _repeated(request)
    form = _form_of(repeated, request, {"name": repeated.name if isinstance(repeated, Run) else str(repeated)})
    if request.method == "POST" and form.is_valid():
        try:
            schedule = store.create(repeated, form.terms(), person(request.user))
        except DomainError as error:
            form.add_refusal(error)
        else:
            return redirect("schedule-detail", schedule.pk)
    return _form_page(request, form, repeated)


def _repeated(request: HttpRequest) -> Run | Experiment:
    """Return what the address names, where the user may start it; 404 for nothing that they see."""
    run, experiment = id_of(request.GET.get("run", "")), id_of(request.GET.get("experiment", ""))
    if run:
        return find(request, Run.objects.select_related("cluster", "external"), pk=run)
    if experiment:
        return find(request, Experiment.objects.select_related("cluster"), pk=experiment)
    raise Http404("a schedule repeats a run or an experiment: name one")


def _form_of(repeated: Run | Experiment, request: HttpRequest, initial: dict[str, object]) -> ScheduleForm:
    is_run = isinstance(repeated, Run)
    may_pair = isinstance(repeated, Run) and starting.pooled_of(repeated) is not None
    return ScheduleForm(request.POST or None, of_run=is_run, may_pair=may_pair, initial=initial)


def _form_page(
    request: HttpRequest, form: ScheduleForm, repeated: Run | Experiment, schedule: Schedule | None = None
) -> HttpResponse:
    cluster = schedule.cluster if schedule else repeated.cluster
    times = _times_of(TimesForm(request.POST if form.is_bound else _flat(form)))
    context = {"form": form, "repeated": repeated, "schedule": schedule, "cluster": cluster, **times}
    status = 400 if request.method == "POST" else 200
    return render(request, "benchmarks/schedule_form.html", context, status=status)


def _flat(form: ScheduleForm) -> dict[str, object]:
    """Return the first values of a form, as a browser would send them."""
    return {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}


@needs("schedule.change")
def schedule_edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show and save the form of an existing schedule."""
    schedule = find(request, Schedule.objects.select_related(*WITH_REPEATED), pk=pk)
    form = _form_of(schedule.repeated, request, initial_of(schedule))
    if request.method == "POST" and form.is_valid():
        try:
            store.change(schedule, form.terms(), person(request.user))
        except DomainError as error:
            form.add_refusal(error)
        else:
            return redirect("schedule-detail", pk)
    return _form_page(request, form, schedule.repeated, schedule)


@require_POST
@needs("schedule.change")
def schedule_pause(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Start nothing more until it is resumed."""
    schedule = find(request, Schedule.objects.all(), pk=pk)
    store.pause(schedule)
    messages.success(
        request, _("Schedule %(name)s is paused: nothing starts until you resume it.") % {"name": schedule}
    )
    return redirect("schedule-detail", pk)


@require_POST
@needs("schedule.change")
def schedule_resume(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Go on with the next time."""
    schedule = find(request, Schedule.objects.all(), pk=pk)
    store.resume(schedule)
    messages.success(request, _("Schedule %(name)s goes on at its next time.") % {"name": schedule})
    return redirect("schedule-detail", pk)


@require_POST
@needs("schedule.change")
def schedule_run_now(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Start it now, beside its own times."""
    schedule = find(request, Schedule.objects.select_related(*WITH_REPEATED), pk=pk)
    start = due.start_now(schedule, person(request.user))
    if start.state == StartState.MISSED:
        messages.error(request, _("Nothing was started: %(reason)s") % {"reason": start.reason})
    else:
        messages.success(request, _("%(began)s was started.") % {"began": str(start.began).capitalize()})
    return redirect("schedule-detail", pk)


@require_POST
@needs("schedule.consent")
def schedule_consent(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Agree to loads of the protected cluster, by its name."""
    schedule = find(request, Schedule.objects.select_related(*WITH_REPEATED), pk=pk)
    try:
        store.consent(schedule, person(request.user), request.POST.get("confirm", ""))
    except DomainError as error:
        messages.error(request, str(error))
    return redirect("schedule-detail", pk)


@needs("schedule.change", destroys=gettext_lazy("Delete the schedule"))
def schedule_delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Delete a schedule after a confirmation; what it started stays."""
    schedule = find(request, Schedule.objects.all(), pk=pk)
    if request.method != "POST":
        return render(request, "benchmarks/schedule_delete.html", {"schedule": schedule})
    schedule.delete()
    messages.success(request, _("The schedule %(name)s was deleted.") % {"name": schedule.name})
    return redirect("schedule-list")
