"""When an experiment with a budget of minutes has measured enough."""

from datetime import timedelta

from django.utils import timezone

from benchmarks.models import Experiment


def is_settled(experiment: Experiment) -> bool:
    """Whether the budget of minutes is spent; False where the number of blocks was given."""
    if experiment.minutes is None or experiment.measuring_at is None:
        return False
    return timezone.now() - experiment.measuring_at >= timedelta(minutes=experiment.minutes)
