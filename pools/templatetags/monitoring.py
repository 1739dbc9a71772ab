"""Template filters of the monitoring pages."""

from django import template

from core.lib.figures import figure_or_dash
from pools.monitoring.history import Point

register = template.Library()


@register.filter
def averaged(point: Point, name: str) -> str:
    """Return the average and maximum of a figure in one step, as `12.5 / 40`; a dash for an unknown one."""
    return f"{figure_or_dash(point.average[name])} / {figure_or_dash(point.maximum[name])}"
