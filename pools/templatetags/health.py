"""The badge of clients that wait, for headings where the state stands alone."""

from django import template
from django.urls import reverse

from pools.models import Entry, Pool, Pooler
from pools.monitoring import health

register = template.Library()


@register.inclusion_tag("pools/includes/waiting_badge.html")
def waiting_badge(record: Pool | Entry | Pooler) -> dict[str, str]:
    """Render a badge that leads to why clients wait, by the last sample; nothing while nobody does."""
    known = health.of_poolers([record]) if isinstance(record, Pooler) else health.of_each([record])
    found = known[record.pk]
    if found.health not in health.WAIT:
        return {}
    return {"state": found.health.value, "url": reverse(f"{record._meta.model_name}-waiting", args=[record.pk])}
