"""Refuses a load that prepares statements through a pool that can't carry them: it would abort, and print a rate."""

from django.utils.translation import gettext as _

from benchmarks.engines import ENGINES
from benchmarks.errors import InvalidOptions
from benchmarks.models.options import RunOptions
from benchmarks.targets.resolve import Target
from pools.advice import client_limits
from pools.models import Mode


def guard(target: Target, engine: str, options: RunOptions) -> None:
    """Raise `InvalidOptions` where the pool's pooler forgets prepared statements between transactions.

    Its console is asked, since the operator may have set max_prepared_statements too.
    """
    option, copied = ENGINES[engine].prepared_statements, {**options}
    if target.pool is None or option is None or target.pool.mode == Mode.SESSION:
        return
    if copied.get(option.name) != option.value:
        return
    limits = client_limits.of(target.pool.pooler)
    if limits.keeps_prepared:
        return
    release = f"{limits.version[0]}.{limits.version[1]}"
    if limits.version < client_limits.KEEPS_PREPARED:
        text = _(
            "statements are not prepared through pool %(pool)s: PgBouncer before 1.21 keeps none in %(mode)s mode, and "
            "this is %(release)s: use %(other)s, or a pool in session mode"
        )
    else:
        text = _(
            "statements are not prepared through pool %(pool)s: max_prepared_statements of its PgBouncer is 0, so "
            "none is kept in %(mode)s mode: set it, use %(other)s, or a pool in session mode"
        )
    words = {"pool": target.pool.name, "mode": target.pool.mode, "release": release, "other": option.instead}
    raise InvalidOptions({option.name: [text % words]})
