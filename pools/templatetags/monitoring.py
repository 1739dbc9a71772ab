"""What the pages of monitoring write beside the panel's own filters."""

from django import template

from panel.templatetags.pooldeck import figure
from pools.monitoring.history import Point

register = template.Library()


@register.filter
def averaged(point: Point, name: str) -> str:
    """A figure of one step: `12.5 / 40`, its average and its maximum; a dash where nothing is known."""
    return f"{figure(point.average[name])} / {figure(point.maximum[name])}"
