"""`may` in templates: `{% if may.pool.change %}` for some record of some team, `{% if may.pool.change|on:pool %}`."""

from django import template
from django.db.models import Model

from core.accounts.in_templates import Permission

register = template.Library()


@register.filter
def on(permission: Permission | str, record: Model | None) -> bool:
    """Tell whether the user may do this to the record; no for a page that is shown to nobody in particular."""
    return isinstance(permission, Permission) and permission.on(record)
