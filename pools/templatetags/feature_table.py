"""Template tag of the table that compares the kinds of poolers."""

from typing import Any

from django import template

from pools.advice import feature_table
from pools.models import PoolerKind

register = template.Library()


@register.inclusion_tag("pools/includes/feature_table.html")
def feature_table_at_hand() -> dict[str, Any]:
    """Render the comparison for the newest registered release of each kind."""
    found = feature_table.at_hand()
    pgbouncer, pgpool = found[PoolerKind.PGBOUNCER], found[PoolerKind.PGPOOL]
    names = {"pgbouncer_release": pgbouncer, "pgpool_release": pgpool}
    written = {name: ".".join(map(str, version)) for name, version in names.items()}
    return {"rows": feature_table.rows(pgbouncer, pgpool), **written}
