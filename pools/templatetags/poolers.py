"""Template tag that gives access to a pooler's driver."""

from django import template

from pools.models import Pooler
from pools.poolers import driver
from pools.poolers.base import Driver

register = template.Library()


@register.simple_tag
def driver_of(pooler: Pooler) -> Driver:
    """Return the driver of the pooler's kind."""
    return driver(pooler)
