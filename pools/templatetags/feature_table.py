"""Template tag of the table that compares the kinds of poolers."""

from django import template

from pools.advice import feature_table
from pools.models import PoolerKind

register = template.Library()


@register.inclusion_tag("pools/includes/feature_table.html")
def feature_table_at_hand() -> dict[str, object]:
    """Render the comparison for the newest registered release of each kind; nothing where one kind is alone."""
    releases = feature_table.at_hand()
    heads = [f"{PoolerKind(kind).label} {'.'.join(map(str, version))}" for kind, version in releases.items()]
    return {"heads": heads, "rows": feature_table.rows(releases) if releases else []}
