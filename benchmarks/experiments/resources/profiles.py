"""The settings profiles of an experiment, one for each set of values that its arms demand."""

from uuid import UUID

from django.utils.translation import gettext as _

from benchmarks.experiments.resources.needed import RequiredResource
from benchmarks.library.settings_profiles import store
from benchmarks.models import Experiment, ExperimentResource, SettingsProfile


def make(experiment: Experiment, need: RequiredResource) -> UUID:
    """Create it and return its id."""
    description = _("Made for %(experiment)s, removed after it") % {"experiment": experiment}
    return store.create(
        name=need.name,
        values=need.settings,
        description=description,
        author=experiment.author,
        is_admin=experiment.by_admin,
        team=experiment.owning_team,
    ).pk


def remove(experiment: Experiment, row: ExperimentResource) -> bool:
    """Remove it."""
    of_its_team = {"name": row.name, "team": experiment.owning_team, "author": experiment.author}
    known = {"pk": row.record} if row.record else of_its_team  # a crash came before its id was written down
    if profile := SettingsProfile.objects.filter(**known).first():
        store.remove(profile)
    return True
