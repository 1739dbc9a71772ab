"""Changes the rate of a load while it goes on: its worker ends the present process and starts one with the new rate."""

from django.utils.translation import gettext as _

from benchmarks.engines import DEFAULT_ENGINE, engine
from benchmarks.errors import IllegalTransition
from benchmarks.library.scripts import dry_run
from benchmarks.models import Purpose, Run, Status

_RATE = next(field for field in engine(DEFAULT_ENGINE).fields_for(Purpose.LOAD) if field.name == "rate")
LEAST, MOST = _RATE.minimum, _RATE.maximum  # transactions a second


def obstacle(run: Run) -> str:
    """Return why the rate of a run can't be changed now; empty where it can."""
    if run.status != Status.RUNNING or run.cancel_requested_at:
        return _("its load is not running")
    return _lasting_obstacle(run)


def _lasting_obstacle(run: Run) -> str:
    most = engine(run.engine).most_stages
    if run.purpose != Purpose.LOAD or dry_run.is_dry_run(run) or most == 1:
        return _("only a load of pgbench changes its rate while it runs")
    if run.options.get("transactions") or not run.options.get("duration"):
        return _("it ends after a number of transactions, and has no time left to share: start a run with a duration")
    if run.parent_id or len(run.wanted_generators) > 1:
        return _("its load is shared by several generators: start a run on one of them")
    if run.group or run.experiment_id:
        return _("it is compared with other runs, which keep the rate that they began with")
    if len(run.options.get("stages", [])) >= most:
        return _("it has %(most)s stages already, which is the most") % {"most": most}
    return ""


def change(run: Run, rate: float | None) -> None:
    """Ask the worker of a run to go on at another rate, in transactions a second; None: as fast as it goes.

    The worker does so when the load's next interval has ended. Raises `IllegalTransition`.
    """
    if reason := obstacle(run):
        raise IllegalTransition(_("%(run)s keeps its rate: %(reason)s") % {"run": run, "reason": reason})
    if not Run.objects.filter(pk=run.pk, status=Status.RUNNING).update(requested_rate=rate or 0.0):
        raise IllegalTransition(_("%(run)s has ended, and its rate can't be changed any more") % {"run": run})
