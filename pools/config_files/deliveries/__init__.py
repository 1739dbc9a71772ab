"""The ways in which files reach managed poolers: one module each, and one line here."""

from collections.abc import Iterator, Mapping

from pools.config_files.deliveries.base import FileDelivery
from pools.config_files.deliveries.pull import PullDelivery
from pools.config_files.deliveries.ssh import SshDelivery
from pools.config_files.deliveries.worker import WorkerDelivery
from pools.models import Pooler

DELIVERIES: Mapping[str, FileDelivery] = {one.name: one for one in (WorkerDelivery(), SshDelivery(), PullDelivery())}


def of(pooler: Pooler) -> FileDelivery:
    """Return the delivery by which files reach a pooler."""
    return DELIVERIES[pooler.delivery]


def others_in(pooler: Pooler, folder: str) -> Iterator[Pooler]:
    """Yield the other poolers that have a folder on the same host: two would overwrite each other's pools."""
    here = of(pooler).place_of(pooler)
    for other in Pooler.objects.filter(config_dir=folder).exclude(pk=pooler.pk):
        if of(other).place_of(other) == here:
            yield other
