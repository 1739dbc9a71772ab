"""Registry of the ways in which files reach managed poolers: each of `NAMES` has a module here with a `DELIVERY`."""

from collections.abc import Iterator
from importlib import import_module

from pools.config_files.deliveries.base import FileDelivery
from pools.models import DELIVERY_ANSWERS, Host, Pooler

NAMES = (
    "worker",
    "ssh",
    "pull",
)
DELIVERIES: dict[str, FileDelivery] = {name: import_module(f"{__name__}.{name}").DELIVERY for name in NAMES}
DELIVERY_ANSWERS.update(DELIVERIES)


def of(pooler: Pooler) -> FileDelivery:
    """Return the delivery by which files reach a pooler."""
    return DELIVERIES[pooler.delivery]


def names_that(answer: str) -> list[str]:
    """Return the names of the deliveries that have a true attribute, such as `needs_host`."""
    return [name for name, delivery in DELIVERIES.items() if getattr(delivery, answer)]


def has_files_at_checks(pooler: Pooler) -> bool:
    """Return whether a check reads the pooler's files beside asking its console: it asks no other host for them."""
    return not pooler.is_watched and of(pooler).runs_here


def name_for(host: Host | None) -> str:
    """Return the name of the first delivery that writes files by a login to the host; without a host, by none.

    The usual one where there is no such delivery.
    """
    wanted = (name for name, one in DELIVERIES.items() if one.writes and one.needs_host == (host is not None))
    return next(wanted, NAMES[0])


def others_in(pooler: Pooler, folder: str) -> Iterator[Pooler]:
    """Yield the other poolers that have a folder on the same host: two would overwrite each other's pools."""
    here = of(pooler).place_of(pooler)
    for other in Pooler.objects.filter(config_dir=folder).exclude(pk=pooler.pk):
        if of(other).place_of(other) == here:
            yield other
