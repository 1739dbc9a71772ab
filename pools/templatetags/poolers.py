"""Template tags that give access to a pooler's driver and to its manual."""

from django import template

from pools.inventory import pooler_settings_validation
from pools.models import Pooler
from pools.poolers import KINDS, driver
from pools.poolers.base import Driver
from pools.poolers.settings_schema import Setting

register = template.Library()


@register.filter
def driver_has(pooler: Pooler | None, answer: str) -> bool:
    """Return whether the driver of a pooler has a true attribute, such as `sizes_each_pool`; false without a pooler."""
    return pooler is not None and bool(getattr(driver(pooler), answer))


@register.simple_tag
def driver_of(pooler: Pooler) -> Driver:
    """Return the driver of the pooler's kind."""
    return driver(pooler)


@register.simple_tag
def templates_of_kinds(name: str) -> list[str]:
    """Return the template of this name in the folder of each kind."""
    return [f"pools/poolers/{kind}/{name}" for kind in KINDS]


@register.inclusion_tag("pools/includes/manual_link.html")
def manual_link(pooler: Pooler, setting: Setting) -> dict[str, str]:
    """Link to a setting in the manual of the pooler's release; renders nothing where no manual has it."""
    return {"label": setting.label, "url": pooler_settings_validation.manual_url(pooler, setting)}
