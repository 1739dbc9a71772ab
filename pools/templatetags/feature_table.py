"""The table that helps to choose a kind of pooler."""

from typing import Any

from django import template

from pools.advice import feature_table
from pools.models import PoolerKind

register = template.Library()


@register.inclusion_tag("pools/includes/feature_table.html")
def feature_table_at_hand() -> dict[str, Any]:
    """Its rows in the words of the newest registered releases."""
    found = feature_table.at_hand()
    pgbouncer, pgpool = found[PoolerKind.PGBOUNCER], found[PoolerKind.PGPOOL]
    names = {"pgbouncer_release": pgbouncer, "pgpool_release": pgpool}
    written = {name: ".".join(map(str, version)) for name, version in names.items()}
    return {"rows": feature_table.rows(pgbouncer, pgpool), **written}
