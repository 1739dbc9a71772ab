"""Saves, changes, pauses and removes schedules, and notes the consent of owners."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import gettext as _

from benchmarks.errors import IllegalTransition, InvalidFields, Unconfirmed
from benchmarks.models import Experiment, Purpose, Run, Schedule
from benchmarks.models.schedules import USUAL_DEADLINE
from benchmarks.runs.submission.submit import MOST_REPEATS
from benchmarks.schedules import cron, starting

NAME_CHARACTERS = 100
MOST_MINUTES = 24 * 60


class InvalidSchedule(InvalidFields):
    """Input that is no schedule; `errors` are by field."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What can be changed of a schedule, as its model has it."""

    name: str
    cron: str
    time_zone: str
    pair: bool = False
    repeat: int = 1
    starting_deadline_minutes: int = USUAL_DEADLINE
    notify_on_change: bool = True
    weekly_summary: bool = True


def create(repeated: Run | Experiment, terms: Terms, author: User) -> Schedule:
    """Save a schedule that starts this again. Raises `InvalidFields`."""
    schedule = Schedule(run=repeated) if isinstance(repeated, Run) else Schedule(experiment=repeated)
    return _save(schedule, terms, author)


def change(schedule: Schedule, terms: Terms, author: User) -> Schedule:
    """Change a schedule, which has the rights of this person from then on. Raises `InvalidFields`.

    What an owner agreed to was the schedule as it was, so that a protected cluster needs the consent again.
    """
    return _save(schedule, terms, author)


def _save(schedule: Schedule, terms: Terms, author: User) -> Schedule:
    now = timezone.now()
    line = cron.check(terms.cron, terms.time_zone, now)
    _refuse(schedule.repeated, terms)
    if terms.pair and schedule.run:
        schedule.run = starting.pooled_of(schedule.run)
    schedule.name, schedule.cron, schedule.time_zone = terms.name.strip(), line, terms.time_zone
    schedule.pair, schedule.repeat = terms.pair, terms.repeat
    schedule.starting_deadline_minutes = terms.starting_deadline_minutes
    schedule.notify_on_change, schedule.weekly_summary = terms.notify_on_change, terms.weekly_summary
    schedule.author, schedule.consented_by, schedule.consented_at = author, None, None
    if schedule.paused_at is None:
        (schedule.due_at,) = cron.upcoming(line, schedule.time_zone, now, 1)
    schedule.save()
    return schedule


def _refuse(repeated: Run | Experiment, terms: Terms) -> None:
    errors: dict[str, list[str]] = {}
    if not terms.name.strip() or len(terms.name.strip()) > NAME_CHARACTERS:
        errors["name"] = [_("a name has 1 to %(most)s characters") % {"most": NAME_CHARACTERS}]
    if not 1 <= terms.repeat <= MOST_REPEATS:
        errors["repeat"] = [_("use 1 to %(most)s") % {"most": MOST_REPEATS}]
    if not 1 <= terms.starting_deadline_minutes <= MOST_MINUTES:
        errors["starting_deadline_minutes"] = [_("use 1 to %(most)s") % {"most": MOST_MINUTES}]
    if isinstance(repeated, Run):
        errors |= _faults_of_run(repeated, terms)
    elif terms.pair or terms.repeat != 1:
        errors["repeat"] = [_("an experiment has repeats of its own: only runs are paired and repeated")]
    if errors:
        raise InvalidSchedule(errors)


def _faults_of_run(run: Run, terms: Terms) -> dict[str, list[str]]:
    if run.purpose != Purpose.LOAD or run.experiment_id or run.parent_id:
        return {"run": [_("%(run)s is not a load that somebody started: choose another run") % {"run": run}]}
    if run.removed:
        return {"run": [_("%(target)s was removed: choose another run") % {"target": run.removed}]}
    if terms.pair and starting.pooled_of(run) is None:
        return {"pair": [_("%(run)s went through no pooler, so that there is nothing to compare") % {"run": run}]}
    return {}


def pause(schedule: Schedule) -> None:
    """Start nothing more until it is resumed; no-op where it is paused."""
    if schedule.paused_at is None:
        schedule.paused_at, schedule.due_at = timezone.now(), None
        schedule.save(update_fields=["paused_at", "due_at"])


def resume(schedule: Schedule) -> None:
    """Go on with the next time; what came in between is not made up for. No-op where it is not paused."""
    if schedule.paused_at is not None:
        schedule.paused_at = None
        (schedule.due_at,) = cron.upcoming(schedule.cron, schedule.time_zone, timezone.now(), 1)
        schedule.save(update_fields=["paused_at", "due_at"])


def consent(schedule: Schedule, owner: User, confirm: str) -> None:
    """Agree to loads of the protected cluster, by its name. Raises `Unconfirmed`, and `IllegalTransition` of no use."""
    cluster = schedule.cluster
    if cluster is None or not schedule.needs_consent:
        raise IllegalTransition(_("schedule %(schedule)s waits for nobody's consent") % {"schedule": schedule})
    if confirm != cluster.name:
        raise Unconfirmed([_("type the name of cluster %(cluster)s to agree") % {"cluster": cluster}])
    schedule.consented_by, schedule.consented_at = owner, timezone.now()
    schedule.save(update_fields=["consented_by", "consented_at"])
