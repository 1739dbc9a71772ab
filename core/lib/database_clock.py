"""Moments by the metadata database's clock: workers' clocks differ, and a lease must mean the same to all of them."""

from datetime import timedelta

from django.db.models import DateTimeField, ExpressionWrapper
from django.db.models.expressions import Combinable
from django.db.models.functions import Now


def after(span: timedelta) -> Combinable:
    """Return the moment so long after the query is run, for `update` and `filter`."""
    return ExpressionWrapper(Now() + span, output_field=DateTimeField())
