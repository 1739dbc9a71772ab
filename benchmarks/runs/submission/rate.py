"""Changes the rate of a load while it goes on: its worker ends the present process and starts one with the new rate."""

import math

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.engines import DEFAULT_ENGINE, engine
from benchmarks.errors import IllegalTransition
from benchmarks.library.scripts import dry_run
from benchmarks.models import Purpose, Run, Schedule, Status
from benchmarks.models.options import LEAST_REST_S, RunOptions

_RATE = next(field for field in engine(DEFAULT_ENGINE).fields_for(Purpose.LOAD) if field.name == "rate")
LEAST, MOST = _RATE.minimum, _RATE.maximum  # transactions a second
NOTICED_WITHIN_S = 0.5  # by the worker


def obstacle(run: Run) -> str:
    """Return why the rate of a run can't be changed now; empty where it can."""
    if run.status != Status.RUNNING or run.cancel_requested_at:
        return _("its load is not running")
    return _lasting_obstacle(run) or _lack_of_time(run)


def _lasting_obstacle(run: Run) -> str:
    most = engine(run.engine).most_stages
    if run.purpose != Purpose.LOAD or dry_run.is_dry_run(run) or most == 1:
        return _("only a load of pgbench changes its rate while it runs")
    if run.options.get("transactions") or not run.options.get("duration"):
        return _("it ends after a number of transactions, and has no time left to share: start a run with a duration")
    if run.options.get("report_per_command"):
        return _("the latency of each of its statements is counted, which is not kept by stage")
    if run.parent_id or len(run.wanted_generators) > 1:
        return _("its load is shared by several generators: start a run on one of them")
    if run.group or run.experiment_id:
        return _("it is compared with other runs, which keep the rate that they began with")
    if Schedule.objects.filter(Q(run=run) | Q(starts__run=run)).exists():
        return _("it is repeated by a schedule, which compares it with other nights")
    if len(run.options.get("stages", [])) >= most:
        return _("it has %(most)s stages already, which is the most") % {"most": most}
    return ""


def _lack_of_time(run: Run) -> str:
    """Return why no rate can be taken any more: an interval has to end first, and some of the stage has to be left."""
    if run.load_began_at is None:
        return ""
    number, stage = _present_stage(run)
    began_s = run.summary["stages"][number - 1]["began_s"] if run.summary.get("stages") else 0.0
    lasted_s = (timezone.now() - run.load_began_at).total_seconds() - began_s + NOTICED_WITHIN_S
    interval_s, duration_s = stage.get("progress") or 1, stage.get("duration") or 0
    if duration_s - interval_s * (math.floor(lasted_s / interval_s) + 1) >= LEAST_REST_S:
        return ""
    if run.options.get("stages"):
        return _("its present stage ends too soon for another rate: change it in a later one")
    return _("it ends too soon for another rate: start a run with a longer duration")


def _present_stage(run: Run) -> tuple[int, RunOptions]:
    """Return the number of the stage that goes on, from 1, and its options; a load without stages is the first."""
    stages = engine(run.engine).stages(run.options)
    number = min(len(run.summary.get("stages", [])) or 1, len(stages))
    return number, stages[number - 1]


def change(run: Run, rate: float | None) -> None:
    """Ask the worker of a run to go on at another rate, in transactions a second; None: as fast as it goes.

    The worker does so when the load's next interval has ended. Raises `IllegalTransition`.
    """
    number, stage = _present_stage(run)
    present, asked = stage.get("rate") or 0.0, rate or 0.0
    waits = run.requested_rate_stage == number and run.requested_rate != present  # for the next interval's end
    reason = obstacle(run) or (_("it has this rate already") if asked == present and not waits else "")
    if reason:
        raise IllegalTransition(_("%(run)s keeps its rate: %(reason)s") % {"run": run, "reason": reason})
    going = Run.objects.filter(pk=run.pk, status=Status.RUNNING)
    if not going.update(requested_rate=asked, requested_rate_stage=number):
        raise IllegalTransition(_("%(run)s has ended, and its rate can't be changed any more") % {"run": run})
