"""Registry of the kinds of poolers: each line of `PoolerKind` has a folder here, whose `driver` has a `DRIVER`."""

from importlib import import_module

from django.utils.translation import gettext as _

from pools.errors import IllegalTransition
from pools.models import KIND_ANSWERS, Pooler, PoolerKind
from pools.poolers.base import Driver
from pools.poolers.nodes import NodeAdmin

KINDS: dict[str, Driver] = {kind: import_module(f"pools.poolers.{kind}.driver").DRIVER for kind in PoolerKind}
KIND_ANSWERS.update(KINDS)


def driver(pooler: Pooler) -> Driver:
    """Return the driver of a pooler's kind."""
    return KINDS[pooler.kind]


def node_admin(pooler: Pooler) -> NodeAdmin:
    """Return the module that lists and changes a pooler's backends. Raises `IllegalTransition` where it has none."""
    found = driver(pooler).node_admin
    if found is None:
        kinds = ", ".join(PoolerKind(kind).label for kind in kinds_that("node_admin"))
        text = _("pooler %(pooler)s is not one of %(kinds)s: choose one of these, since only they have backends")
        raise IllegalTransition(text % {"pooler": pooler, "kinds": kinds})
    return found


def kinds_that(answer: str) -> list[str]:
    """Return the kinds whose driver has a true attribute, such as `is_chainable`."""
    return [kind for kind, driver in KINDS.items() if getattr(driver, answer)]
